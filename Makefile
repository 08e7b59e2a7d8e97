# A thin face for CMake. `make run` and `make test` do all the set-up themselves.
BUILD  := build
CMAKE  := cmake -G Ninja -DPLIM_WERROR=ON
PREFIX ?= /usr/local

.PHONY: all setup setup-tests build run test test-plain test-sanitized bench install format lint fuzz real-errors clean

all: build

setup:
	@scripts/setup.sh

# A browser for the report's page: only tests need it.
setup-tests: setup
	@scripts/setup.sh python3 chromium chromium-driver

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

bench: build
	@bench/run.sh $(abspath $(BUILD)/plimsoll)

install: build
	@cmake --install $(BUILD)

format: setup
	@git ls-files '*.c' '*.h' | xargs clang-format -i

lint: build
	@git ls-files '*.c' '*.h' | xargs clang-format --dry-run -Werror
	@git ls-files 'src/*.c' | grep -v 'src/kernel/simd' | xargs -P 2 -n 1 clang-tidy -quiet -p $(BUILD) --extra-arg=-Wno-unknown-warning-option --warnings-as-errors='*'

fuzz: setup
	@$(CMAKE) -S . -B $(BUILD)/fuzz -DPLIM_FUZZ=ON -DPLIM_TESTS=OFF -DCMAKE_C_COMPILER=clang -DCMAKE_BUILD_TYPE=RelWithDebInfo >/dev/null
	@cmake --build $(BUILD)/fuzz
	@scripts/fuzz.sh $(BUILD)/fuzz

# Installs real frameworks in many versions (about 25 GB under build/) and makes them run out of memory.
real-errors: build
	@tests/real_errors/install.sh $(abspath $(BUILD))/real-errors
	@tests/real_errors/programs.sh $(abspath $(BUILD))/real-errors
	@python3 tests/real_errors/run.py $(abspath $(BUILD)/plimsoll) $(BUILD)/real-errors

clean:
	rm -rf $(BUILD)
