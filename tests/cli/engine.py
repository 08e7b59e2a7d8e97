"""What the program promises about models from outside: hostile files end in one clear line, exit code 1 and no output
file; usage errors are 2; JSON has the fields that scripts rely on.

usage: engine.py PLIMSOLL (test_engine.sh calls it). Needs nothing but Python itself.
"""
import json
import os
import random
import resource
import shutil
import struct
import subprocess
import sys
import tempfile

PROGRAM = os.path.abspath(sys.argv[1])
WORK = tempfile.mkdtemp(prefix='plim_engine_')
FAILURES = []
LIMIT = 4 << 30  # of address space: a flipped bit may ask for a huge arena


# --- running -------------------------------------------------------------------------------------------------------

def limit_memory():
    resource.setrlimit(resource.RLIMIT_AS, (LIMIT, LIMIT))


def run(*args, limited=False):
    done = subprocess.run([PROGRAM, *args], capture_output=True, cwd=WORK, timeout=120, preexec_fn=limit_memory if limited else None)
    done.err = done.stderr.decode('utf-8', 'replace')  # and no control characters
    check(all(c == '\n' or c.isprintable() for c in done.err), f'{args[0]} writes text on standard error', done)
    return done


def check(condition, what, done=None):
    if not condition:
        detail = f' (exit {done.returncode}, stderr {done.err!r}, stdout {done.stdout[:200]!r})' if done else ''
        FAILURES.append(what + detail)
        print('FAILED:', what + detail, flush=True)


def is_refused(done, what, code=1, *words):
    check(done.returncode == code, f'{what}: exit code {code}', done)
    lines = done.err.splitlines()
    if code == 2 and len(lines) == 2 and lines[1].startswith('usage: plimsoll '):
        lines.pop()  # how it is used, under the line that says what is wrong
    check(len(lines) == 1 and done.err.endswith('\n'), f'{what}: one line on standard error', done)
    check(not done.stdout, f'{what}: nothing on standard output', done)
    for word in words:
        check(word in done.err, f'{what}: the line says {word!r}', done)


def path(name):
    return os.path.join(WORK, name)


def write(name, data):
    with open(path(name), 'wb') as f:
        f.write(data)
    return name


def npy(name, descr, shape, data):
    header = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': ({''.join(f'{d},' for d in shape)}), }}".encode()
    header += b' ' * (-(10 + len(header) + 1) % 64) + b'\n'
    return write(name, b'\x93NUMPY\x01\x00' + struct.pack('<H', len(header)) + header + data)


def floats(name, *shape):
    count = 1
    for d in shape:
        count *= d
    return npy(name, '<f4', shape, struct.pack(f'<{count}f', *[i % 7 / 7 for i in range(count)]))


# --- ONNX by hand ----------------------------------------------------------------------------------------------------

def varint(n):
    n &= (1 << 64) - 1
    out = b''
    while n > 127:
        out += bytes([n & 127 | 128])
        n >>= 7
    return out + bytes([n])


def field(number, value):
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(value)) + value


def typed(name, dtype, dims):
    shape = b''.join(field(1, field(2, d) if isinstance(d, str) else field(1, d)) for d in dims)
    return field(1, name) + field(2, field(1, field(1, dtype) + field(2, shape)))


def tensor(name, dims, raw=None, dtype=1, extra=b''):
    body = b''.join(field(1, d) for d in dims) + field(2, dtype) + field(8, name)
    return body + (field(9, raw) if raw is not None else b'') + extra


def node(op, inputs, outputs, name='n', domain=None, attributes=b''):
    return (b''.join(field(1, i) for i in inputs) + b''.join(field(2, o) for o in outputs) + field(3, name) + field(4, op)
            + (field(7, domain) if domain else b'') + attributes)


