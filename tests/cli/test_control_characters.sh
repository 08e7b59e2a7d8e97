#!/bin/bash
# Names in files, paths and arguments may hold anything: no control character of them reaches the terminal, and none that turns
# the direction of writing. What a program that `run` starts writes itself is passed on as it is.
#   test_control_characters.sh PLIMSOLL SOURCE
program=$(realpath "$1")
export PLIMSOLL_COSTS=default OMP_WAIT_POLICY=passive LC_ALL=C.UTF-8
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1

# The zoo's model with other names of the same length: escapes, a bell, C1 controls, an override of the direction.
"$program" zoo mlp --width 16 -o plain.onnx > /dev/null || exit 1
LC_ALL=C sed -e 's/fc1\.weight/f\x1b[31m\x07\xc2\x9bt/g' -e 's/fc2\.weight/f\x1b]0;\xe2\x80\xaet/g' -e 's/logits/l\x1b[2Jx/g' \
    plain.onnx > "$(printf 'mo\e[31mdel.onnx')"
model=$(printf 'mo\e[31mdel.onnx')
cmp -s plain.onnx "$model" && { echo "FAILED: no name was replaced"; exit 1; }
grep -q "image" plain.onnx && LC_ALL=C sed -i 's/image/i\x1b[8m/g' "$model"

bad=0 seen=0
check() { # ARGUMENTS...: the program's output, whatever it answers
    timeout 60 "$program" "$@" > out 2>&1 < /dev/null
    if grep -nP '[\x00-\x08\x0b-\x1f\x7f\x{80}-\x{9f}\x{2028}-\x{202e}\x{2066}-\x{2069}]' out > found || ! iconv -f UTF-8 -t UTF-8 out > /dev/null; then
        echo "FAILED: plimsoll $*"; cat -v found; bad=1
    fi
    grep -q '?\[31m' out && seen=$((seen + 1))
}
check inspect "$model"
check plan "$model" --batch 4
check plan "$model" --batch 4 --budget 60MiB --save "$(printf 'p\e[1m')"
check plan "$model" --batch 4 --budget 1MiB
check train "$model" --data synthetic --batch 4 --steps 2 --out "$(printf 'o\e[31m.onnx')" --trace "$(printf 't\e[31m')" --profile
check report "$(printf 't\e[31m')"
check train "$model" --data synthetic --freeze "$(printf 'none\e[31m')"
check infer "$model"
check infer "$model" --input "$(printf 'x\e[31m=y.npy')"
check evaluate "$model" --data "$(printf 'no\e[31mne')"
check fit "$model"
check size "$model"
check data "$model"
check explain "$model"
check check "$(printf 'no\e[31mne')"
check inspect "$(printf -- '--no\e[31mne')"
check plan "$model" --size "$(printf 'N\e[31m=3')"
check "$(printf 'no\e[31mne')"
cp /bin/sleep "$(printf 'sl\e[31mp')"
"./$(printf 'sl\e[31mp')" 20 &
check top --once --rows 500
kill $!
check run -- "./$(printf 'sl\e[31mp')" 0.1
check run -- "$(printf 'no\e[31mne')"
[ $bad -eq 0 ] || exit 1
[ $seen -ge 5 ] || { echo "FAILED: only $seen outputs had a name to show"; exit 1; }
echo "$seen outputs show names without their control characters"
