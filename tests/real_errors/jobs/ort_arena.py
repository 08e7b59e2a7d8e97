# An arena of 64 MiB; the product has 256 MiB.
import sys

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto, helper

graph = helper.make_graph(
    [helper.make_node("MatMul", ["x", "y"], ["z"], name="product")], "g",
    [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", "k"]),
     helper.make_tensor_value_info("y", TensorProto.FLOAT, ["k", "m"])],
    [helper.make_tensor_value_info("z", TensorProto.FLOAT, ["n", "m"])])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
memory = ort.OrtMemoryInfo("Cpu", ort.OrtAllocatorType.ORT_ARENA_ALLOCATOR, 0, ort.OrtMemType.DEFAULT)
ort.create_and_register_allocator(memory, ort.OrtArenaCfg({"max_mem": 64 << 20, "arena_extend_strategy": 1}))
options = ort.SessionOptions()
options.add_session_config_entry("session.use_env_allocators", "1")
session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
n = int(sys.argv[1])
print(session.run(None, {"x": np.ones((n, 2), "float32"), "y": np.ones((2, n), "float32")})[0].shape)
