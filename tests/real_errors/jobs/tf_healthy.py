import tensorflow as tf

x = tf.ones([8, 1024, 1024])
for step in range(3):
    print("step", step, "loss", float(tf.reduce_mean(x)))
