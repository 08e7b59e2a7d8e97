"""PyTorch modules: ten of them trained by both, exports, memory errors for real."""

import copy
import os
import subprocess
import sys
import textwrap

import numpy as np
import pytest

pytestmark = pytest.mark.frameworks
torch = pytest.importorskip("torch", reason="PyTorch is not installed")
pytest.importorskip("onnxscript", reason="PyTorch's exporter needs onnxscript")

import plimsoll  # noqa: E402
from plimsoll import _native  # noqa: E402
from torch import nn  # noqa: E402


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.one, self.norm = nn.Conv2d(width, width, 3, padding=1, bias=False), nn.BatchNorm2d(width)
        self.two, self.norm2 = nn.Conv2d(width, width, 3, padding=1, bias=False), nn.BatchNorm2d(width)

    def forward(self, x):
        return torch.relu(x + self.norm2(self.two(torch.relu(self.norm(self.one(x))))))


class ResNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem, self.blocks = nn.Conv2d(3, 8, 3, padding=1), nn.Sequential(Block(8), Block(8))
        self.head = nn.Linear(8, 10)

    def forward(self, x):
        return self.head(self.blocks(self.stem(x)).mean((2, 3)))


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.down, self.bottom = nn.Conv2d(3, 8, 3, padding=1), nn.Conv2d(8, 16, 3, padding=1)
        self.up, self.head = nn.ConvTranspose2d(16, 8, 2, stride=2), nn.Conv2d(16, 5, 1)

    def forward(self, x):
        high = torch.relu(self.down(x))
        low = torch.relu(self.bottom(nn.functional.max_pool2d(high, 2)))
        return self.head(torch.cat([high, self.up(low)], 1))


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.place = nn.Embedding(50, 16), nn.Parameter(torch.randn(12, 16) * 0.1)
        self.qkv, self.out = nn.Linear(16, 48), nn.Linear(16, 16)
        self.norm, self.norm2 = nn.LayerNorm(16), nn.LayerNorm(16)
        self.mlp = nn.Sequential(nn.Linear(16, 32), nn.GELU(), nn.Linear(32, 16))
        self.head = nn.Linear(16, 50, bias=False)

    def forward(self, tokens):
        x = self.embed(tokens) + self.place
        q, k, v = (t.reshape(t.shape[0], 12, 2, 8).transpose(1, 2) for t in self.qkv(self.norm(x)).chunk(3, -1))
        mixed = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(mixed.transpose(1, 2).reshape(x.shape))
        return self.head(x + self.mlp(self.norm2(x)))


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.lstm, self.head = nn.Embedding(50, 8), nn.LSTM(8, 12, batch_first=True), nn.Linear(12, 10)

    def forward(self, tokens):
        out, _ = self.lstm(self.embed(tokens))
        return self.head(out[:, -1])


class TwoInputs(nn.Module):
    def __init__(self):
        super().__init__()
        self.left, self.right, self.head = nn.Linear(6, 8), nn.Linear(4, 8), nn.Linear(8, 3)

    def forward(self, left, right):
        return self.head(torch.tanh(self.left(left)) * torch.sigmoid(self.right(right)))


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.head = nn.Embedding(30, 16), nn.Linear(16, 30, bias=False)
        self.head.weight = self.embed.weight

    def forward(self, tokens):
        return self.head(torch.tanh(self.embed(tokens)))


def images(*shape):
    return torch.randn(8, *shape)


def classes(count, *shape):
    return torch.randint(0, count, (8,) + shape)


