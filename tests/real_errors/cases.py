"""The jobs: what runs, in which version, under which limit, and what is known about its failure since the job set it.

`expect` holds fields of `plimsoll explain --json`; a list gives the answers that are right. `fix` is a pattern for the first fix.
"""
MIB, GIB = 1 << 20, 1 << 30
NOTHING = {"found": False, "cause": ["none", "warning"]}
CASES = []


def fails(name, program, version, command, expect, **how):
    CASES.append(dict(how, name=name, program=program, version=version, command=command, expect=dict({"found": True}, **expect)))


def runs(name, program, version, command, **how):
    CASES.append(dict(how, name=name, program=program, version=version, command=command, expect=NOTHING))


# --- TensorFlow: a pool of a known size on the processor -----------------------------------------------------------------
POOL = {"TF_CPU_ALLOCATOR_USE_BFC": "true", "TF_CPU_BFC_MEM_LIMIT_IN_MB": "256", "TF_ENABLE_ONEDNN_OPTS": "0"}
for version in ("2.12", "2.13", "2.14", "2.15", "2.16", "2.17", "2.18", "2.20", "2.21"):
    how = {"env": "tf-" + version, "set": POOL}
    fails(f"tensorflow-{version}-pool", "tensorflow", version, ["{python}", "tf_eager.py"],
          {"framework": "tensorflow", "kind": "host", "cause": ["limit"], "requested_bytes": 256 * MIB, "limit_bytes": 256 * MIB,
           "allocated_bytes": [192 * MIB, 448 * MIB], "shape": [64, 1024, 1024], "dtype": "float32", "fix": "TF_CPU_BFC_MEM_LIMIT_IN_MB=512"}, **how)
    fails(f"tensorflow-{version}-too-big", "tensorflow", version, ["{python}", "tf_too_big.py"],
          {"framework": "tensorflow", "kind": "host", "cause": "too_big", "requested_bytes": GIB, "capacity_bytes": 256 * MIB,
           "shortfall_bytes": 768 * MIB, "fix": "pieces"}, **how)
    runs(f"tensorflow-{version}-healthy", "tensorflow", version, ["{python}", "tf_healthy.py"], **how)
for version in ("2.15", "2.21"):
    fails(f"tensorflow-{version}-pieces", "tensorflow", version, ["{python}", "tf_pieces.py"],
          {"framework": "tensorflow", "kind": "host", "cause": ["fragmented"], "requested_bytes": 64 * MIB,
           "fix": "TF_CPU_BFC_MEM_LIMIT_IN_MB"}, env="tf-" + version, set=POOL)
for version in ("2.16", "2.20"):
    fails(f"keras-{version}-fit", "keras", version, ["{python}", "tf_fit.py"],
          {"framework": "tensorflow", "kind": "host", "cause": ["limit", "too_big"], "requested_bytes": 400000000,
           "shape": [10000, 10000], "fix": "pieces|LIMIT_IN_MB"}, env="tf-" + version, set=POOL)

# --- PyTorch on the processor --------------------------------------------------------------------------------------------
for version in ("2.0", "2.2", "2.5", "2.9", "2.13"):
    how = {"env": "torch-" + version}
    fails(f"pytorch-{version}-one-tensor", "pytorch", version, ["{python}", "torch_empty.py"],
          {"framework": "pytorch", "kind": "host", "cause": "host_memory", "requested_bytes": 16 * GIB, "fix": "torch_empty.py line 4.*pieces|pieces"},
          address_space=12 * GIB, **how)
    fails(f"pytorch-{version}-optimizer", "pytorch", version, ["{python}", "torch_optimizer.py"],
          {"framework": "pytorch", "kind": "host", "cause": "host_memory", "requested_bytes": 256 * MIB,
           "phase": "the optimizer's update", "fix": "optimizer"}, **how)
    runs(f"pytorch-{version}-healthy", "pytorch", version, ["{python}", "torch_healthy.py"], **how)
fails("pytorch-2.13-broadcast", "pytorch", "2.13", ["{python}", "torch_bug.py"],
      {"framework": "pytorch", "kind": "host", "cause": "bad_size", "requested_bytes": 36000000000000, "fix": "bug"}, env="torch-2.13")
fails("pytorch-2.13-shm", "pytorch", "2.13", ["{python}", "torch_loader.py"],
      {"framework": "pytorch", "kind": "host", "cause": "host_memory", "fix": "/dev/shm"}, env="torch-2.13", shm="16m")

# --- JAX ------------------------------------------------------------------------------------------------------------------
for version in ("0.4.20", "0.4.30", "0.5", "0.6", "0.8"):
    how = {"env": "jax-" + version}
    fails(f"jax-{version}-one-array", "jax", version, ["{python}", "jax_zeros.py"],
          {"framework": "jax", "cause": ["full", "host_memory"], "requested_bytes": 16 * GIB, "fix": "pieces|smaller"}, address_space=12 * GIB, **how)
    runs(f"jax-{version}-healthy", "jax", version, ["{python}", "jax_healthy.py"], **how)

