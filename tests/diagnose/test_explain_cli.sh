#!/bin/bash
# The command from outside: nothing to find is no failure, wrong files are one line, pipes are read.
set -u
program=$1 source=$2
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
fail() { echo "$*"; exit 1; }
expect() { # wanted exit status, text in the output, command...
    local want=$1 text=$2 got; shift 2
    got=$("$@" 2>&1 </dev/null); local code=$?
    [ $code = "$want" ] || fail "$*: exit status $code, not $want"
    case $got in *"$text"*) ;; *) fail "$*: no '$text' in: $got" ;; esac
}
: >"$work/empty"
head -c 100000 /dev/urandom >"$work/binary"
echo "epoch 1 loss 0.5" >"$work/fine"
expect 0 "empty" "$program" explain "$work/empty"
expect 0 "not a text log" "$program" explain "$work/binary"
expect 0 "No out-of-memory message" "$program" explain "$work/fine"
expect 0 '"found": false' "$program" explain --json "$work/fine"
expect 1 "cannot open" "$program" explain "$work/absent"
expect 1 "$work" "$program" explain "$work"
expect 0 '"file"' "$program" explain --json "$work/fine" "$source/tests/diagnose/examples/pytorch/full.txt"
# what the message itself offers is no setting that was tried
echo "RuntimeError: MPS backend out of memory (MPS allocated: 8.00 GB, other allocations: 1.00 GB, max allowed: 9.07 GB). \
Tried to allocate 512.00 MB on private pool. Use PYTORCH_MPS_HIGH_WATERMARK_RATIO=0.0 to disable upper limit for memory \
allocations (may cause system failure)." >"$work/watermark"
expect 0 "lift the limit" "$program" explain "$work/watermark"
grep -q "Cause: full" <(cat "$source/tests/diagnose/examples/pytorch/full.txt" | "$program" explain) || fail "standard input is not read"
# a message behind a long log, on a pipe
{ yes 'step=100 loss=1.0743 ppl=2.93 gpu_mem=32.46GB tok/s=18672' | head -c 64000000
  cat "$source/tests/diagnose/examples/pytorch/full.txt"; } | "$program" explain --json | grep -q '"cause": "full"' ||
    fail "not found behind a long log"
echo ok
