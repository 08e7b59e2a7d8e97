import duckdb

connection = duckdb.connect()
connection.execute("SET memory_limit='64MB'; SET temp_directory=''; SET threads=1")
print(connection.execute("SELECT list(i) FROM range(100000000) t(i)").fetchone())
