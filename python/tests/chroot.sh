#!/usr/bin/env bash
# The wheel on a machine that has nothing but Python: a Debian made by debootstrap with python3 and python3-venv, no compiler,
# no development package, no library of ours, no network. Installs the wheel by pip, then runs python/tests/bare.py there.
#   python/tests/chroot.sh WHEEL [SUITE [packages of pip's: torch==2.13.0 onnx onnxscript]]
# Needs root, debootstrap, and Debian's and pip's indexes for what is downloaded beforehand. SUITE is Debian's (bookworm: Python
# 3.11; trixie: 3.13). PLIM_CHROOT=FOLDER keeps the system there for another time; else it is removed.
set -euo pipefail
wheel=$(realpath "${1:?usage: python/tests/chroot.sh WHEEL [SUITE [packages]]}") suite=${2:-bookworm} here=$(realpath "$(dirname "$0")")
shift $(($# < 2 ? $# : 2))
work=$(mktemp -d)
root=${PLIM_CHROOT:-$work/root}
end() {
    umount -q "$root/proc" 2>/dev/null || true
    rm -rf "$work"
}
trap end EXIT
[ -x "$root/usr/bin/python3" ] ||
    debootstrap --variant=minbase --include=python3,python3-venv "$suite" "$root" >"$work/log" 2>&1 || { tail "$work/log"; exit 1; }

inside() { chroot "$root" env -i PATH=/usr/bin:/bin HOME=/root LANG=C.UTF-8 OMP_WAIT_POLICY=passive PLIMSOLL_COSTS=default "$@"; }
for tool in cc gcc clang g++ cmake make ld; do
    ! inside sh -c "command -v $tool" || { echo "$tool is in the system: it is not bare"; exit 1; }
done
! find "$root/usr/lib" -name 'libdnnl*' -o -name 'libgomp*' -o -name 'libjansson*' | grep . || { echo "a library of ours is there"; exit 1; }
version=$(inside python3 -c 'import sys; print("%d.%d" % sys.version_info[:2])')
rm -rf "$root/wheels" "$root/venv" && mkdir -p "$root/wheels" "$root/proc"
python3 -m pip download -q --only-binary=:all: --python-version "$version" -d "$root/wheels" numpy "$@"
cp "$wheel" "$root/wheels"
cp "$here/bare.py" "$root/bare.py"
mountpoint -q "$root/proc" || mount -t proc proc "$root/proc"

inside python3 -m venv /venv
[ $# -eq 0 ] || inside /venv/bin/pip install -q --no-index --find-links /wheels "$@"
start=$(date +%s.%N)
inside /venv/bin/pip install -q --no-index --find-links /wheels plimsoll
echo "$suite, Python $version: installed in $(echo "$start $(date +%s.%N)" | awk '{ printf "%.1f", $2 - $1 }') s"
inside PATH=/venv/bin:/usr/bin:/bin python /bare.py
