import pyarrow as pa

print(pa.allocate_buffer(1 << 20).size)
