"""The zoo's networks in PyTorch: the same layers under the same names, so that weights carry over by name."""
import math

import torch
from torch import nn
from torch.nn import functional as F


def conv_bn(seq, name, i, o, k, stride=1, pad=0, groups=1):
    seq.add_module("conv" + name, nn.Conv2d(i, o, k, stride, pad, groups=groups, bias=False))
    seq.add_module("bn" + name, nn.BatchNorm2d(o))


class Block(nn.Module):
    def __init__(self, i, width, stride, expansion):
        super().__init__()
        self.expansion = expansion
        if expansion == 1:
            conv_bn(self, "1", i, width, 3, stride, 1)
            conv_bn(self, "2", width, width, 3, 1, 1)
        else:
            conv_bn(self, "1", i, width, 1)
            conv_bn(self, "2", width, width, 3, stride, 1)
            conv_bn(self, "3", width, width * expansion, 1)
        self.downsample = None
        if stride != 1 or i != width * expansion:
            self.downsample = nn.Sequential(nn.Conv2d(i, width * expansion, 1, stride, bias=False), nn.BatchNorm2d(width * expansion))

    def forward(self, x):
        y = F.relu(self.bn1(self.conv1(x)), inplace=True)
        y = self.bn2(self.conv2(y))
        if self.expansion > 1:
            y = self.bn3(self.conv3(F.relu(y, inplace=True)))
        if self.downsample is not None:
            x = self.downsample(x)
        return F.relu(y + x, inplace=True)


class ResNet(nn.Module):
    def __init__(self, blocks, expansion, classes=1000):
        super().__init__()
        conv_bn(self, "1", 3, 64, 7, 2, 3)
        i = 64
        for stage, count in enumerate(blocks):
            layers = []
            for b in range(count):
                layers.append(Block(i, 64 << stage, 2 if stage and not b else 1, expansion))
                i = (64 << stage) * expansion
            setattr(self, "layer%d" % (stage + 1), nn.Sequential(*layers))
        self.fc = nn.Linear(i, classes)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.bn1(self.conv1(x)), inplace=True), 3, 2, 1)
        for stage in range(1, 5):
            x = getattr(self, "layer%d" % stage)(x)
        return self.fc(x.mean((2, 3)))


def mobile_layer(i, o, k, stride=1, groups=1):
    return nn.Sequential(nn.Conv2d(i, o, k, stride, k // 2, groups=groups, bias=False), nn.BatchNorm2d(o), nn.ReLU6(inplace=True))


class Inverted(nn.Module):
    def __init__(self, i, o, stride, expand):
        super().__init__()
        hidden = i * expand
        layers = [mobile_layer(i, hidden, 1)] if expand != 1 else []
        layers += [mobile_layer(hidden, hidden, 3, stride, hidden), nn.Conv2d(hidden, o, 1, bias=False), nn.BatchNorm2d(o)]
        self.conv = nn.Sequential(*layers)
        self.skip = stride == 1 and i == o

    def forward(self, x):
        return x + self.conv(x) if self.skip else self.conv(x)


class MobileNetV2(nn.Module):
    def __init__(self, classes=1000):
        super().__init__()
        features, i = [mobile_layer(3, 32, 3, 2)], 32
        for expand, o, count, stride in ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)):
            for k in range(count):
                features.append(Inverted(i, o, 1 if k else stride, expand))
                i = o
        features.append(mobile_layer(i, 1280, 1))
        self.features = nn.Sequential(*features)
        self.classifier = nn.Sequential(nn.Identity(), nn.Linear(1280, classes))  # no dropout, as in the zoo

    def forward(self, x):
        return self.classifier(self.features(x).mean((2, 3)))


class Double(nn.Module):
    def __init__(self, i, o):
        super().__init__()
        conv_bn(self, "1", i, o, 3, 1, 1)
        conv_bn(self, "2", o, o, 3, 1, 1)

    def forward(self, x):
        x = F.relu(self.bn1(self.conv1(x)), inplace=True)
        return F.relu(self.bn2(self.conv2(x)), inplace=True)