MODULES = {
    "linear": (lambda: nn.Linear(12, 10), lambda: (images(12), classes(10)), nn.CrossEntropyLoss),
    "mlp": (lambda: nn.Sequential(nn.Linear(12, 32), nn.ReLU(), nn.Linear(32, 10)), lambda: (images(12), classes(10)),
            nn.CrossEntropyLoss),
    "lenet": (lambda: nn.Sequential(nn.Conv2d(1, 6, 5, padding=2), nn.Tanh(), nn.AvgPool2d(2), nn.Conv2d(6, 8, 5),
                                    nn.Tanh(), nn.AvgPool2d(2), nn.Flatten(), nn.Linear(8 * 5 * 5, 10)),
              lambda: (images(1, 28, 28), classes(10)), nn.CrossEntropyLoss),
    "resnet": (ResNet, lambda: (images(3, 16, 16), classes(10)), nn.CrossEntropyLoss),
    "depthwise": (lambda: nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.GroupNorm(2, 8), nn.Hardswish(),
                                        nn.Conv2d(8, 8, 3, padding=1, groups=8), nn.SiLU(), nn.AdaptiveAvgPool2d(1),
                                        nn.Flatten(), nn.Linear(8, 10)),
                  lambda: (images(3, 16, 16), classes(10)), nn.CrossEntropyLoss),
    "unet": (UNet, lambda: (images(3, 16, 16), classes(5, 16, 16)), nn.CrossEntropyLoss),
    "attention": (Attention, lambda: (torch.randint(0, 50, (8, 12)), classes(50, 12)), nn.CrossEntropyLoss),
    "lstm": (Recurrent, lambda: (torch.randint(0, 50, (8, 7)), classes(10)), nn.CrossEntropyLoss),
    "two_inputs": (TwoInputs, lambda: (images(6), images(4), images(3)), nn.MSELoss),
    "tied": (Tied, lambda: (torch.randint(0, 30, (8, 5)), classes(30, 5)), nn.CrossEntropyLoss),
}
OPTIMIZERS = {"resnet": lambda p: torch.optim.SGD(p, 0.05, momentum=0.9), "lstm": lambda p: torch.optim.Adam(p, 1e-2),
              "tied": lambda p: torch.optim.SGD(p, 0.5), "two_inputs": lambda p: torch.optim.RMSprop(p, 1e-3)}


def torch_steps(module, batches, loss, optimizer):
    module.train()
    losses = []
    for *inputs, target in batches:
        optimizer.zero_grad()
        output = module(*inputs)
        if output.dim() == 3 and not target.is_floating_point():
            output = output.transpose(1, 2)
        value = loss(output, target)
        value.backward()
        optimizer.step()
        losses.append(value.item())
    return losses


@pytest.mark.parametrize("name", MODULES)
def test_three_steps_are_those_of_pytorch_and_the_weights_come_back(name):
    torch.manual_seed(len(name))
    make, data, loss = MODULES[name]
    module = make()
    theirs = copy.deepcopy(module)
    batches = [data() for _ in range(3)]
    choose = OPTIMIZERS.get(name, lambda p: torch.optim.AdamW(p, 1e-3))
    expected = torch_steps(theirs, batches, loss(), choose(theirs.parameters()))
    trainer = plimsoll.Trainer(module, loss=loss(), optimizer=choose(module.parameters()), threads=2)
    seen = []

    class Losses:
        def on_train_batch_end(self, _batch, logs):
            seen.append(logs["loss"])

        def on_epoch_end(self, _epoch, _logs):
            pass
    trainer.fit(batches, epochs=1, callbacks=Losses(), verbose=0)
    np.testing.assert_allclose(seen, expected, rtol=2e-5)
    module.load_state_dict(trainer.state_dict())  # strict: every name, no other
    for (key, mine), (other, right) in zip(module.state_dict().items(), theirs.state_dict().items()):
        assert key == other
        if not mine.is_floating_point():
            continue
        scale = float(right.abs().max()) + 1e-3
        assert float((mine - right).abs().max()) < 2e-3 * scale, key
    if name == "tied":
        assert module.head.weight.data_ptr() == module.embed.weight.data_ptr()


def test_a_sample_of_one_leaves_the_batch_open():
    module = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.Flatten(), nn.Linear(4 * 36, 2))
    trainer = plimsoll.Trainer(module, sample=torch.randn(1, 3, 8, 8))
    assert trainer.plan(batch=16, page=False).chosen["micro_batch"] == 16
    trainer.fit((np.random.randn(20, 3, 8, 8).astype("f4"), np.arange(20) % 2), batch=8, verbose=0)
    assert trainer.updates == 3 and int(module[1].num_batches_tracked) == 3


