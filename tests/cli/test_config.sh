# Options from a file: the same run as from the command line, which counts first; mistakes named by line; files that are written
# give the same run.
. "$(dirname "$0")/begin.sh"
train() { "$program" train "$@" >out 2>errors || fail "train $*: $(cat errors)"; }
"$program" zoo mlp --image 4 --channels 1 --width 4 --classes 3 -o m.onnx >/dev/null || fail "zoo"
{
    echo "x1,x2,x3,x4,x5,x6,x7,x8,x9,x10,x11,x12,x13,x14,x15,x16,kind"
    for i in $(seq 40); do echo "$i,1,2,3,4,5,6,7,8,9,1,2,3,4,5,$((i * i % 7)),k$((i % 3))"; done
} >t.csv

cat >run.toml <<'TOML'
# a run
model = "m.onnx"   # the first argument
data = 't.csv'
target = "kind"
normalise = true
quiet = true
no-shuffle = false
batch = 8
epochs = 2
lr = 5e-3
betas = [0.8,
         0.9]  # with a comment
out = ["a.safetensors", "a.onnx"]
TOML
train m.onnx --data t.csv --target kind --normalise --quiet --batch 8 --epochs 2 --lr 5e-3 --betas 0.8,0.9 --out b.safetensors
train --config run.toml
[ -s a.onnx ] || fail "the second file was not written"
cmp -s a.safetensors b.safetensors || fail "the file gives another run than the command line"
train --config run.toml --out c.safetensors --lr 1e-2 --save-config again.toml
cmp -s a.safetensors c.safetensors && fail "the command line does not count first"
mv c.safetensors d.safetensors
train --config again.toml
cmp -s c.safetensors d.safetensors || fail "what was saved gives another run: $(cat again.toml)"
"$program" plan --config run.toml >out 2>errors || fail "plan: $(cat errors)"

bad() { # WORDS LINE...: a file with these lines is refused
    words=$1 && shift
    printf '%s\n' "$@" >bad.toml
    refuses "$words" train --config bad.toml
}
bad "line 2: unknown key 'epoch'; is epochs meant" 'model = "m.onnx"' 'epoch = 3'
bad "line 1: unknown key 'modle'; is model meant" 'modle = "m.onnx"'
bad "line 2: 'batch' was set in line 1" 'batch = 1' 'batch = 2'
bad "line 1: tables are not known" '[train]'
bad "line 1: a text does not end" 'data = "x'
bad "line 1: an escape" 'data = "\q"'
bad "line 1: a value is" 'batch ='
bad "line 1: a value is" 'batch = eight'
bad "line 1: a value is" 'lr = nan'
bad "line 1: something follows" 'batch = 1 2'
bad "line 1: a line is KEY = VALUE" 'batch 8'
bad "line 2: a list has commas" 'betas = [1' '2]'
bad "numbers or texts, not both" 'out = ["a", 1]'
bad "an empty list" 'out = []'
bad "'quiet' is true or false" 'quiet = 1'
bad "'batch' needs a value" 'batch = true'
bad "is for the command line" 'config = "bad.toml"'
bad "expected a whole number" 'model = "m.onnx"' 'data = "t.csv"' 'batch = 1.5'
printf 'batch = 1\0\n' >bad.toml
refuses "no configuration file" train --config bad.toml
refuses "cannot open 'nowhere.toml'" train --config nowhere.toml
refuses "no configuration of plimsoll" train m.onnx --data t.csv --target kind --steps 1 --out x.onnx --save-config t.csv
[ "$(head -c 2 t.csv)" = x1 ] || fail "the data was overwritten"
echo "all well"