class Up(Double):
    def __init__(self, i, o):
        super().__init__(i, o)
        self.up = nn.ConvTranspose2d(i, o, 2, 2)

    def forward(self, x, skip):
        return super().forward(torch.cat([skip, self.up(x)], 1))


class UNet(nn.Module):
    def __init__(self, classes=2, width=64):
        super().__init__()
        i = 3
        for k in range(4):
            setattr(self, "down%d" % (k + 1), Double(i, width << k))
            i = width << k
        self.bottom = Double(i, width << 4)
        for k in range(4):
            setattr(self, "up%d" % (k + 1), Up(width << (k + 1), width << k))
        self.head = nn.Conv2d(width, classes, 1)

    def forward(self, x):
        skips = []
        for k in range(1, 5):
            skips.append(getattr(self, "down%d" % k)(x))
            x = F.max_pool2d(skips[-1], 2)
        x = self.bottom(x)
        for k in range(4, 0, -1):
            x = getattr(self, "up%d" % k)(x, skips[k - 1])
        return self.head(x)


class Projection(nn.Module):
    """A linear layer with its weight stored (in, out), as GPT-2's."""

    def __init__(self, i, o):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(i, o).normal_(0, 0.02))
        self.bias = nn.Parameter(torch.zeros(o))

    def forward(self, x):
        return torch.addmm(self.bias, x.reshape(-1, x.shape[-1]), self.weight).view(*x.shape[:-1], -1)


