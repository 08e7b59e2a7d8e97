#!/bin/bash
# An allocation that fails anywhere in the process, oneDNN and libgomp included, ends in a message and never in a signal, a
# hang or an exit of a library: a few of each command here, a grid of 1,000 in `make test-faults`.
#   test_commands.sh PLIMSOLL SOURCE
if grep -q __asan_init "$1" 2>/dev/null; then echo "skipped: sanitizers have an allocator of their own"; exit 77; fi
exec "$(dirname "$0")/grid.sh" "$1" 10 3
