# Six tensors of 32 MiB are held when one of 256 MiB is asked for.
import tensorflow as tf

held = [tf.zeros([32, 1024, 256]) for _ in range(6)]
x = tf.zeros([64, 1024, 1024]) + 1.0
