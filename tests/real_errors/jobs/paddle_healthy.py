import paddle

print(float(paddle.ones([4]).sum()))
