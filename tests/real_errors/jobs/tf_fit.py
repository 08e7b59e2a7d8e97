# A layer whose weights alone are 400 MB, trained with Keras.
import numpy as np
import tensorflow as tf

model = tf.keras.Sequential([tf.keras.layers.Input((10000,)), tf.keras.layers.Dense(10000), tf.keras.layers.Dense(1)])
model.compile(optimizer="adam", loss="mse")
model.fit(np.zeros((32, 10000), "float32"), np.zeros((32, 1), "float32"), epochs=1, batch_size=16, verbose=0)