# --- ONNX Runtime: an arena of 64 MiB -------------------------------------------------------------------------------------
for version in ("1.16", "1.18", "1.23"):
    how = {"env": "ort-" + version}
    fails(f"onnxruntime-{version}-arena", "onnxruntime", version, ["{python}", "ort_arena.py", "8192"],
          {"framework": "onnxruntime", "cause": ["limit", "full"], "requested_bytes": 256 * MIB, "fix": "arena"}, **how)
    runs(f"onnxruntime-{version}-healthy", "onnxruntime", version, ["{python}", "ort_arena.py", "128"], **how)

# --- NumPy, pandas and what is built on them -----------------------------------------------------------------------------
for version in ("1.24", "1.26", "2.0", "2.3"):
    how = {"env": "numpy-" + version}
    fails(f"numpy-{version}-one-array", "numpy", version, ["{python}", "numpy_ones.py"],
          {"framework": "numpy", "kind": "host", "cause": "host_memory", "requested_bytes": 32000000000, "shape": [20000, 200000],
           "dtype": "float64", "fix": "float32"}, address_space=8 * GIB, **how)
    runs(f"numpy-{version}-healthy", "numpy", version, ["{python}", "numpy_healthy.py"], **how)
for version, env in (("2.0", "numpy-1.26"), ("2.2", "numpy-2.0"), ("2.3", "numpy-2.3")):
    fails(f"pandas-{version}-merge", "pandas", version, ["{python}", "pandas_merge.py"],
          {"framework": ["numpy", "pandas", "python"], "kind": "host", "cause": "host_memory", "requested_bytes": [7200000000, None],
           "fix": "duplicates"}, env=env, address_space=6 * GIB)
    runs(f"pandas-{version}-healthy", "pandas", version, ["{python}", "pandas_healthy.py"], env=env)
for version, env in (("1.3", "numpy-1.26"), ("1.7", "numpy-2.3")):
    fails(f"scikit-learn-{version}-distances", "scikit-learn", version, ["{python}", "sklearn_distances.py"],
          {"framework": "numpy", "kind": "host", "cause": "host_memory", "requested_bytes": 28800000000, "shape": [60000, 60000],
           "fix": "pairs"}, env=env, address_space=8 * GIB)
    runs(f"scikit-learn-{version}-healthy", "scikit-learn", version, ["{python}", "sklearn_healthy.py"], env=env)
for version, env in (("0.20", "numpy-2.0"), ("1.35", "numpy-2.3")):
    fails(f"polars-{version}-join", "polars", version, ["{python}", "polars_join.py"],
          {"framework": "rust", "kind": "host", "cause": "host_memory", "fix": "pieces"}, env=env, address_space=6 * GIB)
    runs(f"polars-{version}-healthy", "polars", version, ["{python}", "polars_healthy.py"], env=env)
for version, env in (("16.1", "numpy-2.0"), ("22.0", "numpy-2.3")):
    fails(f"pyarrow-{version}-buffer", "pyarrow", version, ["{python}", "arrow_buffer.py"],
          {"framework": "arrow", "kind": "host", "cause": "host_memory", "requested_bytes": 16 * GIB, "fix": "batches"},
          env=env, address_space=8 * GIB)
    runs(f"pyarrow-{version}-healthy", "pyarrow", version, ["{python}", "arrow_healthy.py"], env=env)
fails("duckdb-1.4-list", "duckdb", "1.4", ["{python}", "duckdb_sort.py"],
      {"framework": "duckdb", "kind": "host", "cause": "limit", "limit_bytes": [64000000, 63963136], "fix": "memory_limit"}, env="numpy-2.3")
runs("duckdb-1.4-healthy", "duckdb", "1.4", ["{python}", "duckdb_healthy.py"], env="numpy-2.3")
for version, env in (("1.7", "numpy-1.26"), ("3.1", "boost")):
    fails(f"xgboost-{version}-train", "xgboost", version, ["{python}", "xgboost_train.py"],
          {"framework": ["xgboost", "cpp"], "kind": "host", "cause": "host_memory", "fix": "less at a time|pieces"}, env=env)
    runs(f"xgboost-{version}-healthy", "xgboost", version, ["{python}", "xgboost_healthy.py"], env=env)
for version, env in (("4.1", "numpy-1.26"), ("4.6", "boost")):
    fails(f"lightgbm-{version}-train", "lightgbm", version, ["{python}", "lightgbm_train.py"],
          {"framework": ["lightgbm", "cpp"], "kind": "host", "cause": "host_memory", "fix": "less at a time|pieces"}, env=env)
    runs(f"lightgbm-{version}-healthy", "lightgbm", version, ["{python}", "lightgbm_healthy.py"], env=env)


def ray_threshold():
    """A share of this machine's memory that leaves about 1 GiB from now."""
    meminfo = dict(line.split(":") for line in open("/proc/meminfo"))
    total, free = (int(meminfo[k].split()[0]) * 1024 for k in ("MemTotal", "MemAvailable"))
    return "%.4f" % ((total - free + 1.6 * GIB) / total)