def model(nodes, inputs=None, outputs=None, initializers=(), opset=17, ir=8):
    inputs = [typed('x', 1, [2, 3])] if inputs is None else inputs
    outputs = [typed('y', 1, [2, 3])] if outputs is None else outputs
    graph = b''.join(field(1, n) for n in nodes) + field(2, 'g') + b''.join(field(5, t) for t in initializers)
    graph += b''.join(field(11, i) for i in inputs) + b''.join(field(12, o) for o in outputs)
    return field(1, ir) + field(8, field(1, '') + field(2, opset)) + field(7, graph)


def external(name, dims, location):
    entry = field(1, 'location') + field(2, location)
    return tensor(name, dims, None, 1, field(13, entry) + field(14, 1))


def number(name, value):
    return tensor(name, [], struct.pack('<q', value), 7)


def axis(value):
    return field(5, field(1, 'axis') + field(3, value) + field(20, 2))


def loop(count):
    """A weight is added `count` times."""
    body = field(1, node('Add', ['s', 'w'], ['s2'])) + field(1, node('Identity', ['c'], ['c2'])) + field(2, 'body')
    body += field(11, typed('i', 7, [])) + field(11, typed('c', 9, [])) + field(11, typed('s', 1, [2, 3]))
    body += field(12, typed('c2', 9, [])) + field(12, typed('s2', 1, [2, 3]))
    made = node('Loop', ['n', 't', 'x'], ['y'], 'around', attributes=field(5, field(1, 'body') + field(6, body) + field(20, 5)))
    return model([made], initializers=[number('n', count), tensor('t', [], b'\1', 9), tensor('w', [2, 3], struct.pack('<6f', *range(6)))])


def part(position):
    pair = node('SequenceConstruct', ['x', 'x'], ['q'])
    return model([pair, node('SequenceAt', ['q', 'k'], ['y'], 'at')], initializers=[number('k', position)])


def parts(size, of=1):
    split = node('SplitToSequence', ['x', 'k'], ['q'], 'cut', attributes=axis(of))
    return model([split, node('SequenceAt', ['q', 'z'], ['y'])], initializers=[number('k', size), number('z', 0)])


# --- promises -----------------------------------------------------------------------------------------------------------

def usage_errors_are_two():
    for args in (['infer'], ['inspect'], ['check'], ['pack'], ['zoo', 'lenet'], ['inspect', 'm.onnx', '--frobnicate'], ['frobnicate'],
                 ['inspect', 'm.onnx', '--batch', '0'], ['inspect', 'm.onnx', '--batch', 'many'], ['inspect', 'm.onnx', '--size', 'N'],
                 ['inspect', 'm.onnx', '--size', 'N=-3'], ['infer', 'small.onnx', '--zeros', '--repeat', '0'], ['zoo', 'lenet', '-o', 'x.onnx', '--width', '-1'],
                 ['inspect', 'm.onnx', '--threads', '0'], ['infer', 'small.onnx', '--output']):
        is_refused(run(*args), ' '.join(args), 2)


def what_does_not_exist_is_named():
    is_refused(run('inspect', 'absent.onnx'), 'absent model', 1, 'absent.onnx')
    is_refused(run('infer', 'absent.onnx', '--zeros'), 'absent model', 1, 'absent.onnx')
    is_refused(run('inspect', '.'), 'a folder as a model', 1)
    is_refused(run('zoo', 'vgg99', '-o', 'out.onnx'), 'unknown zoo model', 1, 'vgg99')
    is_refused(run('zoo', 'lenet', '-o', 'no/such/folder/out.onnx'), 'no such folder', 1, 'no/such/folder')
    is_refused(run('check', 'absent'), 'absent folder', 1, 'absent')
    is_refused(run('inspect', 'small.onnx', '--without', 'frobnicate'), 'unknown pass', 1, 'frobnicate')


