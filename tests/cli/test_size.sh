# plimsoll size from outside: what it prints, how it fails, and that a file of 100 GB costs nothing.
set -u
plimsoll=$1 data=$2/tests/format/data
folder=$(mktemp -d)
trap 'rm -r "$folder"' EXIT
failed=0
fail() { echo "FAILED: $*"; failed=1; }

# The sentence of the documentation, to the letter.
[ "$("$plimsoll" size 32x32x239x239 float32 | head -1)" = "233,967,616 bytes = 223.1 MiB" ] || fail "first line"
# A shape without quotes arrives in pieces.
[ "$("$plimsoll" size [8, 3, 224, 224] bfloat16 | head -1)" = "2,408,448 bytes = 2.3 MiB" ] || fail "unquoted shape"
[ "$("$plimsoll" size N,3,224,224 --batch 64 | head -1)" = "38,535,168 bytes = 36.8 MiB" ] || fail "batch"

json=$("$plimsoll" size 3x5 int4 --json | tr -d ' \n')
case $json in *'"bytes":8'*'"elements":15'*'"dtype":"int4"'*'"shape":[3,5]'*) ;; *) fail "json of a shape: $json" ;; esac
json=$("$plimsoll" size "$data/weights/model.safetensors.index.json" --json | tr -d ' \n')
for field in '"tensors":4' '"bytes":490' '"by_dtype":{"float32":352,"bfloat16":130,"int64":8}' '"training":{"sgd":{"fp32":{' \
    '"momentum":{' '"adam":{' '"adamw":{' '"adafactor":{' '"adam8bit":{' '"bf16":{' '"fp16":{'; do
    case $json in *"$field"*) ;; *) fail "json of a file lacks $field: $json" ;; esac
done

# fails CODE WORDS ARGUMENT...: nothing on standard output, WORDS in the first line of standard error, a bounded memory.
fails() {
    code=$1 words=$2
    shift 2
    (ulimit -v ${PLIM_TEST_LIMIT:-400000}; "$plimsoll" size "$@" >"$folder/out" 2>"$folder/err")
    got=$?
    [ $got = "$code" ] || fail "$*: exit $got"
    [ -s "$folder/out" ] && fail "$*: printed something"
    head -1 "$folder/err" | grep -q -- "$words" || fail "$*: $(cat "$folder/err")"
    [ "$code" = 2 ] || [ "$(wc -l <"$folder/err")" = 1 ] || fail "$*: more than one line"
}
# The sanitizers reserve terabytes of addresses.
if grep -q libasan <(ldd "$plimsoll") || grep -q __asan_init "$plimsoll"; then PLIM_TEST_LIMIT=unlimited; fi

fails 2 "what?"
fails 2 "neither a file nor a shape" hello
fails 2 "with --batch" N,3
fails 2 "not an element type" 3x4 float33
fails 2 "too much" 3x4 float32 5
fails 1 "more bytes than fit" 99999999999x99999999999
fails 1 "cannot open" nowhere.pt
fails 1 "not a regular file" "$folder"
: >"$folder/empty.pt"
fails 1 "is empty" "$folder/empty.pt"
head -c 100000 /dev/urandom >"$folder/noise.bin"
printf 'Z' | dd of="$folder/noise.bin" conv=notrunc 2>/dev/null
fails 1 "not a file of weights" "$folder/noise.bin"
cp "$data/pickle/evil.pickle" "$folder/evil.pt"
fails 1 "is a pickle" "$folder/evil.pt"
printf '\377\377\377\377\377\377\377\177{}' >"$folder/huge.safetensors"
fails 1 "claims a safetensors header" "$folder/huge.safetensors"
printf '{"weight_map":{"a\\nb":"../x.safetensors"}}' >"$folder/up.safetensors.index.json"
fails 1 "not a file beside it" "$folder/up.safetensors.index.json"
mkfifo "$folder/pipe.npy"
fails 1 "not a regular file" "$folder/pipe.npy"

# 100 GB, all of it a hole: only the header is read.
header='{"a":{"dtype":"F32","shape":[25000000000],"data_offsets":[0,100000000000]}}'
printf '%b' "\\x$(printf %x ${#header})\\0\\0\\0\\0\\0\\0\\0" >"$folder/large.safetensors"
printf '%s' "$header" >>"$folder/large.safetensors"
if truncate -s $((100000000000 + 8 + ${#header})) "$folder/large.safetensors" 2>/dev/null; then
    [ "$("$plimsoll" size "$folder/large.safetensors" | head -1)" = "100,000,000,000 bytes = 93.1 GiB" ] || fail "100 GB"
fi
exit $failed