class Attention(nn.Module):
    def __init__(self, width, heads, causal):
        super().__init__()
        self.qkv, self.proj = Projection(width, 3 * width), Projection(width, width)
        self.heads, self.causal = heads, causal

    def forward(self, x):
        n, t, c = x.shape
        q, k, v = (y.view(n, t, self.heads, c // self.heads).transpose(1, 2) for y in self.qkv(x).split(c, 2))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=self.causal)
        return self.proj(y.transpose(1, 2).reshape(n, t, c))


class Layer(nn.Module):
    def __init__(self, width, heads, causal, epsilon, approximate):
        super().__init__()
        self.ln_1, self.ln_2 = nn.LayerNorm(width, epsilon), nn.LayerNorm(width, epsilon)
        self.attn = Attention(width, heads, causal)
        self.mlp = nn.Module()
        self.mlp.fc, self.mlp.proj = Projection(width, 4 * width), Projection(4 * width, width)
        self.approximate = approximate

    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp.proj(F.gelu(self.mlp.fc(self.ln_2(x)), approximate=self.approximate))


class GPT2(nn.Module):
    def __init__(self, vocabulary=50257, context=1024, width=768, layers=12, heads=12):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(vocabulary, width), nn.Embedding(context, width)
        self.h = nn.ModuleList(Layer(width, heads, True, 1e-5, "tanh") for _ in range(layers))
        self.ln_f = nn.LayerNorm(width, 1e-5)

    def forward(self, tokens):
        x = self.wte(tokens) + self.wpe.weight[: tokens.shape[1]]
        for layer in self.h:
            x = layer(x)
        return self.ln_f(x) @ self.wte.weight.t()


class LeNet(nn.Module):
    def __init__(self, width=32, classes=10):
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(1, width, 5, padding=2), nn.Conv2d(width, 2 * width, 5, padding=2)
        self.fc1, self.fc2 = nn.Linear(2 * width * 49, 8 * width), nn.Linear(8 * width, classes)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        return self.fc2(F.relu(self.fc1(x.flatten(1))))


class PatchTransformer(nn.Module):
    """ViT: patches, a class token, layers, a head on the class token."""

    def __init__(self, size, patch, width, layers, heads, classes):
        super().__init__()
        self.patch_embed = nn.Conv2d(3, width, patch, patch)
        self.cls, self.pos = nn.Module(), nn.Module()
        self.cls.token = nn.Parameter(torch.empty(1, 1, width).normal_(0, 0.02))
        self.pos.embed = nn.Parameter(torch.empty(1, (size // patch) ** 2 + 1, width).normal_(0, 0.02))
        self.blocks = nn.ModuleList(Layer(width, heads, False, 1e-6, "none") for _ in range(layers))
        self.norm = nn.LayerNorm(width, 1e-6)
        self.head = nn.Linear(width, classes)

    def forward(self, x):
        x = self.patch_embed(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.cls.token.expand(x.shape[0], -1, -1), x], 1) + self.pos.embed
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x)[:, 0])


class Recurrent(nn.Module):
    """Embedding, layers of LSTM or GRU, a projection to the vocabulary; (N, T) to (N, T, vocabulary)."""

    def __init__(self, kind="lstm", vocabulary=256, width=256, layers=2):
        super().__init__()
        self.kind = kind
        self.embedding = nn.Embedding(vocabulary, width)
        setattr(self, kind, {"lstm": nn.LSTM, "gru": nn.GRU}[kind](width, width, layers, batch_first=True))
        self.head = Projection(width, vocabulary)

    def forward(self, tokens):
        return self.head(getattr(self, self.kind)(self.embedding(tokens))[0])

    def onnx_tensors(self, tensors):
        """Between the two conventions: ONNX has one array for both biases, and the gates in the orders i, o, f, c and z, r, h."""
        layers, kind = getattr(self, self.kind), self.kind
        width, order = layers.hidden_size, {"lstm": (0, 2, 3, 1), "gru": (1, 0, 2)}[kind]
        rows = len(order) * width
        gates = lambda t: torch.cat([t[g * width:(g + 1) * width] for g in order])  # noqa: E731
        named = {k: v for k, v in tensors.items() if not k.startswith(kind + ".")}
        for i in range(layers.num_layers):
            of = lambda what: tensors["%s.%d.%s" % (kind, i, what)][0]  # noqa: E731
            for k, part in enumerate(("ih", "hh")):
                named["%s.weight_%s_l%d" % (kind, part, i)] = gates(of("weight_" + part))
                named["%s.bias_%s_l%d" % (kind, part, i)] = gates(of("bias")[k * rows:(k + 1) * rows])
        return named


class Encoder(nn.Module):
    """A layer of BERT: attention that leaves padding out, norms after the sums."""

    def __init__(self, width, heads, hidden):
        super().__init__()
        self.query, self.key, self.value, self.out = (nn.Linear(width, width) for _ in range(4))
        self.norm_1, self.norm_2 = nn.LayerNorm(width, 1e-12), nn.LayerNorm(width, 1e-12)
        self.up, self.down = nn.Linear(width, hidden), nn.Linear(hidden, width)
        self.heads = heads

    def forward(self, x, mask):
        n, t, c = x.shape
        q, k, v = (part(x).view(n, t, self.heads, c // self.heads).transpose(1, 2) for part in (self.query, self.key, self.value))
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        x = self.norm_1(self.out(y.transpose(1, 2).reshape(n, t, c)) + x)
        return self.norm_2(self.down(F.gelu(self.up(x))) + x)


class Bert(nn.Module):
    """BERT that classifies text, as the zoo has it."""

    def __init__(self, vocabulary=30522, width=512, layers=4, heads=8, hidden=2048, classes=2):
        super().__init__()
        self.words, self.positions, self.segments = nn.Embedding(vocabulary, width), nn.Embedding(512, width), nn.Embedding(2, width)
        self.norm = nn.LayerNorm(width, 1e-12)
        self.layers = nn.ModuleList(Encoder(width, heads, hidden) for _ in range(layers))
        self.pooler, self.classifier = nn.Linear(width, width), nn.Linear(width, classes)

    def forward(self, tokens):
        mask = (tokens != 0)[:, None, None]
        x = self.norm(self.words(tokens) + self.segments.weight[0] + self.positions.weight[: tokens.shape[1]])
        for layer in self.layers:
            x = layer(x, mask)
        return self.classifier(torch.tanh(self.pooler(x[:, 0])))


class Dense(nn.Module):
    def __init__(self, i, growth=32):
        super().__init__()
        self.norm1, self.conv1 = nn.BatchNorm2d(i), nn.Conv2d(i, 4 * growth, 1, bias=False)
        self.norm2, self.conv2 = nn.BatchNorm2d(4 * growth), nn.Conv2d(4 * growth, growth, 3, padding=1, bias=False)

    def forward(self, parts):
        y = self.conv1(F.relu(self.norm1(torch.cat(parts, 1))))
        return self.conv2(F.relu(self.norm2(y)))


class DenseNet(nn.Module):
    """DenseNet-121 by its defaults; what the zoo does not have is exported."""

    def __init__(self, blocks=(6, 12, 24, 16), growth=32, classes=1000):
        super().__init__()
        channels = 2 * growth
        self.stem, self.norm0 = nn.Conv2d(3, channels, 7, 2, 3, bias=False), nn.BatchNorm2d(channels)
        self.blocks, self.transitions = nn.ModuleList(), nn.ModuleList()
        for b, count in enumerate(blocks):
            self.blocks.append(nn.ModuleList(Dense(channels + k * growth, growth) for k in range(count)))
            channels += count * growth
            if b + 1 < len(blocks):
                self.transitions.append(nn.Sequential(nn.BatchNorm2d(channels), nn.ReLU(), nn.Conv2d(channels, channels // 2, 1, bias=False), nn.AvgPool2d(2)))
                channels //= 2
        self.norm5, self.classifier = nn.BatchNorm2d(channels), nn.Linear(channels, classes)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.norm0(self.stem(x))), 3, 2, 1)
        for b, block in enumerate(self.blocks):
            parts = [x]
            for layer in block:
                parts.append(layer(parts))
            x = torch.cat(parts, 1)
            if b < len(self.transitions):
                x = self.transitions[b](x)
        return self.classifier(F.relu(self.norm5(x)).mean((2, 3)))


MAKERS = {
    "lenet": LeNet,
    "resnet18": lambda: ResNet((2, 2, 2, 2), 1),
    "resnet50": lambda: ResNet((3, 4, 6, 3), 4),
    "mobilenet_v2": MobileNetV2,
    "unet": UNet,
    "gpt2": GPT2,
    "gpt2-tiny": lambda: GPT2(256, 128, 128, 4, 4),
    "vit-tiny": lambda: PatchTransformer(32, 4, 192, 6, 3, 10),
    "vit-b16": lambda: PatchTransformer(224, 16, 768, 12, 12, 1000),
    "lstm": Recurrent,
    "gru": lambda: Recurrent("gru"),
    "bert-small": Bert,
    "densenet121": DenseNet,
}

# One sample's input, and how many classes (or tokens) there are.
SHAPES = {name: (3, 224, 224) for name in ("resnet18", "resnet50", "mobilenet_v2", "vit-b16", "densenet121")}
SHAPES.update({"lenet": (1, 28, 28), "unet": (3, 256, 256), "vit-tiny": (3, 32, 32), "gpt2": (256,), "gpt2-tiny": (128,), "lstm": (64,), "gru": (64,), "bert-small": (128,)})
CLASSES = {name: 1000 for name in SHAPES}
CLASSES.update({"lenet": 10, "unet": 2, "vit-tiny": 10, "gpt2": 50257, "gpt2-tiny": 256, "lstm": 256, "gru": 256, "bert-small": 2})
VOCABULARY = {"bert-small": 30522}  # of networks whose classes are not tokens



def blocks(model):
    """The repeated parts of a network, in order: what one would hand to torch.utils.checkpoint."""
    return [m for m in model.modules() if isinstance(m, (Block, Inverted, Double, Layer))]


def load(name, onnx_path):
    """The PyTorch twin of a zoo model, with the weights of the ONNX file."""
    import onnx
    from onnx import numpy_helper

    weights = {t.name: torch.from_numpy(numpy_helper.to_array(t).copy()) for t in onnx.load(onnx_path).graph.initializer}
    with torch.device("meta"):
        model = UNet(width=len(weights["down1.conv1.weight"])) if name == "unet" else MAKERS[name]()
    if hasattr(model, "onnx_tensors"):
        weights = model.onnx_tensors(weights)
    expected = [k for k in model.state_dict() if not k.endswith("num_batches_tracked")]
    model.load_state_dict({k: weights[k] for k in expected}, strict=False, assign=True)
    for module in model.modules():
        if isinstance(module, nn.BatchNorm2d):
            module.num_batches_tracked = torch.zeros((), dtype=torch.long)
    return model.eval()