def test_the_likelihood_of_log_probabilities_is_cross_entropy_and_of_scores_refused():
    x, y = torch.randn(32, 4), torch.randint(0, 3, (32,))
    body = nn.Linear(4, 3)
    module, other = nn.Sequential(body, nn.LogSoftmax(-1)), nn.Sequential(nn.Linear(4, 3))
    other[0].load_state_dict(body.state_dict())
    for one, loss in ((module, nn.NLLLoss()), (other, nn.CrossEntropyLoss())):
        plimsoll.Trainer(one, loss=loss, optimizer="sgd", learning_rate=0.1).fit((x, y), batch=8, shuffle=False, verbose=0)
    assert torch.allclose(body.weight, other[0].weight, atol=1e-6)
    with pytest.raises(ValueError, match="log_softmax"):
        plimsoll.Trainer(other, loss=nn.NLLLoss()).fit((x, y), verbose=0)
    with pytest.raises(ValueError, match="pos_weight"):
        plimsoll.Trainer(other, loss=nn.BCEWithLogitsLoss(pos_weight=torch.ones(3)))


def test_parts_that_were_set_to_evaluation_stay_so():
    module = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Dropout(0.5), nn.Linear(8, 2))
    module[1].eval()
    before = module[1].running_mean.clone()
    plimsoll.Trainer(module).fit((torch.randn(16, 4), torch.randint(0, 2, (16,))), batch=8, verbose=0)
    assert module.training and not module[1].training and module[2].training
    assert torch.equal(before, module[1].running_mean)


def test_parameters_without_gradients_are_frozen():
    module = nn.Sequential(nn.Linear(4, 8), nn.Linear(8, 2))
    module[0].weight.requires_grad_(False)
    before, bias = module[0].weight.clone(), module[0].bias.clone()
    plimsoll.Trainer(module).fit((torch.randn(16, 4), torch.randint(0, 2, (16,))), batch=8, verbose=0)
    assert torch.equal(before, module[0].weight) and not torch.equal(bias, module[0].bias)


def test_predictions_are_those_of_the_module_in_evaluation_mode():
    torch.manual_seed(1)
    module = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Dropout(0.5), nn.Linear(8, 2))
    trainer = plimsoll.Trainer(module, batch=8)
    x = torch.randn(20, 4)
    trainer.fit((x, torch.randint(0, 2, (20,))), epochs=2, verbose=0)
    module.eval()
    np.testing.assert_allclose(trainer.predict(x), module(x).detach().numpy(), atol=1e-5)


def test_a_data_loader_with_workers_feeds_it():
    data = torch.utils.data.TensorDataset(torch.randn(50, 4), torch.randint(0, 3, (50,)))
    module = nn.Linear(4, 3)
    trainer = plimsoll.Trainer(module, optimizer="sgd")
    loader = torch.utils.data.DataLoader(data, batch_size=16, num_workers=2)
    history = trainer.fit(loader, epochs=2, validation=loader, verbose=0)
    assert trainer.updates == 8 and len(history.history["val_loss"]) == 2
    trainer.fit(data, epochs=1, batch=16, verbose=0)  # a Dataset, in batches of its own
    assert trainer.updates == 12


class Seen:
    """The extension's trainer; keeps where the arrays are that a step gets."""

    def __init__(self, native):
        self.native, self.addresses = native, []

    def __getattr__(self, name):
        return getattr(self.native, name)

    def step(self, count, arrays):
        self.addresses.append([array.__array_interface__["data"][0] for array in arrays])
        return self.native.step(count, arrays)


def test_a_step_reads_the_memory_that_a_worker_of_a_loader_shares():
    data = torch.utils.data.TensorDataset(torch.randn(48, 4), torch.randint(0, 3, (48,)))
    trainer = plimsoll.Trainer(nn.Linear(4, 3), optimizer="sgd")
    loader = torch.utils.data.DataLoader(data, batch_size=16, num_workers=2)
    trainer.fit(loader, verbose=0)
    given = []

    class Watched:
        def __iter__(self):
            for batch in loader:
                assert all(tensor.is_shared() for tensor in batch)
                given.append([tensor.data_ptr() for tensor in batch])
                yield batch

    trainer._native = seen = Seen(trainer._native)
    trainer.fit(Watched(), verbose=0)
    trainer._native = seen.native
    assert len(given) == 3 and seen.addresses == given


