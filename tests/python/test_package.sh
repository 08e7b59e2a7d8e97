#!/usr/bin/env bash
# The Python package with nothing but NumPy: pytest on the package that this build has assembled. Needs NumPy and pytest
# (setup installs Debian's); PyTorch and the others are tested by `make test-python`.
set -euo pipefail
program=$1 source=$2
package=$(dirname "$program")/python
[ -e "$package/plimsoll/_native.abi3.so" ] || { echo "skipped: the package was not built (Python's headers are missing)"; exit 77; }
python=
for candidate in /usr/bin/python3 python3; do
    if "$candidate" -c 'import numpy, pytest, sys; sys.exit(sys.version_info < (3, 9))' 2>/dev/null; then python=$candidate; break; fi
done
[ -n "$python" ] || { echo "skipped: no Python with NumPy and pytest (apt-get install python3-numpy python3-pytest)"; exit 77; }
if grep -q __asan_init "$package/plimsoll/_native.abi3.so"; then # the interpreter itself is not instrumented
    export LD_PRELOAD=$(${CC:-gcc} -print-file-name=libasan.so) ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1
fi
export PYTHONPATH=$package PYTHONDONTWRITEBYTECODE=1 PLIMSOLL_COSTS=default
exec "$python" -m pytest -q -p no:cacheprovider -x "$source/python/tests" -m "not frameworks"
