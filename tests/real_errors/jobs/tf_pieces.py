# 28 tensors of 8 MiB, every other one released; then one of 64 MiB.
import tensorflow as tf

held = [tf.ones([2, 1024, 1024]) * i for i in range(28)]
held = held[::2]
x = tf.ones([16, 1024, 1024]) + tf.cast(len(held), tf.float32)