class Language(nn.Module):
    """As models of transformers are called: by names, with a dictionary back."""

    def __init__(self):
        super().__init__()
        self.embed, self.head = nn.Embedding(50, 8), nn.Linear(8, 5)

    def forward(self, input_ids, attention_mask=None, labels=None):
        hidden = self.embed(input_ids) * attention_mask[..., None].to(torch.float32)
        logits = self.head(hidden.mean(1))
        made = {"hidden": hidden, "logits": logits}
        return made if labels is None else dict(made, loss=nn.functional.cross_entropy(logits, labels))


@pytest.mark.parametrize("loss", ["cross_entropy", "model"])
def test_batches_by_name_and_outputs_by_name(loss):
    torch.manual_seed(0)
    data = [{"input_ids": torch.randint(0, 50, (8, 6)), "attention_mask": torch.ones(8, 6, dtype=torch.long),
             "labels": torch.randint(0, 5, (8,))} for _ in range(3)]
    module = Language()
    theirs = copy.deepcopy(module)
    optimizer = torch.optim.SGD(theirs.parameters(), 0.1)
    for batch in data:
        optimizer.zero_grad()
        theirs(**batch)["loss"].backward()
        optimizer.step()
    plimsoll.Trainer(module, loss=loss, optimizer="sgd", learning_rate=0.1).fit(data, verbose=0)
    for mine, right in zip(module.parameters(), theirs.parameters()):
        torch.testing.assert_close(mine, right, atol=1e-5, rtol=1e-4)


