import paddle

paddle.set_device("cpu")
x = paddle.ones([4, 1024, 1024, 1024])
