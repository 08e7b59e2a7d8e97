"""What TensorFlow asks its allocator for while Keras models train, and its own counter of the most in use: makes
tf_requests.txt. Needs TensorFlow.

    tf_requests.py SOURCE-FOLDER > tf_requests.txt"""

import os
import sys

sys.path[:0] = [os.path.join(sys.argv[1], "python"), os.path.join(sys.argv[1], "bench")]

from plimsoll import capture_keras

MODELS = ["perceptron", "perceptron sgd", "vgg", "text cnn"]  # those with few requests


def main():
    capture_keras.prepare()
    import keras_models
    import tensorflow

    print("# made by tf_requests.py with TensorFlow %s" % tensorflow.__version__)
    print("# a: asked for, f: given back, holds: the most in use")
    for name in MODELS:
        run = capture_keras.in_child(capture_keras.record, keras_models.make(name), keras_models.MODELS[name][3])
        print("model %s" % name)
        for event in run["events"]:
            if event[0] != "step":
                print("%s %d" % ("a" if event[0] == "born" else "f", event[1]))
        print("holds %d" % run["peak"], flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
