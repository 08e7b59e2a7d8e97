# A thin face for CMake. `make run` and `make test` do all the set-up themselves.
BUILD  := build
CMAKE  := cmake -G Ninja -DPLIM_WERROR=ON
PREFIX ?= /usr/local
# Which tests `make coverage` runs (a regular expression of ctest), and how many files `make lint-changed` checks at most.
COVERAGE_TESTS ?= .
LINT_FILES     ?= 40

.PHONY: all setup setup-tests build run test test-plain test-sanitized check check-format bench bench-builds install format \
        lint lint-changed clang fuzz test-faults test-cgroup2 docs coverage abi abi-record real-errors wheel test-python clean

all: build

setup:
	@scripts/setup.sh

# A browser for the report's page, Python for its package: only tests need them.
setup-tests: setup
	@scripts/setup.sh python3 python3-dev python3-numpy python3-pytest chromium chromium-driver

build: setup
	@$(CMAKE) -S . -B $(BUILD) -DCMAKE_INSTALL_PREFIX=$(PREFIX) >/dev/null
	@cmake --build $(BUILD)

run: build
	@scripts/demo.sh $(abspath $(BUILD)/plimsoll)

test: test-plain test-sanitized

test-plain: setup-tests build
	ctest --test-dir $(BUILD) -j $$(nproc) --output-on-failure

test-sanitized: setup-tests
	@$(CMAKE) -S . -B $(BUILD)/sanitized -DPLIM_SANITIZE=ON -DCMAKE_BUILD_TYPE=RelWithDebInfo >/dev/null
	@cmake --build $(BUILD)/sanitized
	ctest --test-dir $(BUILD)/sanitized -j $$(nproc) --output-on-failure

# Formatting, the order of the folders, the limits of the code, the words of the glossary: seconds.
check: check-format build
	@scripts/check-layers.sh -s . $(BUILD)
	@scripts/check-style.sh -s .

check-format: setup
	@git ls-files '*.c' '*.h' | xargs clang-format --dry-run -Werror

bench: build
	@bench/run.sh $(abspath $(BUILD)/plimsoll)

# Two builds of our own in one run: make bench-builds BEFORE=/path/to/plimsoll
bench-builds: build
	@test -x "$(BEFORE)" || { echo "usage: make bench-builds BEFORE=/path/to/plimsoll" >&2; exit 2; }
	@python3 bench/builds.py $(BEFORE) $(abspath $(BUILD)/plimsoll)

install: build
	@cmake --install $(BUILD)

format: setup
	@git ls-files '*.c' '*.h' | xargs clang-format -i

lint: check-format build
	@git ls-files 'src/*.c' | scripts/lint.sh $(BUILD)

# What the last commits changed; LINT_BASE=COMMIT says since when.
lint-changed: build
	@scripts/changed.sh $(LINT_FILES) | scripts/lint.sh $(BUILD)

# The second compiler: everything, tests too, without a warning.
clang: setup
	@$(CMAKE) -S . -B $(BUILD)/clang -DCMAKE_C_COMPILER=clang -DCMAKE_BUILD_TYPE=Debug -DCMAKE_C_FLAGS_DEBUG=-g0 >/dev/null
	@cmake --build $(BUILD)/clang

fuzz: setup
	@$(CMAKE) -S . -B $(BUILD)/fuzz -DPLIM_FUZZ=ON -DPLIM_TESTS=OFF -DCMAKE_C_COMPILER=clang -DCMAKE_BUILD_TYPE=RelWithDebInfo >/dev/null
	@cmake --build $(BUILD)/fuzz
	@scripts/fuzz.sh $(BUILD)/fuzz

# One failed allocation of the whole process a run, 1,000 for each command and through the C API, and 100 limits of the
# address space: about an hour.
test-faults: build
	@PLIM_FAULT_POINTS=1000 $(BUILD)/tests/test_faults_library
	@PLIM_FAULTS=all $(BUILD)/tests/test_run_faults
	@tests/faults/grid.sh $(BUILD)/plimsoll 1000 100

# cgroup v2 for real: Debian's kernel in an emulated machine; one to two minutes where the processors are free.
test-cgroup2: build
	@tests/cgroup2/machine.sh $(BUILD)/plimsoll $(BUILD)/cgroup2

# Installs real frameworks in many versions (about 25 GB under build/) and makes them run out of memory.
real-errors: build
	@scripts/setup.sh python3-venv default-jdk-headless nodejs r-base-core golang-go rustc g++ perl util-linux
	@tests/real_errors/install.sh $(abspath $(BUILD))/real-errors
	@tests/real_errors/programs.sh $(abspath $(BUILD))/real-errors
	@python3 tests/real_errors/run.py $(abspath $(BUILD)/plimsoll) $(BUILD)/real-errors

# The Python package as one file, with the libraries that it needs inside: build/dist/plimsoll-*.whl
wheel: setup
	@scripts/setup.sh python3-dev python3-venv
	@scripts/wheel.sh $(BUILD)

# The wheel's tests with PyTorch, TensorFlow, Keras and a notebook, in a virtual environment of their own.
test-python: setup
	@scripts/setup.sh python3-dev python3-venv
	@scripts/test-python.sh $(BUILD) $(PYTEST_ARGS)

docs: setup
	@scripts/setup.sh doxygen
	@scripts/docs.sh $(BUILD)/docs

coverage: setup-tests
	@scripts/setup.sh gcovr
	@$(CMAKE) -S . -B $(BUILD)/coverage -DPLIM_COVERAGE=ON -DCMAKE_BUILD_TYPE=Debug >/dev/null
	@cmake --build $(BUILD)/coverage
	@scripts/coverage.sh $(BUILD)/coverage '$(COVERAGE_TESTS)'

# The shared library's interface against the last one that was recorded; recording is a part of a release.
abi: setup
	@scripts/abi.sh compare $(BUILD)/abi

abi-record: setup
	@scripts/abi.sh record $(BUILD)/abi

clean:
	rm -rf $(BUILD)
