import polars as pl

left = pl.DataFrame({"key": [0] * 60000, "a": range(60000)})
print(left.join(left, on="key").shape)
