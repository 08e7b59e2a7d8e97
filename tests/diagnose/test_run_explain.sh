#!/bin/bash
# When the command fails, what it printed is explained; when it succeeds or says nothing about memory, nothing is made up.
program=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
fail() { echo "FAILED: $*"; cat found.json err; exit 1; }
message='torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 23.69 GiB of which 1.25 GiB is free. Including non-PyTorch memory, this process has 22.43 GiB memory in use. Of the allocated memory 21.91 GiB is allocated by PyTorch, and 60.50 MiB is reserved by PyTorch but unallocated.'
export message

for stream in 1 2; do
    "$program" run --json found.json -- sh -c "echo step 1; echo \"\$message\" >&$stream; exit 1" > out 2> err
    [ $? -eq 1 ] || fail "exit code"
    grep -q '"framework": "pytorch"' found.json && grep -q '"requested_bytes": 2147483648' found.json && grep -q '"cause": "full"' found.json ||
        fail "the message on stream $stream is not read"
    grep -q "Cause: full" err && grep -q "What to try" err && grep -q "exit code 1" err || fail "the report on stream $stream"
    [ "$(grep -c "CUDA out of memory" out)" -eq $((stream == 1)) ] || fail "the output itself"
done
# caught and survived: nothing is said, but the JSON has it
"$program" run --json found.json -- sh -c 'echo "$message" >&2; exit 0' > out 2> err || fail "exit code"
[ "$(cat err)" = "$message" ] || fail "a command that succeeds is left alone"
"$program" run --report -- sh -c 'exit 0' > out 2> err; grep -q "exit code 0" err || fail "--report"
# another error
"$program" run --json found.json -- sh -c 'echo "ValueError: shapes do not match" >&2; exit 1' > out 2> err
grep -q '"explanation": null' found.json && ! grep -q "Out of memory" err || fail "an ordinary error is taken for lack of memory"
# a shell says "Killed" whoever did it
"$program" run --json found.json -- bash -c 'bash -c "kill -9 \$\$"; echo Killed >&2; exit 137' > out 2> err
grep -q '"kind": "killed"' found.json && grep -q '"explanation": null' found.json || fail "a kill by hand is taken for lack of memory"
# a ulimit that the command sets itself
"$program" run --json found.json -- sh -c 'ulimit -v 2000000; sleep 1; echo MemoryError >&2; exit 1' > out 2> err
grep -q '"rlimit_as": 2048000000' found.json && grep -q "ulimit -v allowed it 1.9 GiB" err || fail "the ulimit is not seen"
echo "failures are explained"