def test_what_cannot_be_exported_is_named():
    class Data(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = nn.Linear(4, 4)

        def forward(self, x):
            if x.sum() > 0:  # decides by contents
                return self.fc(x)
            return x
    module = nn.Sequential(nn.Linear(4, 4), Data())
    with pytest.raises(plimsoll.ExportError) as raised:
        plimsoll.Trainer(module).fit((torch.randn(8, 4), torch.randint(0, 4, (8,))), verbose=0)
    message = str(raised.value)
    assert "Data" in message and "test_torch.py" in message and "if x.sum() > 0" in message


class Crowded(nn.Module):
    """A buffer with the name that the exporter gives to a result; a product whose batch the exporter takes for a constant."""

    def __init__(self):
        super().__init__()
        self.register_buffer("mean", torch.full((8,), 0.5))
        self.gate, self.mix, self.head = nn.Linear(8, 3), nn.Parameter(torch.randn(3, 8, 8) * 0.3), nn.Linear(8, 2)

    def forward(self, x):
        x = x - self.mean - x.mean(1, keepdim=True)
        return self.head(torch.einsum("be,bi,eio->bo", torch.softmax(self.gate(x), -1), x, self.mix))


def test_what_the_exporter_stumbles_over_trains():
    torch.manual_seed(0)
    module = Crowded()
    theirs, batches = copy.deepcopy(module), [(torch.randn(6, 8), torch.randn(6, 2)) for _ in range(3)]
    torch_steps(theirs, batches, nn.MSELoss(), torch.optim.SGD(theirs.parameters(), 0.1))
    plimsoll.Trainer(module, loss="mse", optimizer="sgd", learning_rate=0.1).fit(batches, verbose=0)
    for mine, right in zip(module.parameters(), theirs.parameters()):
        torch.testing.assert_close(mine, right, atol=1e-5, rtol=1e-4)
    assert torch.equal(module.mean, theirs.mean)


def test_a_module_without_contents_or_elsewhere_is_refused():
    with pytest.raises(ValueError, match="meta"):
        plimsoll.Trainer(nn.Linear(3, 3, device="meta"))

    class OnCard(nn.Linear):  # no card is here: its parameters only say so
        def named_parameters(self, *_args, **_options):
            class Parameter:
                device = torch.device("cuda", 0)
            return [("weight", Parameter())]
    with pytest.raises(ValueError, match=r"cuda:0.*model\.cpu\(\)"):
        plimsoll.Trainer(OnCard(3, 3))
    with pytest.raises(ValueError, match="meta"):
        plimsoll.Trainer(nn.Linear(3, 3)).fit((torch.empty(8, 3, device="meta"), torch.zeros(8, dtype=torch.long)))
    with pytest.raises(TypeError, match="dense"):
        plimsoll.Trainer(nn.Linear(3, 3)).fit((torch.eye(3).to_sparse(), torch.zeros(3, dtype=torch.long)))


@pytest.mark.parametrize("loss,words", [(nn.CrossEntropyLoss(reduction="sum"), "reduction"),
                                        (nn.KLDivLoss(), "KLDivLoss"), ("perceptual", "perceptual")])
def test_a_loss_that_is_not_known_is_refused(loss, words):
    with pytest.raises(ValueError, match=words):
        plimsoll.Trainer(nn.Linear(3, 3), loss=loss)


def test_an_optimizer_that_is_not_known_is_refused():
    module = nn.Linear(3, 3)
    with pytest.raises(ValueError, match="Rprop"):
        plimsoll.Trainer(module, optimizer=torch.optim.Rprop(module.parameters()))
    with pytest.raises(ValueError, match="groups"):
        plimsoll.Trainer(module, optimizer=torch.optim.SGD([{"params": [module.weight], "lr": 1.0},
                                                            {"params": [module.bias]}], lr=0.1))


def test_parameters_that_the_optimizer_does_not_have_are_frozen():
    torch.manual_seed(0)
    module = nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 3))
    theirs, batches = copy.deepcopy(module), [(images(6), classes(3)) for _ in range(3)]
    torch_steps(theirs, batches, nn.CrossEntropyLoss(), torch.optim.SGD(theirs[2].parameters(), 0.5))
    plimsoll.Trainer(module, optimizer=torch.optim.SGD(module[2].parameters(), 0.5)).fit(batches, verbose=0)
    for mine, right in zip(module.parameters(), theirs.parameters()):
        torch.testing.assert_close(mine, right, atol=1e-6, rtol=1e-4)
    with pytest.raises(ValueError, match="none of the parameters"):
        plimsoll.Trainer(module, optimizer=torch.optim.SGD(theirs.parameters(), 0.5))


@pytest.mark.parametrize("make", [lambda p: torch.optim.Adam(p, 1e-2, weight_decay=0.1, decoupled_weight_decay=True),
                                  lambda p: torch.optim.Adafactor(p, 1e-2, d=1.5), lambda p: torch.optim.Adagrad(p, 1e-2)])
def test_settings_of_optimizers_are_followed(make):
    torch.manual_seed(0)
    module = nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 3))
    theirs, batches = copy.deepcopy(module), [(images(6), classes(3)) for _ in range(3)]
    torch_steps(theirs, batches, nn.CrossEntropyLoss(), make(theirs.parameters()))
    plimsoll.Trainer(module, optimizer=make(module.parameters())).fit(batches, verbose=0)
    for mine, right in zip(module.parameters(), theirs.parameters()):
        torch.testing.assert_close(mine, right, atol=1e-5, rtol=1e-4)
    with pytest.raises(ValueError, match="initial_accumulator_value"):
        plimsoll.Trainer(module, optimizer=torch.optim.Adagrad(module.parameters(), initial_accumulator_value=0.1))


@pytest.mark.parametrize("wrap", [torch.compile, nn.DataParallel])
def test_a_wrapped_module_is_trained_inside(wrap):
    module = nn.Linear(4, 3)
    wrapped, before = wrap(module), module.weight.clone()
    trainer = plimsoll.Trainer(wrapped, optimizer="sgd", learning_rate=0.5)
    trainer.fit((images(4), classes(3)), batch=8, verbose=0)
    assert not torch.equal(before, module.weight)
    wrapped.load_state_dict(trainer.state_dict())


