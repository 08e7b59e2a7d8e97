import numpy as np
import ray

ray.init(num_cpus=1, object_store_memory=100 << 20, include_dashboard=False, logging_level="error")
print(ray.put(np.ones(200 << 20, "uint8")))
