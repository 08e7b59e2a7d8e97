# One array of 16 GiB under a limit on address space.
import jax.numpy as jnp

x = jnp.zeros((4, 1024, 1024, 1024)) + 1
print(x.block_until_ready().shape)
