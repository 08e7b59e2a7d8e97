import duckdb

print(duckdb.connect().execute("SELECT count(*) FROM range(1000)").fetchone())