def hostile_models_are_refused_and_named():
    relu = node('Relu', ['x'], ['y'])
    weights = struct.pack('<6f', *range(6))
    os.makedirs(path('outside'), exist_ok=True)
    os.makedirs(path('inside'), exist_ok=True)
    write('outside/data.bin', weights)
    write('inside/data.bin', weights)
    if not os.path.lexists(path('inside/link.bin')):
        os.symlink('../outside/data.bin', path('inside/link.bin'))
    add = node('Add', ['x', 'w'], ['y'], 'adder')
    cases = {  # name: (model, words that the line must have)
        'unknown_operator': (model([node('Frobnicate', ['x'], ['y'], 'odd')]), ['unsupported: operator Frobnicate', 'odd']),
        'control_characters': (model([node('Frob\nni\x1b[31mcate\r', ['x'], ['y'], 'o\ndd')]), ['unsupported: operator Frob?ni?[31mcate?']),
        'not_utf8': (model([node(b'Frob\xffnicate', ['x'], ['y'], 'odd')]), ['unsupported: operator Frob?nicate']),
        'unknown_domain': (model([node('Relu', ['x'], ['y'], 'odd', 'com.example')]), ['unsupported', 'odd']),
        'opset_999': (model([relu], opset=999), ['opset', '999']),
        'opset_25': (model([relu], opset=25), ['opset 25 is not supported; the newest is 24']),
        'loop_of_many': (loop(1 << 62), ['around', 'Loop that becomes more than']),
        'loop_of_a_million': (loop(10 ** 6), ['around', 'Loop that becomes more than']),
        'position_after_the_end': (part(7), ['at', 'position 7 in a sequence of 2']),
        'position_far_before': (part(-1 << 63), ['at', 'in a sequence of 2']),
        'parts_of_nothing': (parts(0), ['cut', 'parts of 0 elements']),
        'parts_of_no_axis': (parts(1, 9), ['cut', 'out of range']),
        'empty_sequence': (model([node('SequenceEmpty', [], ['q']), node('ConcatFromSequence', ['q'], ['y'], 'join', attributes=axis(0))]), ['join', 'empty']),
        'weight_made_again': (model([node('Add', ['x', 'w'], ['w'], 'adder'), node('Relu', ['w'], ['y'])], initializers=[tensor('w', [2, 3], weights)]),
                              ["'w' is defined twice", 'rename it in the module']),
        'opset_0': (model([relu], opset=0), ['opset']),
        'opset_negative': (model([relu], opset=-5), ['opset']),
        'unknown_dtype': (model([relu], [typed('x', 77, [2, 3])]), ['x']),
        'string_tensors': (model([relu], [typed('x', 8, [2, 3])]), ['x']),
        'initializer_dtype': (model([add], initializers=[tensor('w', [2, 3], weights, 99)]), ['w']),
        'cycle': (model([node('Add', ['x', 'b'], ['a'], 'first'), node('Relu', ['a'], ['b'], 'second'), node('Relu', ['b'], ['y'], 'third')]), ['cycle']),
        'missing_value': (model([node('Add', ['x', 'ghost'], ['y'], 'adder')]), ['ghost']),
        'missing_output': (model([relu], outputs=[typed('phantom', 1, [2, 3])]), ['phantom']),
        'made_twice': (model([relu, node('Tanh', ['x'], ['y'], 'again')]), ['y']),
        'input_made_again': (model([node('Relu', ['x'], ['x'], 'loop')], outputs=[typed('x', 1, [2, 3])]), ['x']),
        'negative_dim': (model([add], initializers=[tensor('w', [-2, 3], weights)]), ['w']),
        'overflowing_dims': (model([add], initializers=[tensor('w', [1 << 40, 1 << 40], weights)]), ['w']),
        'overflowing_input': (model([relu], [typed('x', 1, [1 << 40, 1 << 40])]), []),
        'rank_mismatch': (model([node('MatMul', ['x', 'w'], ['y'], 'product')], initializers=[tensor('w', [2, 2], weights[:16])]), ['product']),
        'broadcast_mismatch': (model([add], initializers=[tensor('w', [5], weights[:20])]), ['adder']),
        'short_initializer': (model([add], initializers=[tensor('w', [2, 3], weights[:20])]), ['w']),
        'long_initializer': (model([add], initializers=[tensor('w', [2, 3], weights + b'1234')]), ['w']),
        'rank_9': (model([relu], [typed('x', 1, [1] * 9)]), ['x']),
        'no_graph': (field(1, 8) + field(8, field(1, '') + field(2, 17)), []),
        'too_few_inputs': (model([node('Add', ['x'], ['y'], 'adder')]), ['adder']),
        'too_many_inputs': (model([node('Relu', ['x'] * 50, ['y'], 'crowd')]), ['crowd']),
        'dtype_mismatch': (model([add], initializers=[tensor('w', [2, 3], weights * 2, 7)]), ['adder']),
        'inside/external_up': (model([add], initializers=[external('w', [2, 3], '../outside/data.bin')]), ['w']),
        'inside/external_absolute': (model([add], initializers=[external('w', [2, 3], path('inside/data.bin'))]), ['w']),
        'inside/external_link': (model([add], initializers=[external('w', [2, 3], 'link.bin')]), ['w']),
        'inside/external_absent': (model([add], initializers=[external('w', [2, 3], 'absent.bin')]), ['absent.bin']),
        'inside/external_short': (model([add], initializers=[external('w', [20, 3], 'data.bin')]), ['w']),
    }
    for name, (data, words) in cases.items():
        file = write(name + '.onnx', data)
        is_refused(run('inspect', file), f'inspect {name}', 1, file, *words)
        is_refused(run('infer', file, '--zeros', '--output', 'y=' + name + '.npy'), f'infer {name}', 1, file)
        check(not os.path.exists(path(name + '.npy')), f'infer {name} leaves no output')
    for count in (0, -5, 3):  # no counts at all are no error in ONNX
        good = run('infer', write('loop_%d.onnx' % count, loop(count)), '--zeros')
        check(good.returncode == 0, 'a loop of %d' % count, good)
    good = run('infer', write('inside/external_good.onnx', model([add], initializers=[external('w', [2, 3], 'data.bin')])), '--zeros', '--json')
    check(good.returncode == 0, 'external data beside the model is fine', good)


