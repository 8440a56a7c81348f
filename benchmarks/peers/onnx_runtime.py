"""A peer in a process of its own: ONNX Runtime on one thread, which answers requests on standard input line by line.

    /usr/bin/python3 -I onnx_runtime.py SITE

SITE is the folder that holds onnx and onnxruntime. Requests and answers are JSON:

    {"make": "softmax", "inputs": {"x": {"shape": [64, 1000], "file": "/tmp/x", "weight": false}},
     "output": {"shape": [64, 1000], "file": "/tmp/y"}, "run_time": true}   {"id": 0}
    {"save": 0}       {}, once the model's output is in its file
    {"seconds": 0}    {"seconds": 1.2e-05}, those of one call, which follows an untimed one
    anything wrong    {"error": "..."}

Files are f32 of this machine, row-major. With "run_time" the model knows no extent of its inputs but that of the last
axis. Inputs and outputs are bound once, so that no call copies them.
"""

import json
import os
import signal
import sys
import time
import traceback

# From 4 MiB on NumPy asks for huge pages, where the system leaves that to programs; the arrays of our side do not. Both
# sides have the same pages.
os.environ["NUMPY_MADVISE_HUGEPAGE"] = "0"
sys.path.insert(0, sys.argv[1])

import numpy as np  # noqa: E402  (from SITE)
import onnx  # noqa: E402
import onnxruntime  # noqa: E402
from onnx import helper  # noqa: E402

FLOAT = onnx.TensorProto.FLOAT


def softmax():
    return [helper.make_node("Softmax", ["x"], ["y"], axis=-1)]


def layer_norm():
    return [helper.make_node("LayerNormalization", ["x", "gamma", "beta"], ["y"], axis=-1, epsilon=1e-5)]


def layer_norm_residual():
    return [
        helper.make_node("Add", ["x", "z"], ["sum"]),
        helper.make_node("LayerNormalization", ["sum", "gamma", "beta"], ["y"], axis=-1, epsilon=1e-5),
    ]


def attention():
    return [
        helper.make_node("Transpose", ["k"], ["k_t"], perm=[0, 2, 1]),
        helper.make_node("MatMul", ["q", "k_t"], ["scores"]),
        helper.make_node("Constant", [], ["scale"], value_float=0.125),
        helper.make_node("Mul", ["scores", "scale"], ["scaled"]),
        helper.make_node("Softmax", ["scaled"], ["weights"], axis=-1),
        helper.make_node("MatMul", ["weights", "v"], ["y"]),
    ]


def masked_attention():
    nodes = attention()
    nodes.insert(4, helper.make_node("Add", ["scaled", "mask"], ["masked"]))
    nodes[5] = helper.make_node("Softmax", ["masked"], ["weights"], axis=-1)
    return nodes


def mlp():
    return [
        helper.make_node("Gemm", ["x", "w1", "b1"], ["sum1"]),
        helper.make_node("Relu", ["sum1"], ["h"]),
        helper.make_node("Gemm", ["h", "w2", "b2"], ["sum2"]),
        helper.make_node("Relu", ["sum2"], ["y"]),
    ]


MODELS = {f.__name__: f for f in [softmax, layer_norm, layer_norm_residual, attention, masked_attention, mlp]}


class Session:
    def __init__(self, request):
        def values_of(one):
            return np.fromfile(one["file"], np.float32).reshape(one["shape"])

        def declared(name, one):
            shape = list(one["shape"])
            if request["run_time"] and len(shape) > 1:
                shape[:-1] = ["{}{}".format(name, i) for i in range(len(shape) - 1)]
            return helper.make_tensor_value_info(name, FLOAT, shape)

        inputs, self.output = request["inputs"], request["output"]
        weights = {n for n, one in inputs.items() if one["weight"]}
        graph = helper.make_graph(
            MODELS[request["make"]](),
            request["make"],
            [declared(n, one) for n, one in inputs.items() if n not in weights],
            [declared("y", self.output)],
            [onnx.numpy_helper.from_array(values_of(inputs[n]), n) for n in sorted(weights)],
        )
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
        model.ir_version = 8  # that of opset 17
        onnx.checker.check_model(model)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.inter_op_num_threads = 1
        self.session = onnxruntime.InferenceSession(model.SerializeToString(), options, ["CPUExecutionProvider"])
        self.binding = self.session.io_binding()
        self.kept = {n: onnxruntime.OrtValue.ortvalue_from_numpy(values_of(one)) for n, one in inputs.items()}
        for name, value in self.kept.items():
            if name not in weights:
                self.binding.bind_ortvalue_input(name, value)
        self.y = onnxruntime.OrtValue.ortvalue_from_numpy(np.zeros(self.output["shape"], np.float32))
        self.binding.bind_ortvalue_output("y", self.y)

    def run(self):
        self.session.run_with_iobinding(self.binding)

    def seconds(self):
        self.run()
        start = time.perf_counter()
        self.run()
        return time.perf_counter() - start


def answer(request, sessions):
    if "make" in request:
        sessions.append(Session(request))
        return {"id": len(sessions) - 1}
    if "save" in request:
        session = sessions[request["save"]]
        session.run()
        session.y.numpy().tofile(session.output["file"])
        return {}
    return {"seconds": sessions[request["seconds"]].seconds()}


def main():
    # Ctrl-C is for the benchmark, which ends this process by closing the pipe.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    sessions = []
    for line in sys.stdin:
        try:
            result = answer(json.loads(line), sessions)
        except Exception:
            result = {"error": traceback.format_exc(limit=-1)}
        print(json.dumps(result), flush=True)


main()
