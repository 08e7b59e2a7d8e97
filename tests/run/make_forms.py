"""Makes the files of tests/run/forms: small models as PyTorch exports them, or as ONNX allows, with numbers of PyTorch.

usage: make_forms.py [NAME...]
Needs torch 2.13, onnx, onnxscript and transformers 5; the tests need none of them. NAME.safetensors has the inputs
("in.x"), the first output ("out"), a target and the gradients of the mean squared error ("grad.weight").
"""
import importlib.util
import json
import os
import struct
import sys
import warnings

warnings.simplefilter('ignore')
os.environ['HF_HUB_OFFLINE'] = '1'
found = importlib.util.find_spec
importlib.util.find_spec = lambda name, *rest: None if name.startswith('torchvision') else found(name, *rest)
import numpy
import onnx
import torch
from onnx import TensorProto, helper, numpy_helper
from torch import nn
from torch.nn import functional as F

folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'forms')
os.makedirs(folder, exist_ok=True)
forms = {}


def form(make):
    forms[make.__name__] = make
    return make


def write(name, tensors):
    types = {'float32': 'F32', 'int64': 'I64', 'bool': 'BOOL'}
    header, data = {}, b''
    for key, value in tensors.items():
        value = numpy.ascontiguousarray(value)
        header[key] = {'dtype': types[str(value.dtype)], 'shape': list(value.shape), 'data_offsets': [len(data), len(data) + value.nbytes]}
        data += value.tobytes()
    text = json.dumps(header).encode()
    text += b' ' * (-len(text) % 8)
    with open(os.path.join(folder, name + '.safetensors'), 'wb') as file:
        file.write(struct.pack('<Q', len(text)) + text + data)


def strip(model):
    """What exporters note on the way makes files large."""
    del model.metadata_props[:]
    del model.graph.metadata_props[:]
    for node in model.graph.node:
        del node.metadata_props[:]
        node.doc_string = ''
    for value in list(model.graph.input) + list(model.graph.output) + list(model.graph.value_info):
        del value.metadata_props[:]
    for weight in model.graph.initializer:
        del weight.metadata_props[:]
    del model.graph.value_info[:]
    return model


def numbers(name, module, inputs, names, parameters=None, out=None):
    """PyTorch's side: one output, and gradients by the names that the file has."""
    parameters = parameters or dict(module.named_parameters())
    module.zero_grad() if isinstance(module, nn.Module) else None
    y = out(*inputs) if out else module(*inputs)
    target = torch.randn(y.shape, generator=torch.Generator().manual_seed(7))
    F.mse_loss(y.float(), target).backward()
    tensors = {'in.' + n: x.numpy() for n, x in zip(names, inputs)}
    tensors |= {'out': y.detach().float().numpy(), 'target': target.numpy()}
    tensors |= {'grad.' + n: p.grad.float().numpy() for n, p in parameters.items() if p.grad is not None}
    write(name, tensors)


def export(name, module, inputs, names, opset=None, training=False):
    batch = torch.export.Dim('batch')
    module.train(training)
    more = {'opset_version': opset} if opset else {}
    program = torch.onnx.export(module, tuple(inputs), dynamo=True, verbose=False, optimize=False, input_names=names,
                                dynamic_shapes=tuple({0: batch} for _ in inputs), **more)
    onnx.save(strip(program.model_proto), os.path.join(folder, name + '.onnx'))
    module.eval()  # what is dropped by chance cannot be compared
    held = {weight.name for weight in program.model_proto.graph.initializer}  # of tied ones, the name in the file
    numbers(name, module, inputs, names, {n: p for n, p in module.named_parameters(remove_duplicate=False) if n in held})


def spread(module):
    """Fresh weights are often zeros and ones, which hide mistakes."""
    generator = torch.Generator().manual_seed(3)
    for parameter in module.parameters():
        parameter.data += 0.2 * torch.randn(parameter.shape, generator=generator)
    return module


# --- transformers -------------------------------------------------------------------------------------------------

