# 32 GB under a limit on address space.
import numpy as np

x = np.ones((20000, 200000))
