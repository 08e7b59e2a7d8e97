#!/usr/bin/env bash
# The wheel where nothing but Python is: a new virtual environment, no compilers on the PATH, and the libraries that Debian
# has of those in the wheel hidden (in a mount namespace of its own, where that is allowed). Installs, explains, predicts a
# ResNet-50 of PyTorch and trains it within a budget; prints what it took.
#   python/tests/bare.sh WHEEL PYTHON [pip's arguments for PyTorch, as: torch==2.13.0 onnx onnxscript]
set -euo pipefail
wheel=$(realpath "${1:?usage: python/tests/bare.sh WHEEL PYTHON [packages]}") python=$(command -v "$2") here=$(realpath "$(dirname "$0")")
shift 2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$python" -m venv "$work/venv"
[ $# -eq 0 ] || "$work/venv/bin/pip" install -q "$@" 2>/dev/null
start=$(date +%s.%N)
"$work/venv/bin/pip" install -q "$wheel" 2>/dev/null
echo "installed in $(echo "$(date +%s.%N) - $start" | bc) s"
cat >"$work/hidden.sh" <<'END'
for name in libdnnl libgomp libprotobuf-c libjansson libjpeg libpng16 libwebp libpcre2-8 libutf8proc libOpenCL; do
    for file in /lib/x86_64-linux-gnu/$name.so*; do
        [ -f "$file" ] && mount --bind /dev/null "$(realpath "$file")" 2>/dev/null || true
    done
done
END
run=(bash -c)
if unshare -m true 2>/dev/null; then
    run=(unshare -m bash -c)
else
    : >"$work/hidden.sh"
    echo "not hidden: no mount namespaces here"
fi
"${run[@]}" ". $work/hidden.sh; exec env -i PATH=$work/venv/bin HOME=$work TMPDIR=$work OMP_WAIT_POLICY=passive \
    PLIMSOLL_COSTS=default python $here/bare.py"
