import numpy as np
from sklearn.linear_model import Ridge

print(Ridge().fit(np.eye(10), np.arange(10)).score(np.eye(10), np.arange(10)))
