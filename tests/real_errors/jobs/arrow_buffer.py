import pyarrow as pa

pool = pa.system_memory_pool()
buffer = pa.allocate_buffer(16 << 30, memory_pool=pool)