def test_what_a_module_does_not_take_is_said():
    module = nn.Linear(4, 3)
    with pytest.raises(ValueError, match=r"Linear\.forward.*does not take"):
        plimsoll.Trainer(module).fit((images(4), classes(3), torch.ones(8), torch.ones(8)), verbose=0)
    with pytest.raises(TypeError, match="float32"):
        plimsoll.Trainer(module).fit((torch.ones(8, 4, dtype=torch.long), classes(3)), verbose=0)


def test_what_is_the_programs_own_is_not_taken_for_another():
    def mse(output, target):
        return (output - target).abs().sum()

    class Focal(nn.CrossEntropyLoss):
        pass

    class SGD(torch.optim.SGD):
        pass
    module = nn.Linear(3, 3)
    for loss in (mse, Focal()):
        with pytest.raises(ValueError, match="none of PyTorch's"):
            plimsoll.Trainer(module, loss=loss)
    with pytest.raises(ValueError, match="test_torch.SGD is not known"):
        plimsoll.Trainer(module, optimizer=SGD(module.parameters(), 0.1))


WORKERS = """
    import plimsoll.hook, resource, torch
    class Pairs(torch.utils.data.Dataset):
        def __len__(self):
            return 8
        def __getitem__(self, index):
            points = torch.zeros(3, 512, 512)
            return points.repeat(64, 200, 1).sum((1, 2))
    used = int(open("/proc/self/statm").read().split()[0]) * 4096
    resource.setrlimit(resource.RLIMIT_AS, (used + (6 << 30), used + (6 << 30)))
    for batch in torch.utils.data.DataLoader(Pairs(), batch_size=4, num_workers=1):
        pass
"""


def test_an_error_in_a_worker_of_a_loader_names_the_line_there(tmp_path):
    file = tmp_path / "train.py"
    file.write_text(textwrap.dedent(WORKERS))
    done = subprocess.run([sys.executable, str(file)], capture_output=True, text=True, timeout=300, check=False)
    answer = done.stderr[done.stderr.index("-- Plimsoll"):]
    assert "40,265,318,400 bytes" in answer and "missing" in answer and "while reading data" in answer
    assert "train.py line 8" in answer and "points.repeat" in answer and "train.py line 11: the error is that of another" in answer


PROGRAM = """
    import resource, torch
    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.conv = torch.nn.Conv2d(3, 512, 3, padding=1)
            self.fc = torch.nn.Linear(512, 10)
        def forward(self, x):
            return self.fc(self.conv(x).relu().mean((2, 3)))
    model = Net()
    images = torch.randn(64, 3, 224, 224)
    labels = torch.zeros(64, dtype=torch.long)
    used = int(open("/proc/self/statm").read().split()[0]) * 4096
    resource.setrlimit(resource.RLIMIT_AS, (used + (2 << 30), used + (2 << 30)))
    def train():
        loss = torch.nn.functional.cross_entropy(model(images), labels)
        loss.backward()
    train()
"""


def test_pytorch_out_of_memory_names_shape_shortfall_line_and_fix(tmp_path):
    file = tmp_path / "train.py"
    file.write_text(textwrap.dedent(PROGRAM))
    done = subprocess.run([sys.executable, "-m", "plimsoll", "run", str(file)], capture_output=True, text=True, timeout=300,
                          check=False)
    text = done.stderr
    assert done.returncode == 1 and "DefaultCPUAllocator" in text
    answer = text[text.index("Plimsoll"):]
    assert "6,576,668,672 bytes" in answer and "missing" in answer
    if sys.version_info >= (3, 11):
        assert "64 x 512 x 224 x 224 float32" in answer
    assert "train.py line 9" in answer and "self.fc(self.conv(x).relu()" in answer
    assert "images" in answer and "64 x 3 x 224 x 224 float32" in answer and "What to try" in answer


