# A worker that may hold 400 MB holds more.
import time

from dask.distributed import Client, LocalCluster


def hold(n):
    data = []
    for _ in range(n):
        data.append(bytearray(b"1" * (50 << 20)))
        time.sleep(0.1)
    return len(data)


if __name__ == "__main__":
    cluster = LocalCluster(n_workers=1, threads_per_worker=1, memory_limit="400MB", dashboard_address=None)
    client = Client(cluster)
    print(client.submit(hold, 40, retries=0).result())
