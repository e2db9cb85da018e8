# Flags that every target of ours gets, and the two functions that make libraries and plugins. No global flags anywhere.
include_guard(GLOBAL)
find_package(Threads REQUIRED)

add_library(qd_flags INTERFACE)
target_compile_features(qd_flags INTERFACE cxx_std_20 c_std_11)
target_compile_options(qd_flags INTERFACE -Wall -Wextra -fvisibility=hidden $<$<COMPILE_LANGUAGE:CXX>:-fvisibility-inlines-hidden>
                       -ffunction-sections -fdata-sections -ffp-contract=off)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # GCC 12 warns of overlapping copies that it made up itself, inside of std::string (GCC bug 105651).
  target_compile_options(qd_flags INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wno-restrict>)
endif()
target_include_directories(qd_flags INTERFACE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/plugins-api/include)
target_link_libraries(qd_flags INTERFACE Threads::Threads)
if(QD_SANITIZE STREQUAL "address")
  target_compile_options(qd_flags INTERFACE -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(qd_flags INTERFACE -fsanitize=address,undefined)
elseif(QD_SANITIZE STREQUAL "thread")
  target_compile_options(qd_flags INTERFACE -fsanitize=thread)
  target_link_options(qd_flags INTERFACE -fsanitize=thread)
endif()

# A static library of ours, position-independent because the Python module links it.
function(qd_add_library name)
  add_library(${name} STATIC ${ARGN})
  set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  target_link_libraries(${name} PUBLIC qd_flags)
endfunction()

# A test program found by CTest.
function(qd_add_test name)
  cmake_parse_arguments(T "" "" "SOURCES;LIBRARIES;ARGS" ${ARGN})
  add_executable(${name} ${T_SOURCES})
  target_link_libraries(${name} PRIVATE qd_flags ${T_LIBRARIES})
  add_test(NAME ${name} COMMAND ${name} ${T_ARGS})
  set_tests_properties(${name} PROPERTIES TIMEOUT 600)
endfunction()

# A plugin: one exported symbol, everything else hidden and bound inside, never unloaded (decisions 25).
function(qd_add_plugin name)
  add_library(${name} MODULE ${ARGN})
  target_link_libraries(${name} PRIVATE qd_flags)
  set(map ${PROJECT_SOURCE_DIR}/packaging/cmake/plugin.map)
  set_target_properties(${name} PROPERTIES PREFIX "" OUTPUT_NAME "lib${name}" LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/plugins
                        LINK_DEPENDS ${map})
  target_link_options(${name} PRIVATE -Wl,--version-script=${map} -Wl,--exclude-libs,ALL -Wl,-Bsymbolic -Wl,-z,now,-z,relro
                      -Wl,-z,nodelete -Wl,--gc-sections)
  if(NOT QD_SANITIZE)
    target_link_options(${name} PRIVATE -Wl,-z,defs -static-libstdc++ -static-libgcc)
  endif()
endfunction()
