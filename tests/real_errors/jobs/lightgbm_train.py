import resource

import lightgbm as lgb
import numpy as np

rows = np.random.default_rng(0).normal(size=(40000, 200))
now = int(open("/proc/self/statm").read().split()[0]) * 4096
resource.setrlimit(resource.RLIMIT_AS, (now + (24 << 20), now + (24 << 20)))
lgb.train({"num_threads": 1, "verbose": -1}, lgb.Dataset(rows, label=np.arange(40000) % 2), 20)
