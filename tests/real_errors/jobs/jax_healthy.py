import jax.numpy as jnp

x = jnp.ones((256, 256))
for step in range(3):
    x = x @ x / 256
    print("step", step, float(x.mean()))