BUDGET = """
    import sys, torch, plimsoll
    torch.manual_seed(0)
    module = torch.nn.Sequential(torch.nn.Conv2d(3, 32, 3, padding=1), torch.nn.ReLU(), torch.nn.Conv2d(32, 32, 3, padding=1),
                                 torch.nn.ReLU(), torch.nn.Conv2d(32, 32, 3, padding=1), torch.nn.ReLU(),
                                 torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(), torch.nn.Linear(32, 10))
    x, y = torch.randn(64, 3, 64, 64), torch.randint(0, 10, (64,))
    from plimsoll import _native
    budget = _native.resident()[0] + (110 << 20)
    trainer = plimsoll.Trainer(module, budget=budget, batch=32)
    trainer.fit((x, y), epochs=1, verbose=0)
    print(budget, _native.resident()[1], trainer.stats["micro_batch"], trainer.resident_before.get("PyTorch", 0))
"""


def test_the_budget_holds_for_the_whole_process_and_counts_pytorch(tmp_path):
    file = tmp_path / "budget.py"
    file.write_text(textwrap.dedent(BUDGET))
    done = subprocess.run([sys.executable, str(file)], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    budget, peak, _, framework = map(int, done.stdout.split())
    assert peak <= budget
    assert framework > 50 << 20  # PyTorch's own libraries, by name


# --- will it fit -----------------------------------------------------------------------------------------------------------

def network():
    return nn.Sequential(nn.Conv2d(3, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.Conv2d(32, 64, 3, stride=2),
                         nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10))


def test_a_prediction_needs_neither_memory_nor_a_card():
    before = _native.resident()[0]
    answer = plimsoll.fit(network(), torch.empty(512, 3, 224, 224, device="meta"), optimizer="adamw", gpu="RTX 3060")
    assert not answer.fits and answer.exact and answer.batch == 512
    assert answer.numbers["requested"] > 12 << 30  # 512 x 32 x 224 x 224 floats are 3 GiB, and there are several
    assert _native.resident()[0] - before < 200 << 20
    assert "DOES NOT FIT" in str(answer) and "RTX 3060" in str(answer) and "<iframe" in answer._repr_html_()


@pytest.mark.parametrize("make,shape,batch,gpu", [
    (lambda: network(), (3, 64, 64), 64, "2GiB"),
    (lambda: nn.Linear(64, 8), (64,), 4, "256MiB"),  # whose next sizes need no block more: they show no growth
    (lambda: nn.Linear(64, 8), (64,), 1 << 22, "256MiB")])
def test_the_largest_batch_fits_and_one_more_does_not(make, shape, batch, gpu):
    sample = torch.empty(1, *shape, device="meta")
    most = plimsoll.fit(make(), sample, batch=batch, gpu=gpu, optimizer="sgd").largest_batch()
    assert most > 1 and plimsoll.fit(make(), sample, batch=most, gpu=gpu, optimizer="sgd").fits
    assert not plimsoll.fit(make(), sample, batch=most + 1, gpu=gpu, optimizer="sgd").fits


def test_cures_need_less():
    answer = plimsoll.fit(network(), torch.empty(128, 3, 64, 64, device="meta"), gpu="RTX 3060")
    cures = answer.cures()
    assert any("batch" in c["name"] for c in cures) and all(c["driver"] <= answer.numbers["driver_most"] for c in cures)


def test_precision_and_optimizers_are_followed():
    sample, numbers = torch.empty(32, 3, 64, 64, device="meta"), {}
    for precision in ("fp32", "bf16"):
        numbers[precision] = plimsoll.fit(network(), sample, precision=precision).numbers["requested"]
    assert numbers["bf16"] < 0.6 * numbers["fp32"]
    module = network()
    mine = plimsoll.fit(module, sample, optimizer=torch.optim.SGD(module.parameters(), 0.1))
    theirs = plimsoll.fit(module, sample, optimizer=lambda p: torch.optim.SGD(p, 0.1))
    assert mine.numbers["requested"] == theirs.numbers["requested"] and mine.kinds.get("optimizer", 0) == 0
    with pytest.raises(ValueError, match="precision"):
        plimsoll.fit(module, sample, precision="fp7")
    with pytest.raises(ValueError, match="optimizer"):
        plimsoll.fit(module, sample, optimizer="magic")
    with pytest.raises(LookupError):
        plimsoll.fit(module, sample, gpu="RTX 9999999")
    with pytest.raises(ValueError, match="sample"):
        plimsoll.fit(module)