for version in ("2.9", "2.51"):
    how = {"env": "ray-" + version}
    fails(f"ray-{version}-monitor", "ray", version, ["{python}", "ray_task.py"],
          {"framework": "ray", "kind": "host", "cause": "host_memory", "fix": "fewer tasks"},
          set={"RAY_memory_usage_threshold": ray_threshold, "RAY_memory_monitor_refresh_ms": "100"}, **how)
    runs(f"ray-{version}-healthy", "ray", version, ["{python}", "ray_healthy.py"], **how)
for version in ("2024", "2025"):
    how = {"env": "dask-" + version}
    fails(f"dask-{version}-nanny", "dask", version, ["{python}", "dask_worker.py"],
          {"framework": "dask", "kind": "host", "cause": "limit", "fix": "worker more memory"}, timeout=120, **how)
    runs(f"dask-{version}-healthy", "dask", version, ["{python}", "dask_healthy.py"], **how)
fails("paddle-3.2-one-tensor", "paddle", "3.2", ["{python}", "paddle_zeros.py"],
      {"framework": "paddle", "kind": "host", "cause": "host_memory", "requested_bytes": 16 * GIB}, env="paddle-3.2", address_space=12 * GIB)
runs("paddle-3.2-healthy", "paddle", "3.2", ["{python}", "paddle_healthy.py"], env="paddle-3.2")

# --- Python itself, other languages, killers -----------------------------------------------------------------------------
fails("python-bytes", "python", "3", ["python3", "python_bytes.py"],
      {"framework": "python", "kind": "host", "cause": "host_memory", "fix": "pieces"}, address_space=4 * GIB)
fails("java-heap", "java", "17", ["java", "-Xmx64m", "-cp", "{build}", "Heap", "200"],
      {"framework": "java", "kind": "host", "cause": "limit", "fix": "-Xmx"})
fails("java-array", "java", "17", ["java", "-Xmx64m", "-cp", "{build}", "Array"],
      {"framework": "java", "kind": "host", "cause": ["limit", "too_big"], "fix": "-Xmx|pieces"})
fails("java-machine", "java", "17", ["java", "-Xms16g", "-cp", "{build}", "Heap", "1"],
      {"framework": "java", "kind": "host", "cause": "host_memory", "fix": "heap"}, address_space=6 * GIB)
runs("java-healthy", "java", "17", ["java", "-Xmx64m", "-cp", "{build}", "Heap", "4"])
fails("node-heap", "node", "20", ["node", "--max-old-space-size=64", "heap.js", "2000"],
      {"framework": "node", "kind": "host", "cause": "limit", "fix": "max-old-space-size"})
runs("node-healthy", "node", "20", ["node", "--max-old-space-size=64", "heap.js", "2"])
fails("r-vector", "r", "4", ["Rscript", "vector.R"],
      {"framework": "r", "kind": "host", "cause": "host_memory", "requested_bytes": 32000000000, "fix": "whole"}, address_space=8 * GIB)
runs("r-healthy", "r", "4", ["Rscript", "-e", "print(sum(1:10))"])
fails("rust-vector", "rust", "1", ["{build}/vector_rust", str(16 * GIB)],
      {"framework": "rust", "kind": "host", "cause": "host_memory", "requested_bytes": 16 * GIB, "fix": "pieces"}, address_space=4 * GIB)
runs("rust-healthy", "rust", "1", ["{build}/vector_rust", "1000"])
fails("go-slice", "go", "1", ["{build}/hold_go", str(16 * GIB)],
      {"framework": "go", "kind": "host", "cause": "host_memory", "fix": "pieces"}, address_space=4 * GIB)
runs("go-healthy", "go", "1", ["{build}/hold_go", "1000"])
fails("cpp-vector", "c++", "12", ["{build}/vector_cpp", str(16 * GIB)],
      {"framework": "cpp", "kind": "host", "cause": "host_memory", "fix": "pieces"}, address_space=4 * GIB)
runs("cpp-healthy", "c++", "12", ["{build}/vector_cpp", "1000"])
fails("perl-strings", "perl", "5", ["perl", "perl_hold.pl", "64"],
      {"framework": "perl", "kind": "host", "cause": "host_memory"}, address_space=GIB)
runs("perl-healthy", "perl", "5", ["perl", "perl_hold.pl", "1"])
fails("kernel-cgroup", "kernel", "1", ["bash", "-c", "perl /dev/stdin 100 <<< 'push @h, \"x\" x (64 << 20) for 1 .. 100'; echo exit code $?"],
      {"framework": "kernel", "kind": "host", "cause": ["host_memory", "limit"]}, group=256 * MIB)
fails("bash-string", "bash", "5", ["bash", "-c", "x=$(head -c 3000000000 /dev/zero | tr '\\0' x); echo ${#x}"],
      {"framework": "shell", "kind": "host", "cause": "host_memory"}, address_space=GIB)
runs("disk-full", "disk", "1", ["bash", "-c", "mount -t tmpfs -o size=1m none /mnt 2>/dev/null; dd if=/dev/zero of=/dev/full bs=1M count=4; true"])
