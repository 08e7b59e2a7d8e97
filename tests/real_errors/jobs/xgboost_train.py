import resource

import numpy as np
import xgboost as xgb

data = xgb.DMatrix(np.random.default_rng(0).normal(size=(40000, 200)).astype("float32"), label=np.arange(40000) % 2)
now = int(open("/proc/self/statm").read().split()[0]) * 4096
resource.setrlimit(resource.RLIMIT_AS, (now + (24 << 20), now + (24 << 20)))
xgb.train({"max_depth": 12, "tree_method": "hist", "nthread": 1}, data, 20)