class Logits(nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, x):
        out = self.inner(x)
        return out.logits if hasattr(out, 'logits') else out.last_hidden_state


class Masked(nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, x, mask):
        return self.inner(x, attention_mask=mask).logits


def tokens(classes, length=6):
    return torch.randint(0, classes, (3, length), generator=torch.Generator().manual_seed(1))


@form
def gpt2(name, **more):
    from transformers import GPT2Config, GPT2LMHeadModel
    config = GPT2Config(n_layer=2, n_head=2, n_embd=8, vocab_size=11, n_positions=6, use_cache=False, **more)
    export(name, spread(Logits(GPT2LMHeadModel(config))), [tokens(11)], ['x'])


@form
def gpt2_eager(name):
    gpt2(name, attn_implementation='eager')


@form
def llama(name, **more):
    from transformers import LlamaConfig, LlamaForCausalLM
    config = LlamaConfig(num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, hidden_size=16, intermediate_size=12,
                         vocab_size=11, max_position_embeddings=6, use_cache=False, **more)
    export(name, spread(Logits(LlamaForCausalLM(config))), [tokens(11)], ['x'])


@form
def mistral(name):
    from transformers import MistralConfig, MistralForCausalLM
    config = MistralConfig(num_hidden_layers=2, num_attention_heads=2, num_key_value_heads=1, hidden_size=8, intermediate_size=12,
                           vocab_size=11, sliding_window=3, max_position_embeddings=6, use_cache=False)
    export(name, spread(Logits(MistralForCausalLM(config))), [tokens(11)], ['x'])


@form
def bloom(name):
    from transformers import BloomConfig, BloomForCausalLM
    config = BloomConfig(n_layer=1, n_head=2, hidden_size=8, vocab_size=11, use_cache=False)
    export(name, spread(Logits(BloomForCausalLM(config))), [tokens(11)], ['x'])


@form
def bert_masked(name):
    from transformers import BertConfig, BertForMaskedLM
    config = BertConfig(num_hidden_layers=2, num_attention_heads=2, hidden_size=8, intermediate_size=12, vocab_size=11,
                        max_position_embeddings=6, tie_word_embeddings=False)
    mask = torch.ones(3, 6, dtype=torch.long)
    mask[1, 4:] = 0
    mask[2, 1:] = 0
    # PyTorch has no gradient for token 0, which fills up; files do not tell that
    export(name, spread(Masked(BertForMaskedLM(config))), [tokens(10) + 1, mask], ['x', 'mask'])


class Biased(nn.Module):
    """Positions as a bias on the scores that is trained, by hand: the scale on q, the softmax spelled as PyTorch's."""
    def __init__(self):
        super().__init__()
        self.qkv, self.bias, self.out = nn.Linear(8, 24), nn.Parameter(torch.zeros(2, 5, 5)), nn.Linear(8, 8)

    def forward(self, x):
        n, t, _ = x.shape
        q, k, v = self.qkv(x).view(n, t, 3, 2, 4).permute(2, 0, 3, 1, 4).unbind(0)
        scores = (q / 2) @ k.transpose(-2, -1) + self.bias
        return self.out((scores.softmax(-1) @ v).transpose(1, 2).reshape(n, t, 8))


@form
def learned_bias(name):
    export(name, spread(Biased()), [torch.randn(3, 5, 8, generator=torch.Generator().manual_seed(4))], ['x'])


@form
def vit(name):
    from transformers import ViTConfig, ViTForImageClassification
    config = ViTConfig(num_hidden_layers=1, num_attention_heads=2, hidden_size=8, intermediate_size=12, image_size=8, patch_size=4,
                       num_labels=3)
    x = torch.randn(3, 3, 8, 8, generator=torch.Generator().manual_seed(2))
    export(name, spread(Logits(ViTForImageClassification(config))), [x], ['x'])


# --- operators of opset 23 ------------------------------------------------------------------------------------------

