"""JAX that runs out of memory for real on the processor, and its arrays as data."""

import subprocess
import sys
import textwrap

import numpy as np
import pytest

pytestmark = pytest.mark.frameworks
pytest.importorskip("jax", reason="JAX is not installed")

import plimsoll  # noqa: E402

PROGRAM = """
    import resource
    import plimsoll.hook
    import jax, jax.numpy as jnp
    images = jnp.ones((64, 3, 224, 224), jnp.float32)
    kernel = jnp.ones((512, 3, 3, 3), jnp.float32)
    used = int(open("/proc/self/statm").read().split()[0]) * 4096
    resource.setrlimit(resource.RLIMIT_AS, (used + (2 << 30), used + (2 << 30)))
    features = jax.lax.conv(images, kernel, (1, 1), "SAME")
    features.block_until_ready()
"""


def test_jax_out_of_memory_names_shape_shortfall_line_and_fix(tmp_path):
    file = tmp_path / "train.py"
    file.write_text(textwrap.dedent(PROGRAM))
    done = subprocess.run([sys.executable, str(file)], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 1 and "RESOURCE_EXHAUSTED" in done.stderr, done.stderr[-2000:]
    answer = done.stderr[done.stderr.index("-- Plimsoll"):]
    assert "JAX, host" in answer and "missing" in answer and "host_memory" in answer
    assert "6,576,668,672 bytes): 64 x 512 x 224 x 224 float32" in answer
    assert "train.py line 10" in answer and "features.block_until_ready()" in answer
    assert "images" in answer and "ulimit -v" in answer and "1. " in answer and "nvidia-smi" not in answer


def test_arrays_of_jax_are_data_without_a_copy():
    import jax.numpy as jnp
    from plimsoll._arrays import to_numpy
    x, y = jnp.ones((32, 784), jnp.float32), jnp.arange(32, dtype=jnp.int32) % 10
    assert to_numpy(x).__array_interface__["data"][0] == x.unsafe_buffer_pointer()
    trainer = plimsoll.Trainer("mlp", width=4, batch=16)
    trainer.fit((x, y), verbose=0)
    assert trainer.updates == 2 and trainer.predict(x).shape == (32, 10)
    trainer.fit([(x[:16], np.asarray(y[:16]))], verbose=0)
    assert trainer.updates == 3