def truncated_files_are_refused(data):
    points = sorted({0, 1, 2, 3, len(data) - 1, *(len(data) * i // 40 for i in range(40))})
    for size in points:
        write('cut.onnx', data[:size])
        is_refused(run('inspect', 'cut.onnx'), f'the first {size} of {len(data)} bytes', 1, 'cut.onnx')


def flipped_bits_never_crash(data, limited):
    rng = random.Random(20)
    for i in range(160):
        damaged = bytearray(data)
        for _ in range(rng.choice((1, 1, 2, 8))):
            at = rng.randrange(len(damaged))
            damaged[at] ^= 1 << rng.randrange(8)
        write('flipped.onnx', bytes(damaged))
        commands = [['inspect', 'flipped.onnx', '--json']]
        if limited and i % 2:
            commands = [['infer', 'flipped.onnx', '--zeros', '--json']]
        for command in commands:
            done = run(*command, limited=limited)
            check(done.returncode in (0, 1), f'flip {i}: {command[0]} ends by itself', done)
            if done.returncode == 1:
                is_refused(done, f'flip {i}: {command[0]}', 1, 'flipped.onnx')
            else:
                check(not done.err, f'flip {i}: {command[0]}: success says nothing on standard error', done)
                check(isinstance(json.loads(done.stdout), dict), f'flip {i}: {command[0]}: one JSON object', done)


def random_files_are_refused():
    rng = random.Random(7)
    for i in range(30):
        write('noise.onnx', rng.randbytes(rng.choice((1, 10, 100, 5000))))
        is_refused(run('inspect', 'noise.onnx'), f'random file {i}', 1, 'noise.onnx')
        if i % 10 == 0:
            is_refused(run('infer', 'small.onnx', '--input', 'x=noise.onnx'), f'random array {i}', 1, 'noise.onnx')


def arrays_that_do_not_fit_are_refused():
    good = floats('x.npy', 2, 3)
    wide, deep = floats('wide.npy', 2, 4), floats('deep.npy', 2, 3, 1)
    npy('double.npy', '<f8', (2, 3), b'\0' * 48)
    npy('cut.npy', '<f4', (2, 3), b'\0' * 20)
    npy('object.npy', '|O', (2, 3), b'\0' * 48)
    for name, words in ((wide, ['wide.npy', 'x']), (deep, ['deep.npy', 'x']), ('double.npy', ['double.npy', 'float64', 'float32']),
                        ('cut.npy', ['cut.npy']), ('object.npy', ['object.npy']), ('absent.npy', ['absent.npy'])):
        is_refused(run('infer', 'small.onnx', '--input', 'x=' + name, '--output', 'y=never.npy'), name, 1, *words)
    is_refused(run('infer', 'small.onnx', '--input', 'z=' + good, '--output', 'y=never.npy'), 'no such input', 1, "'z'")
    is_refused(run('infer', 'small.onnx', '--input', 'x=' + good, '--output', 'z=never.npy'), 'no such output', 1, "'z'")
    is_refused(run('infer', 'small.onnx', '--output', 'y=never.npy'), 'a missing input', 1, "'x'")
    is_refused(run('infer', 'small.onnx', '--input', 'x=' + good, '--output', 'y=no/such/folder/y.npy'), 'no folder for the output', 1, 'no/such/folder')
    check(not os.path.exists(path('never.npy')), 'no output file of a failed run')


def integers_of_another_size_are_refused_with_the_remedy():
    weights = [tensor('w', [5, 3], struct.pack('<15f', *range(15)))]
    file = write('tokens.onnx', model([node('Gather', ['w', 'x'], ['y'])], [typed('x', 6, ['N'])], [typed('y', 1, ['N', 3])], weights))
    npy('tokens.npy', '<i8', (4,), struct.pack('<4q', 0, 1, 2, 3))
    is_refused(run('infer', file, '--data', 'tokens.npy', '--output', 'y.npy'), 'int64 for int32', 1, 'export the model with an input of int64')


def outputs_are_all_or_none():
    """Two outputs, the second of which cannot be written: nothing is left behind under its name."""
    two = model([node('Relu', ['x'], ['y'], 'a'), node('Neg', ['x'], ['z'], 'b')], outputs=[typed('y', 1, [2, 3]), typed('z', 1, [2, 3])])
    write('two.onnx', two)
    floats('x.npy', 2, 3)
    done = run('infer', 'two.onnx', '--input', 'x=x.npy', '--output', 'y=first.npy', '--output', 'q=second.npy')
    is_refused(done, 'the second output is misnamed', 1, "'q'")
    check(not os.path.exists(path('first.npy')), 'a misnamed second output is noticed before the first is written')


def a_full_disk_leaves_nothing():
    folder = path('tiny')
    os.makedirs(folder)
    mounted = os.geteuid() == 0 and subprocess.run(['mount', '-t', 'tmpfs', '-o', 'size=64k', 'none', folder], capture_output=True).returncode == 0
    if not mounted:
        print('skipped: a full disk (mounting a small one needs root)')
        return
    try:
        is_refused(run('zoo', 'lenet', '-o', 'tiny/big.onnx'), 'a model on a full disk', 1, 'tiny/big.onnx')
        check(os.listdir(folder) == [], 'a full disk holds no half of a model')
        big = model([node('Relu', ['x'], ['y'])], [typed('x', 1, [300, 300])], [typed('y', 1, [300, 300])])
        write('big.onnx', big)
        is_refused(run('infer', 'big.onnx', '--zeros', '--output', 'y=tiny/y.npy'), 'an output on a full disk', 1, 'tiny/y.npy')
        check(os.listdir(folder) == [], 'a full disk holds no half of an output')
        kept = b'what was there'
        write('tiny/y.npy', kept)
        run('infer', 'big.onnx', '--zeros', '--output', 'y=tiny/y.npy')
        check(open(os.path.join(folder, 'y.npy'), 'rb').read() == kept, 'a full disk leaves the old file as it was')
    finally:
        subprocess.run(['umount', folder], check=True)


def has_fields(args, **fields):
    done = run(*args, '--json')
    check(done.returncode == 0 and not done.err, f'{args[0]} --json succeeds', done)
    try:
        found = json.loads(done.stdout)
    except ValueError:
        check(False, f'{args[0]} --json is one object', done)
        return {}
    for name, kinds in fields.items():
        check(isinstance(found.get(name), kinds) and not isinstance(found.get(name), bool), f'{args[0]} --json has {name}', done)
    return found


def json_has_the_fields_that_scripts_use():
    number = (int, float)
    found = has_fields(['inspect', 'lenet.onnx', '--batch', '3'], parameters=int, parameter_bytes=int, flops=number, arena_bytes=int,
                       lower_bound_bytes=int, nodes=int, inputs=list, outputs=list)
    check(found['parameter_bytes'] == 4 * found['parameters'] > 0, 'parameters are floats')
    check(found['arena_bytes'] >= found['lower_bound_bytes'] > found['parameter_bytes'], 'the arena holds the weights and more')
    check([v['name'] for v in found['inputs']] == ['image'] and [v['name'] for v in found['outputs']] == ['logits'], 'names of inputs and outputs')
    ran = has_fields(['infer', 'lenet.onnx', '--batch', '3', '--zeros'], seconds=number, arena_bytes=int, peak_resident_bytes=int)
    check(ran['arena_bytes'] == found['arena_bytes'], 'infer uses the arena that inspect plans, to the byte')
    check(ran['peak_resident_bytes'] > ran['arena_bytes'], 'the process holds its arena')
    write('a.csv', b'id,lower,upper,size\na,0,3,4\nb,2,5,8\nc,4,6,4\n')
    packed = has_fields(['pack', 'a.csv', '--capacity', '12'], capacity=int, height=int, lower_bound=int, seconds=number, offsets=(list, dict))
    check(packed.get('height') == 12 and packed.get('capacity') == 12, 'the least height of three buffers is found')
    for command in ('zoo', 'inspect', 'infer', 'check', 'pack'):
        shown = run(command, '--help')
        check(shown.returncode == 0 and b'plimsoll ' + command.encode() in shown.stdout, f'{command} --help shows how', shown)
    for threads in ('1', '2'):
        has_fields(['infer', 'lenet.onnx', '--zeros', '--threads', threads], seconds=number)


def main():
    for name in ('lenet', 'gpt2-tiny'):
        sizes = ['--width', '4'] if name == 'lenet' else ['--seq', '4', '--width', '4', '--layers', '1', '--heads', '1', '--classes', '4']
        done = run('zoo', name, '-o', name + '.onnx', *sizes)
        check(done.returncode == 0, f'zoo {name}', done)
    write('small.onnx', model([node('Relu', ['x'], ['y'])]))
    data = open(path('gpt2-tiny.onnx'), 'rb').read()
    limited = run('help', limited=True).returncode == 0  # sanitizers need more than any limit
    usage_errors_are_two()
    what_does_not_exist_is_named()
    hostile_models_are_refused_and_named()
    truncated_files_are_refused(data)
    flipped_bits_never_crash(data, limited)
    random_files_are_refused()
    arrays_that_do_not_fit_are_refused()
    integers_of_another_size_are_refused_with_the_remedy()
    outputs_are_all_or_none()
    a_full_disk_leaves_nothing()
    json_has_the_fields_that_scripts_use()
    if FAILURES:
        sys.exit(f'{len(FAILURES)} promises not held')


try:
    main()
finally:
    shutil.rmtree(WORK, ignore_errors=True)
