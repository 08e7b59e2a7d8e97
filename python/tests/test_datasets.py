"""Hugging Face data sets as data."""

import numpy as np
import pytest

pytestmark = pytest.mark.frameworks
datasets = pytest.importorskip("datasets", reason="datasets is not installed")

import plimsoll  # noqa: E402


def columns(count=40):
    generator = np.random.default_rng(0)
    return {"image": generator.normal(size=(count, 784)).astype("f4"), "label": generator.integers(0, 10, count)}


def test_a_data_set_trains_as_its_arrays_do():
    data = columns()
    one, two = (plimsoll.Trainer("mlp", width=8, batch=16, seed=3, optimizer="sgd") for _ in range(2))
    one.fit((data["image"], data["label"]), shuffle=False, verbose=0)
    two.fit(datasets.Dataset.from_dict(data), shuffle=False, verbose=0)
    assert one.updates == two.updates == 3
    for name, value in one.state_dict().items():
        np.testing.assert_array_equal(value, two.state_dict()[name])


@pytest.mark.parametrize("beside", ["", "torch.utils.data"])
def test_streams_and_splits_train_and_validate(beside):
    """Where PyTorch is imported, streams are data sets of its own too."""
    if beside:
        pytest.importorskip(beside, reason="PyTorch is not installed")
    data = datasets.Dataset.from_dict(columns())
    parts = data.train_test_split(0.25, seed=0)
    trainer = plimsoll.Trainer("mlp", width=8, batch=10)
    history = trainer.fit(parts["train"], epochs=2, validation=parts["test"], verbose=0)
    assert trainer.updates == 6 and len(history.history["val_loss"]) == 2
    assert 0 <= trainer.evaluate(parts["test"])["accuracy"] <= 1
    stream = data.to_iterable_dataset()
    trainer.fit(stream, epochs=2, shuffle=False, verbose=0)
    assert trainer.updates == 14


def test_what_is_no_number_is_refused():
    data = datasets.Dataset.from_dict({"text": ["a", "b"], "label": [0, 1]})
    with pytest.raises((TypeError, ValueError)):
        plimsoll.Trainer("mlp", width=8, batch=2).fit(data, verbose=0)
    whole = datasets.DatasetDict({"train": datasets.Dataset.from_dict(columns(4))})
    with pytest.raises(TypeError, match="train"):
        plimsoll.Trainer("mlp", width=8, batch=2).fit(whole, verbose=0)
