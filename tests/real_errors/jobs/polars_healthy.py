import polars as pl

print(pl.DataFrame({"a": range(10)}).describe())
