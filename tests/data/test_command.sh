# `plimsoll data` tells what a data set is, and one line on standard error what is wrong with it.
program=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
failed=0
fail() { echo "FAILED: $*"; failed=1; }

printf 'a,b,kind\n1,2,x\n3,4,y\n5,6,x\n' >"$folder/t.csv"
said=$("$program" data "$folder/t.csv" --target kind --json) || fail "csv: exit $?"
for part in '"kind": "csv"' '"samples": 3' '"classes": 2' '"samples_per_second"' '"buffer_bytes"'; do
    case $said in *"$part"*) ;; *) fail "no $part in: $said" ;; esac
done
grep -q 'classes: x, y' <("$program" data "$folder/t.csv" --target kind) || fail "no names of classes"

expect() { # CODE WORDS ARGS...
    code=$1 words=$2
    shift 2
    out=$("$program" data "$@" 2>"$folder/error")
    got=$?
    [ $got -eq "$code" ] || fail "$*: exit $got, not $code"
    [ -z "$out" ] || fail "$*: something on standard output"
    grep -q -e "$words" "$folder/error" || fail "$*: $(cat "$folder/error")"
}
printf 'a,b\n1,2\n3,oops\n' >"$folder/bad.csv"
mkdir -p "$folder/empty" "$folder/images/cats"
printf 'not an image' >"$folder/images/cats/tom.jpg"
expect 1 'line 3 column 2' "$folder/bad.csv" --json
expect 1 'has no folders' "$folder/empty" --json
expect 1 'cats/tom.jpg' "$folder/images" --json
expect 1 'cats/tom.jpg' "$folder/images" --skip-bad --json
expect 1 'No such file' "$folder/none" --json
expect 2 'which data set' --json
expect 2 'expected a size' "$folder/images" --image 0
expect 2 'expected numbers' "$folder/images" --mean 0.5,x
expect 2 'has 2 values' "$folder/images" --mean 1,2 --std 1,2,3

# A small file that would fill the disk: refused within its stated bound, and read when that is raised.
python3 - "$folder" <<'PY'
import gzip, struct, sys
with gzip.open(sys.argv[1] + "/zeros.gz", "wb", 9) as f:
    f.write(struct.pack(">IIII", 0x803, 400000, 28, 28))
    for _ in range(400): f.write(bytes(784000))
PY
expect 1 'unpacks from .* to more than 256.0 MiB.*--unpack-limit' "idx:$folder/zeros.gz" --json
"$program" data "idx:$folder/zeros.gz" --unpack-limit 400MB --json >/dev/null || fail "--unpack-limit"
exit $failed
