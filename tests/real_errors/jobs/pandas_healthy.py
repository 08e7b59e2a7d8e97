import pandas as pd

print(pd.DataFrame({"a": range(10)}).describe())
