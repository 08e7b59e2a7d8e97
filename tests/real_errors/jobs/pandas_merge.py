# A join on a key that every row shares: 900 million rows.
import numpy as np
import pandas as pd

left = pd.DataFrame({"key": np.zeros(30000, "int64"), "a": np.arange(30000.0)})
print(len(left.merge(left, on="key")))
