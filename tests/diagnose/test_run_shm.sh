#!/bin/bash
# A bus error with a full /dev/shm is told from one with room in it.
program=$1
command -v python3 >/dev/null || { echo "skipped: no python3"; exit 77; }
unshare -m sh -c 'mount -t tmpfs -o size=8m tmpfs /dev/shm' 2>/dev/null || { echo "skipped: cannot mount a small /dev/shm of our own"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
fail() { echo "FAILED: $*"; cat found.json err; exit 1; }
# as a data loader worker does it: a sparse file, mapped, then written to
cat > fill.py <<'PY'
import mmap, resource, sys, os
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
with open("/dev/shm/batch", "w+b") as file:
    file.truncate(64 << 20)
    view = mmap.mmap(file.fileno(), 64 << 20)
    for at in range(0, 64 << 20, 4096): view[at] = 1
PY
small() { unshare -m sh -c 'mount -t tmpfs -o size=8m tmpfs /dev/shm; exec "$@"' sh "$@"; }
small "$program" run --json found.json -- python3 fill.py 2> err
[ $? -eq 135 ] || fail "exit code"
grep -q '"kind": "shm_full"' found.json && grep -q "/dev/shm is full" err || fail "a full /dev/shm is not recognised"
small "$program" run --json found.json -- sh -c 'ulimit -c 0; kill -BUS $$' 2> err
grep -q '"kind": "signal"' found.json && grep -q "/dev/shm was not full" err || fail "a bus error with room in /dev/shm"
echo "a full /dev/shm is told"
