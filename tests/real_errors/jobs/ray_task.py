# A task takes 3 GB where Ray's monitor allows about one more.
import time

import ray

ray.init(num_cpus=1, object_store_memory=100 << 20, include_dashboard=False, logging_level="error")


@ray.remote(max_retries=0)
def hold():
    data = []
    for _ in range(30):
        data.append(bytearray(b"1" * (100 << 20)))
        time.sleep(0.1)
    return len(data)


print(ray.get(hold.remote()))
