#!/bin/bash
# `plimsoll run` is transparent: exit codes, signals, bytes, order, standard input, background processes.
program=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
fail() { echo "FAILED: $*"; exit 1; }
quiet() { "$program" run -- "$@" 2>err; }

# every exit code comes through
for code in $(seq 0 255); do
    quiet sh -c "exit $code"
    [ $? -eq "$code" ] || fail "exit code $code became $?"
done
quiet true && [ ! -s err ] || fail "a command that succeeds adds nothing to standard error"

# signals: 128 + number, and the report names them
for pair in HUP:1 INT:2 QUIT:3 ABRT:6 KILL:9 USR1:10 SEGV:11 TERM:15; do
    quiet sh -c "ulimit -c 0; kill -${pair%:*} \$\$"
    [ $? -eq $((128 + ${pair#*:})) ] || fail "SIG${pair%:*} became $?"
    grep -q "SIG${pair%:*}" err || fail "SIG${pair%:*} is not named: $(cat err)"
done

# what can't be run
quiet ./no-such-command; [ $? -eq 127 ] || fail "no such file: 127"
quiet no-such-command; [ $? -eq 127 ] || fail "no such command: 127"
[ "$(cat err)" = "plimsoll run: no-such-command: command not found" ] || fail "one line names it: $(cat err)"
touch plain; quiet ./plain; [ $? -eq 126 ] || fail "not executable: 126"
mkdir folder; quiet ./folder; [ $? -eq 126 ] || fail "a folder: 126"
"$program" run 2>err; [ $? -eq 2 ] || fail "no command: usage error"
"$program" run --nonsense -- true 2>err; [ $? -eq 2 ] || fail "unknown option: usage error"
"$program" run --record /no/such/folder/x -- touch ran 2>err; [ $? -eq 1 ] && [ ! -e ran ] || fail "a record that can't be written"
"$program" run --json /no/such/folder/x -- touch ran 2>err; [ $? -eq 1 ] && [ ! -e ran ] || fail "a JSON file that can't be written"

"$program" run --record /dev/full -- sh -c 'exit 4' 2>err; [ $? -eq 4 ] && grep -q "cannot write '/dev/full'" err || fail "a full disk"

# arguments after the command are the command's
[ "$("$program" run echo --json --meter -x)" = "--json --meter -x" ] || fail "options after the command are passed on"

# 50 MB of random bytes, on either stream, and through standard input
head -c 50000000 /dev/urandom > random
"$program" run -- cat random | cmp - random || fail "standard output changed"
"$program" run -- sh -c 'cat random >&2' 2>&1 >/dev/null | cmp - random || fail "standard error changed"
"$program" run -- cat < random | cmp - random || fail "standard input changed"
"$program" run -- cat random > copy && cmp copy random || fail "standard output to a file changed"

# both streams in one file keep their order
"$program" run -- sh -c 'for i in 1 2 3 4 5 6 7 8 9; do echo out $i; echo err $i >&2; done' > both 2>&1
sh -c 'for i in 1 2 3 4 5 6 7 8 9; do echo out $i; echo err $i >&2; done' > expected 2>&1
cmp both expected || fail "the order of both streams changed"

# neither waits for the other: standard error arrives while standard output is held up
mkfifo out
"$program" run -- sh -c 'head -c 3000000 /dev/zero & echo alive >&2; wait' > out 2>err &
runner=$!
exec 3< out
for _ in $(seq 200); do grep -q alive err && break; sleep 0.05; done
grep -q alive err || fail "standard error waits for standard output"
cat <&3 | wc -c | grep -qx 3000000 || fail "bytes were lost"
exec 3<&-
wait $runner || fail "held-up output"

# a reader that goes away ends the command by SIGPIPE
"$program" run -- yes 2>err | head -1 >/dev/null
[ "${PIPESTATUS[0]}" -eq 141 ] || fail "SIGPIPE"
# a closed stream is closed for the command too
"$program" run -- sh -c '[ ! -e /proc/self/fd/1 ]' >&- 2>err || fail "a closed standard output was opened"
"$program" run -- sh -c '[ ! -e /proc/self/fd/0 ]' <&- 2>err || fail "a closed standard input was opened"
[ "$("$program" run -- ls /proc/self/fd | wc -l)" -eq "$(ls /proc/self/fd | wc -l)" ] || fail "the command inherits files of ours"

# what a background process writes later still comes, and one that never ends does not hold us up
[ "$("$program" run -- sh -c '(sleep 0.3; echo late) & echo early')" = "$(printf 'early\nlate')" ] || fail "late output is lost"
"$program" run -- sh -c 'sh -c "echo \$\$ > yes.pid; exec yes" & while [ ! -s yes.pid ]; do sleep 0.01; done; exit 3' > /dev/null 2>err
[ $? -eq 3 ] || fail "endless background output"
kill "$(cat yes.pid)"

# signals are passed on; SIGUSR1 prints the meter and is not
"$program" run -- sh -c 'trap "exit 9" TERM; echo ready > ready; while :; do sleep 0.05; done' 2>err &
runner=$!
while [ ! -s ready ]; do sleep 0.02; done
sleep 0.1
kill -USR1 $runner
for _ in $(seq 200); do grep -q '^plimsoll .* of .*' err && break; sleep 0.05; done
grep -q '^plimsoll .* of .*' err || fail "SIGUSR1 shows no meter"
kill -TERM $runner
wait $runner
[ $? -eq 9 ] || fail "SIGTERM is passed on"
echo "run is transparent"
