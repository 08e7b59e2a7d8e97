# What cannot be trained is told in one line that names it, with exit code 1, and no output file appears.
program=$1
/usr/bin/python3 -c 'import numpy' 2>/dev/null || { echo "skipped: no python3-numpy"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
export OMP_WAIT_POLICY=passive
"$program" zoo lenet --width 4 -o model.onnx >/dev/null || exit 1
/usr/bin/python3 - <<'END' || exit 1
import os, struct, zlib
import numpy
numbers = numpy.random.RandomState(0)
x, y = numbers.rand(48, 1, 28, 28).astype('f4'), numpy.arange(48) % 10
def save(name, x, y): numpy.savez(name, image=x, label=y)
def changed(a, index, value):
    b = a.copy()
    b[index] = value
    return b
save('good.npz', x, y)
save('label.npz', x, changed(y, 17, 10))
save('nan.npz', changed(x, (40, 0, 3, 3), numpy.nan), y)
save('inf.npz', changed(x, (40, 0, 3, 3), numpy.inf), y)
save('shape.npz', x[:, :, :20], y)
open('ragged.csv', 'w').write('a,b,c\n1,2,0\n3,4\n')
open('text.csv', 'w').write('a,b,c\n1,2,0\n3,hello,1\n')
os.makedirs('empty')
def png(path):
    def chunk(kind, data): return struct.pack('>I', len(data)) + kind + data + struct.pack('>I', zlib.crc32(kind + data))
    rows = b''.join(b'\0' + numbers.bytes(90) for _ in range(30))
    open(path, 'wb').write(b'\x89PNG\r\n\x1a\n' + chunk(b'IHDR', struct.pack('>IIBBBBB', 30, 30, 8, 2, 0, 0, 0)) +
                           chunk(b'IDAT', zlib.compress(rows)) + chunk(b'IEND', b''))
for folder, classes in (('damaged', 2), ('classes', 11)):
    for c in range(classes):
        os.makedirs(f'{folder}/{c:02}')
        for i in range(2): png(f'{folder}/{c:02}/{i}.png')
open('damaged/01/bad.png', 'wb').write(open('damaged/01/1.png', 'rb').read()[:90])
END
failed=0
# WORDS ARGUMENT...: the message holds each of the words, separated by |
refused() {
    words=$1
    shift
    "$program" train model.onnx --batch 16 --quiet --out out.onnx "$@" >out 2>errors
    code=$?
    IFS='|'
    for word in $words; do grep -q -- "$word" errors || { echo "FAILED: $*: no '$word' in: $(cat errors)"; failed=1; }; done
    unset IFS
    [ $code = 1 ] && [ "$(wc -l <errors)" = 1 ] && [ ! -e out.onnx ] && [ ! -s out ] ||
        { echo "FAILED: $*: exit $code: $(cat errors)"; failed=1; }
}
refused 'label 10 of sample 17 |update|epoch 1|batch of samples' --data label.npz
refused 'label 10 of sample 17 ' --data label.npz --accumulate 4 --seed 3
refused 'NaN|update|sample' --data nan.npz
refused 'Inf|update|sample' --data inf.npz
refused 'does not fit' --data shape.npz
refused 'does not fit' --data good.npz --loss mse
refused 'loss' --data good.npz --loss model
refused 'ragged.csv|line 3' --data ragged.csv --target c
refused 'text.csv|hello' --data text.csv --target c
refused 'empty' --data empty
refused 'damaged/01/bad.png' --data damaged
refused '11 classes|10' --data classes
refused 'nowhere' --data nowhere
refused 'update|holds' --data good.npz --lr 1e30
"$program" train model.onnx --batch 16 --quiet --data damaged --skip-bad >out 2>errors && grep -q "1 bad" out ||
    { echo "FAILED: --skip-bad: $(cat out errors)"; failed=1; }

# Checkpoints: cut off, not one, of another model, with other data. None is touched.
"$program" train model.onnx --batch 16 --data good.npz --quiet --checkpoint run.ckpt >/dev/null || failed=1
head -c 20000 run.ckpt >cut.ckpt
cp model.onnx other.ckpt
cp run.ckpt before.ckpt
refused 'cut.ckpt|cut off' --data good.npz --checkpoint cut.ckpt --resume --epochs 2
refused 'other.ckpt|checkpoint' --data good.npz --checkpoint other.ckpt --resume --epochs 2
refused 'other data' --data damaged --skip-bad --checkpoint run.ckpt --resume
refused 'seed' --data good.npz --checkpoint run.ckpt --resume --seed 1
cp model.onnx lenet4.onnx
"$program" zoo lenet --width 8 -o model.onnx >/dev/null
refused 'another model' --data good.npz --checkpoint run.ckpt --resume --epochs 2
cmp run.ckpt before.ckpt || failed=1
exit $failed