class Heads(nn.Module):
    def __init__(self, causal=False, groups=False, masked=False):
        super().__init__()
        self.q, self.k, self.v = nn.Linear(8, 8), nn.Linear(8, 4 if groups else 8), nn.Linear(8, 4 if groups else 8)
        self.norm, self.causal, self.groups, self.masked = nn.RMSNorm(8), causal, groups, masked

    def forward(self, x):
        x = self.norm(x)
        n, t, _ = x.shape
        q, k, v = (f(x).view(n, t, -1, 2).transpose(1, 2) for f in (self.q, self.k, self.v))
        mask = (torch.arange(t)[:, None] - torch.arange(t)[None, :]).abs() < 3 if self.masked else None
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=self.causal, enable_gqa=self.groups)
        return y.transpose(1, 2).reshape(n, t, 8)


def numbers_of(*shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(5))


@form
def attention23(name):
    export(name, spread(Heads()), [numbers_of(3, 5, 8)], ['x'], opset=23)


@form
def attention23_causal(name):
    export(name, spread(Heads(causal=True)), [numbers_of(3, 5, 8)], ['x'], opset=23)


@form
def attention23_groups(name):
    export(name, spread(Heads(groups=True)), [numbers_of(3, 5, 8)], ['x'], opset=23)


@form
def attention23_mask(name):
    export(name, spread(Heads(masked=True)), [numbers_of(3, 5, 8)], ['x'], opset=23)


@form
def rotary23(name):
    """RotaryEmbedding, interleaved and partial, by hand."""
    w = nn.Parameter(numbers_of(8, 8))
    angle = torch.arange(5.)[:, None] * torch.tensor([1., 0.3])[None]
    cos, sin = angle.cos(), angle.sin()
    places = torch.arange(5).expand(3, 5)

    def run(x):
        y = (x @ w).view(3, 5, 1, 8)
        turned, rest = y[..., :4], y[..., 4:]
        a, b = turned[..., 0::2], turned[..., 1::2]
        c, s = cos[None, :, None], sin[None, :, None]
        turned = torch.stack([a * c - b * s, a * s + b * c], -1).flatten(-2)
        return torch.cat([turned, rest], -1).view(3, 5, 8)

    nodes = [helper.make_node('MatMul', ['x', 'w'], ['h']),
             helper.make_node('Shape', ['x'], ['size'], start=0, end=1),
             helper.make_node('Concat', ['size', 'five'], ['wide'], axis=0),
             helper.make_node('Expand', ['places', 'wide'], ['positions']),
             helper.make_node('RotaryEmbedding', ['h', 'cos', 'sin', 'positions'], ['y'], num_heads=1, interleaved=1, rotary_embedding_dim=4)]
    by_hand(name, nodes, run, [numbers_of(3, 5, 8)], {'w': w}, {'cos': cos, 'sin': sin, 'places': places[:1], 'five': torch.tensor([5])}, 23)


# --- by hand: what PyTorch writes rarely ------------------------------------------------------------------------------

def by_hand(name, nodes, run, inputs, parameters, constants, opset=18, functions=(), out_shape=None):
    def info(label, x):
        return helper.make_tensor_value_info(label, helper.np_dtype_to_tensor_dtype(x.numpy().dtype), ['batch'] + list(x.shape[1:]))
    y = run(*inputs)
    held = [numpy_helper.from_array(p.detach().numpy(), n) for n, p in parameters.items()]
    for n, c in constants.items():
        nodes = [helper.make_node('Constant', [], [n], value=numpy_helper.from_array(c.numpy(), n))] + nodes
    graph = helper.make_graph(nodes, name, [info('x', inputs[0])], [info('y', y.detach())], held)
    imports = [helper.make_opsetid('', opset)] + ([helper.make_opsetid('own', 1)] if functions else [])
    model = helper.make_model(graph, opset_imports=imports, functions=list(functions), ir_version=10)
    onnx.checker.check_model(model)
    onnx.save(model, os.path.join(folder, name + '.onnx'))
    numbers(name, None, inputs, ['x'], parameters, run)


