#!/usr/bin/env bash
# Makes the wheel, and tests it in a virtual environment of its own, with PyTorch, TensorFlow, Keras and a notebook.
# What cannot be installed is named, and its tests are skipped.
#   scripts/test-python.sh BUILD-DIR [arguments of pytest]
# PLIM_FRAMEWORKS="torch" installs only these of torch, tensorflow, jax, datasets and notebook. PyTorch is the build for processors:
# where pip's indexes have only the one with CUDA's libraries (gigabytes), it is left out; PIP_EXTRA_INDEX_URL names another.
set -euo pipefail
build=$(mkdir -p "${1:?usage: scripts/test-python.sh BUILD-DIR}" && realpath "$1") && shift
cd "$(dirname "$0")/.."
venv=$build/python-venv

# Python compiles what a test imports; all of TensorFlow would take longer than its tests.
pip() { timeout 600 "$venv/bin/pip" install -qq --no-compile "$@"; }
install() { pip "$@" || echo "not installed, its tests are skipped: $*"; }
install_frameworks() {
    [ -x "$venv/bin/python" ] || python3 -m venv "$venv"
    install numpy pytest pytest-xdist
    for framework in ${PLIM_FRAMEWORKS:-torch tensorflow jax datasets notebook}; do
        case $framework in
        torch)
            wanted=(torch==2.13.0 onnx onnxscript)
            if ! pip --dry-run --report "$build/torch.json" "${wanted[@]}" >/dev/null; then
                echo "not installed, its tests are skipped: ${wanted[*]}"
            elif grep -q '"name": "nvidia' "$build/torch.json"; then
                echo "not installed, its tests are skipped: PyTorch is here only with CUDA's libraries"
            else
                install "${wanted[@]}"
            fi
            ;;
        tensorflow) install tensorflow keras ;;
        notebook) install nbclient ipykernel nbformat ;;
        *) install "$framework" ;;
        esac
    done
}

# One waits for the network, the other for the compiler.
install_frameworks >"$build/python-venv.log" 2>&1 &
installing=$!
made=0
scripts/wheel.sh "$build" || made=$?
wait "$installing" || { tail -40 "$build/python-venv.log" >&2; exit 1; }
cat "$build/python-venv.log" >&2
[ "$made" -ne 77 ] || { echo "skipped: the tests of the Python package"; exit 0; }
[ "$made" -eq 0 ] || exit "$made"
"$venv/bin/python" -c 'import numpy, pytest' || { echo "skipped: the tests of the Python package need NumPy and pytest"; exit 0; }
pip --force-reinstall --no-deps "$build"/dist/plimsoll-*.whl

sources=$PWD
cd "$build" # not in the sources: the wheel itself is tested
at_once=()
if "$venv/bin/python" -c 'import xdist' 2>/dev/null; then at_once=(-n 2 --dist loadfile); fi
ended=0
env -u PYTHONPATH OMP_WAIT_POLICY=passive PLIMSOLL_COSTS=default PLIMSOLL_SOURCES="$sources" \
    "$venv/bin/python" -m pytest -q -p no:cacheprovider -rs "${at_once[@]}" "$@" "$sources/python/tests" || ended=$?
[ "$ended" -ne 5 ] || { echo "skipped: every test of the Python package"; exit 0; }
exit "$ended"
