# One tensor of 1 GiB in a pool of 256 MiB.
import tensorflow as tf

x = tf.ones([256, 1024, 1024])
