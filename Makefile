# Two commands for a fresh Debian 12 machine (root or sudo): `make demo` and `make test`. Everything else is CMake presets.
PYTHON := .venv/bin/python
RELEASE := build/release
export PATH := $(CURDIR)/.venv/bin:$(PATH)

.PHONY: demo test verify-cache lint format setup build nollvm clean

demo: build
	PYTHONPATH=$(CURDIR)/$(RELEASE)/python $(PYTHON) examples/fluid.py

test: build
	$(PYTHON) tests/lint/all.py
	ctest --preset release -j 2
	PYTHONPATH=$(CURDIR)/$(RELEASE)/python $(PYTHON) -m pytest tests/python -q -n 2 --dist loadfile
	$(MAKE) verify-cache
	cmake --preset nollvm > build/nollvm.log && cmake --build --preset nollvm > build/nollvm.log
	ctest --preset nollvm -j 2

# The language's tests twice on one cache: the second run takes everything from it, and each hit is made anew and compared.
verify-cache:
	rm -rf build/suite_cache
	for run in cold warm; do \
	  QD_TEST_CACHE=$(CURDIR)/build/suite_cache QD_DEBUG_CACHE_VERIFY=1 PYTHONPATH=$(CURDIR)/$(RELEASE)/python \
	    $(PYTHON) -m pytest tests/python/test_language_*.py tests/python/test_math.py tests/python/test_returns.py \
	    tests/python/test_captured_values.py tests/python/test_reports.py -q -n 2 --dist loadfile --arch cpu || exit 1; done
	rm -rf build/suite_cache

setup:
	packaging/setup.sh

build: setup
	mkdir -p build
	cmake --preset release -DPython_EXECUTABLE=$(CURDIR)/$(PYTHON) > build/configure.log || (cat build/configure.log; false)
	cmake --build --preset release

lint: setup
	$(PYTHON) tests/lint/all.py

format: setup
	git ls-files '*.cpp' '*.hpp' '*.h' | xargs clang-format -i
	$(PYTHON) -m ruff format
	$(PYTHON) -m ruff check --fix

clean:
	rm -rf build
