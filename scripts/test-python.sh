#!/usr/bin/env bash
# Tests the wheel of BUILD-DIR/dist in a virtual environment of its own, with PyTorch, TensorFlow, Keras and a notebook.
# What cannot be installed is named, and its tests are skipped.
#   scripts/test-python.sh BUILD-DIR [arguments of pytest]
# PLIM_FRAMEWORKS="torch" installs only these of torch, tensorflow, jax, datasets and notebook. PyTorch is the build for processors:
# where pip's indexes have only the one with CUDA's libraries (gigabytes), it is left out; PIP_EXTRA_INDEX_URL names another.
set -euo pipefail
build=$(realpath "${1:?usage: scripts/test-python.sh BUILD-DIR}") && shift
cd "$(dirname "$0")/.."
venv=$build/python-venv
[ -x "$venv/bin/python" ] || python3 -m venv "$venv"
"$venv/bin/pip" install -q --force-reinstall --no-deps "$build"/dist/plimsoll-*.whl
install() { "$venv/bin/pip" install -q "$@" || echo "not installed, its tests are skipped: $*" >&2; }
install numpy pytest
for framework in ${PLIM_FRAMEWORKS:-torch tensorflow jax datasets notebook}; do
    case $framework in
    torch)
        wanted=(torch==2.13.0 onnx onnxscript)
        "$venv/bin/pip" install -q --dry-run --report "$build/torch.json" "${wanted[@]}" >/dev/null || {
            echo "not installed, its tests are skipped: torch" >&2
            continue
        }
        if grep -q '"name": "nvidia' "$build/torch.json"; then
            echo "not installed, its tests are skipped: PyTorch is here only with CUDA's libraries" >&2
            continue
        fi
        install "${wanted[@]}"
        ;;
    tensorflow) install tensorflow keras ;;
    notebook) install nbclient ipykernel nbformat ;;
    *) install "$framework" ;;
    esac
done
cd "$build" # not in the sources: the wheel itself is tested
exec env -u PYTHONPATH OMP_WAIT_POLICY=passive PLIMSOLL_COSTS=default PLIMSOLL_SOURCES="$OLDPWD" \
    "$venv/bin/python" -m pytest -q -p no:cacheprovider "$@" "$OLDPWD/python/tests"
