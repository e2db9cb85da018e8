# Writes OUT, a source file with the digest of all sources of the core: what decides the meaning of a cached plan. No time and no
# path enters; the file changes only when the digest does. Run as a script with ROOT, OUT and EXTRA.
file(GLOB_RECURSE files RELATIVE ${ROOT} ${ROOT}/core/*.cpp ${ROOT}/core/*.hpp ${ROOT}/cache/*.cpp ${ROOT}/cache/*.hpp
     ${ROOT}/plugins-api/include/qd/* ${ROOT}/python/native/*.cpp ${ROOT}/python/native/*.hpp ${ROOT}/python/native/*.def)
list(SORT files)
set(text "${EXTRA}")
foreach(file ${files})
  file(SHA256 ${ROOT}/${file} digest)
  string(APPEND text "\n${file} ${digest}")
endforeach()
string(SHA256 id "${text}")
file(CONFIGURE OUTPUT ${OUT} CONTENT "// Made by build_id.cmake.
#include \"core/api/core.hpp\"

std::string qd::core_build_id() { return \"${id}\"; }
")