class Chunks(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(4, 12), nn.Linear(7, 4)

    def forward(self, x):
        a, b, c = self.a(x).chunk(3, dim=1)
        d, e = torch.cat([a * b.sigmoid() + c, a[:, :3]], 1).split([5, 2], dim=1)
        parts = torch.stack([p for p in d.unbind(1)], 1)
        return self.b(torch.cat([parts, e * 2], 1))


@form
def sequences(name):
    export(name, spread(Chunks()), [numbers_of(3, 4)], ['x'])


def loop_body(nodes, name, states, outs):
    ins = [helper.make_tensor_value_info('i', TensorProto.INT64, []), helper.make_tensor_value_info('go', TensorProto.BOOL, [])]
    ins += [helper.make_tensor_value_info(s, TensorProto.FLOAT, None) for s in states]
    made = [helper.make_tensor_value_info('next', TensorProto.BOOL, [])]
    made += [helper.make_tensor_value_info(o, TensorProto.FLOAT, None) for o in outs]
    return helper.make_graph(nodes, name, ins, made)


@form
def loop(name):
    """h = tanh(h·w + i) five times or until i is 2; the sum of all h."""
    w = nn.Parameter(numbers_of(4, 4))

    def run(x):
        h, all = x, []
        for i in range(3):
            h = torch.tanh(h @ w + i)
            all.append(h)
        return torch.stack(all).sum(0)

    body = loop_body([helper.make_node('MatMul', ['h', 'w'], ['p']), helper.make_node('Cast', ['i'], ['f'], to=TensorProto.FLOAT),
                      helper.make_node('Add', ['p', 'f'], ['s']), helper.make_node('Tanh', ['s'], ['h2']),
                      helper.make_node('Less', ['i', 'two'], ['next']), helper.make_node('Identity', ['h2'], ['given'])],
                     'body', ['h'], ['h2', 'given'])
    nodes = [helper.make_node('Loop', ['count', 'yes', 'x'], ['last', 'all'], body=body),
             helper.make_node('ReduceSum', ['all', 'zero'], ['y'], keepdims=0)]
    by_hand(name, nodes, run, [numbers_of(3, 4)], {'w': w},
            {'count': torch.tensor(5), 'yes': torch.tensor(True), 'zero': torch.tensor([0]), 'two': torch.tensor(2)})


@form
def scan(name):
    """A recurrence over the second axis, backwards."""
    w = nn.Parameter(numbers_of(4, 4))

    def run(x):
        h, all = torch.zeros(3, 4), []
        for t in range(4, -1, -1):
            h = torch.tanh(h @ w + x[:, t])
            all.append(h)
        return torch.stack(all, 1)

    body = helper.make_graph([helper.make_node('MatMul', ['h', 'w'], ['p']), helper.make_node('Add', ['p', 'xt'], ['s']),
                              helper.make_node('Tanh', ['s'], ['h2']), helper.make_node('Identity', ['h2'], ['given'])], 'body',
                             [helper.make_tensor_value_info(n, TensorProto.FLOAT, None) for n in ('h', 'xt')],
                             [helper.make_tensor_value_info(n, TensorProto.FLOAT, None) for n in ('h2', 'given')])
    nodes = [helper.make_node('Gather', ['x', 'zero'], ['first'], axis=1), helper.make_node('Sub', ['first', 'first'], ['h0']),
             helper.make_node('Scan', ['h0', 'x'], ['last', 'y'], body=body, num_scan_inputs=1, scan_input_axes=[1],
                              scan_input_directions=[1], scan_output_axes=[1])]
    by_hand(name, nodes, run, [numbers_of(3, 5, 4)], {'w': w}, {'zero': torch.tensor(0)})


@form
def functions(name):
    """A function that calls another, with an attribute handed down and one that is left at its default."""
    w, v = nn.Parameter(numbers_of(4, 4)), nn.Parameter(numbers_of(4, 4))

    def run(x):
        def act(y, slope):
            return F.leaky_relu(y, slope) * 0.5
        return act(act(x @ w, 0.3) @ v, 0.1)

    leak = helper.make_node('LeakyRelu', ['a'], ['l'])
    leak.attribute.add(name='alpha', ref_attr_name='slope', type=onnx.AttributeProto.FLOAT)
    half = helper.make_node('Constant', [], ['half'], value_float=0.5)
    ops = [helper.make_opsetid('', 18)]
    inner = helper.make_function('own', 'Act', ['a'], ['b'], [leak, half, helper.make_node('Mul', ['l', 'half'], ['b'])], ops,
                                 attribute_protos=[helper.make_attribute('slope', 0.1)])
    call = helper.make_node('Act', ['h'], ['out'], domain='own')
    call.attribute.add(name='slope', ref_attr_name='bend', type=onnx.AttributeProto.FLOAT)
    outer = helper.make_function('own', 'Layer', ['a', 'weight'], ['out'], [helper.make_node('MatMul', ['a', 'weight'], ['h']), call],
                                 ops + [helper.make_opsetid('own', 1)], attributes=['bend'])
    nodes = [helper.make_node('Layer', ['x', 'w'], ['h'], domain='own', bend=0.3), helper.make_node('Layer', ['h', 'v'], ['y'], domain='own')]
    by_hand(name, nodes, run, [numbers_of(3, 4)], {'w': w, 'v': v}, {}, functions=[inner, outer])


# --- convolutions, types ------------------------------------------------------------------------------------------------

@form
def conv_transpose(name):
    layers = nn.Sequential(nn.Conv2d(1, 4, 3, 2, 1), nn.ReLU(), nn.ConvTranspose2d(4, 1, 3, 2, 1, 1))
    export(name, spread(layers), [numbers_of(3, 1, 6, 6)], ['x'])


@form
def conv_transpose_groups(name):
    layers = nn.Sequential(nn.ConvTranspose2d(4, 6, 4, 2, 1, groups=2), nn.ReLU(), nn.ConvTranspose2d(6, 1, 2, 2))
    export(name, spread(layers), [numbers_of(3, 4, 3, 3)], ['x'])


@form
def conv_transpose_line(name):
    export(name, spread(nn.Sequential(nn.ConvTranspose1d(4, 1, 4, 2, 1))), [numbers_of(3, 4, 5)], ['x'])


def export_typed(name, module, inputs, dtype):
    """The file is in another type; the numbers are those of its weights in float32."""
    module = spread(module).to(dtype)
    batch = torch.export.Dim('batch')
    program = torch.onnx.export(module, tuple(x.to(dtype) for x in inputs), dynamo=True, verbose=False, optimize=False, input_names=['x'],
                                dynamic_shapes=tuple({0: batch} for _ in inputs))
    onnx.save(strip(program.model_proto), os.path.join(folder, name + '.onnx'))
    numbers(name, module.float(), inputs, ['x'])


def small():
    return nn.Sequential(nn.Linear(6, 8), nn.LayerNorm(8), nn.GELU(), nn.Linear(8, 3))


@form
def float16(name):
    export_typed(name, small(), [numbers_of(3, 6)], torch.float16)


@form
def bfloat16(name):
    export_typed(name, small(), [numbers_of(3, 6)], torch.bfloat16)


@form
def float64(name):
    export_typed(name, small(), [numbers_of(3, 6)], torch.float64)


class Autocast(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = small()

    def forward(self, x):
        with torch.autocast('cpu', torch.bfloat16):
            return self.inner(x).float()


@form
def autocast(name):
    module, x = spread(Autocast()), numbers_of(3, 6)
    program = torch.onnx.export(module, (x,), dynamo=True, verbose=False, optimize=False, input_names=['x'],
                                dynamic_shapes=({0: torch.export.Dim('batch')},))
    onnx.save(strip(program.model_proto), os.path.join(folder, name + '.onnx'))
    numbers(name, None, [x], ['x'], dict(module.named_parameters()), module.inner)


if __name__ == '__main__':
    for chosen in sys.argv[1:] or forms:
        torch.manual_seed(0)
        forms[chosen](chosen)
        print(chosen, os.path.getsize(os.path.join(folder, chosen + '.onnx')), os.path.getsize(os.path.join(folder, chosen + '.safetensors')))
