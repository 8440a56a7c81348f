"""A peer in a process of its own: ONNX Runtime on one thread, which answers requests on standard input line by line.

    /usr/bin/python3 -I onnx_runtime.py SITE

SITE is the folder that holds onnx and onnxruntime. Requests and answers are JSON:

    {"make": "softmax", "inputs": {"x": {"shape": [64, 1000], "file": "/tmp/x", "weight": false}},
     "output": {"shape": [64, 1000], "file": "/tmp/y"}, "run_time": true}   {"id": 0}
    {"save": 0}       {}, once the model's output is in its file
    {"seconds": 0}    {"seconds": 1.2e-05}, those of the thread's processor in one call, which follows an
                      untimed one
    anything wrong    {"error": "..."}

Files are f32 of this machine, row-major. With "run_time" the model knows no extent of its inputs but that of the last
axis. Inputs and outputs are bound once, so that no call copies them.
"""

import inspect
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


def mlp():
    return [
        helper.make_node("Gemm", ["x", "w1", "b1"], ["sum1"]),
        helper.make_node("Relu", ["sum1"], ["h"]),
        helper.make_node("Gemm", ["h", "w2", "b2"], ["sum2"]),
        helper.make_node("Relu", ["sum2"], ["y"]),
    ]


def node(kind, inputs, output, **attributes):
    return helper.make_node(kind, inputs.split(), output.split(), **attributes)


def number(name, value):
    return helper.make_node("Constant", [], [name], value_float=value)


def numbers(name, values):
    return helper.make_node("Constant", [], [name], value_ints=values)


def dense(x, n, y):
    return [node("MatMul", "{} w{}".format(x, n), y + "_product"), node("Add", "{0}_product b{1}".format(y, n), y)]


def norm(x, n, y):
    return [node("LayerNormalization", "{0} gamma{1} beta{1}".format(x, n), y, axis=-1, epsilon=1e-5)]


def gelu(x, y):
    return [
        number(y + "_root", 1.4142135),
        number(y + "_one", 1.0),
        number(y + "_half", 0.5),
        node("Div", "{} {}_root".format(x, y), y + "_scaled"),
        node("Erf", y + "_scaled", y + "_erf"),
        node("Add", "{0}_erf {0}_one".format(y), y + "_plus"),
        node("Mul", "{0} {1}_plus".format(x, y), y + "_twice"),
        node("Mul", "{0}_twice {0}_half".format(y), y),
    ]


def attend(q, keys_turned, v, y):
    return [
        node("MatMul", q + " " + keys_turned, "scores"),
        number("scale", 0.125),
        node("Mul", "scores scale", "scaled"),
        node("Softmax", "scaled", "weights", axis=-1),
        node("MatMul", "weights " + v, y),
    ]


def attention():
    return [node("Transpose", "k", "k_t", perm=[0, 2, 1]), *attend("q", "k_t", "v", "y")]


def masked_attention():
    nodes = attention()
    nodes.insert(4, helper.make_node("Add", ["scaled", "mask"], ["masked"]))
    nodes[5] = helper.make_node("Softmax", ["masked"], ["weights"], axis=-1)
    return nodes


def transformer_layer():
    def heads(part, turned, perm):
        return [
            node("Reshape", part + " by_head", part + "_heads"),
            node("Transpose", part + "_heads", turned, perm=perm),
        ]

    return [
        *norm("x", 1, "n1"),
        *dense("n1", 1, "qkv"),
        node("Split", "qkv", "q k v", axis=1),
        numbers("by_head", [0, -1, 64]),
        *heads("q", "q_t", [1, 0, 2]),
        *heads("k", "k_t", [1, 2, 0]),
        *heads("v", "v_t", [1, 0, 2]),
        *attend("q_t", "k_t", "v_t", "mixed"),
        node("Transpose", "mixed", "mixed_t", perm=[1, 0, 2]),
        numbers("by_row", [0, -1]),
        node("Reshape", "mixed_t by_row", "rows"),
        *dense("rows", 2, "projected"),
        node("Add", "x projected", "a"),
        *norm("a", 2, "n2"),
        *dense("n2", 3, "h"),
        *gelu("h", "g"),
        *dense("g", 4, "ffn"),
        node("Add", "a ffn", "y"),
    ]


def gated_ffn():
    return [
        node("Mul", "x x", "squares"),
        node("ReduceMean", "squares", "mean", axes=[-1], keepdims=1),
        number("eps", 1e-5),
        node("Add", "mean eps", "moved"),
        node("Sqrt", "moved", "root"),
        node("Div", "x root", "unit"),
        node("Mul", "unit gamma", "n"),
        node("MatMul", "n w1", "gate"),
        node("Sigmoid", "gate", "open"),
        node("Mul", "gate open", "silu"),
        node("MatMul", "n w2", "up"),
        node("Mul", "silu up", "h"),
        node("MatMul", "h w3", "down"),
        node("Add", "x down", "y"),
    ]


def decode_step():
    return attention()


def rotary():
    return [
        node("Split", "x", "low high", axis=2),
        node("Neg", "high", "minus"),
        node("Concat", "minus low", "turned", axis=2),
        node("Mul", "x cosines", "a"),
        node("Mul", "turned sines", "b"),
        node("Add", "a b", "y"),
    ]


def lstm_step():
    return [
        *dense("x", 1, "of_x"),
        node("MatMul", "h w2", "of_h"),
        node("Add", "of_x of_h", "gates"),
        node("Split", "gates", "i f g o", axis=1),
        node("Sigmoid", "i", "si"),
        node("Sigmoid", "f", "sf"),
        node("Tanh", "g", "tg"),
        node("Sigmoid", "o", "so"),
        node("Mul", "sf c", "kept"),
        node("Mul", "si tg", "added"),
        node("Add", "kept added", "next"),
        node("Tanh", "next", "t"),
        node("Mul", "so t", "y"),
    ]


def mixer():
    return [
        *norm("x", 1, "n"),
        node("Transpose", "n", "n_t", perm=[1, 0]),
        *dense("n_t", 1, "h"),
        *gelu("h", "g"),
        *dense("g", 2, "out"),
        node("Transpose", "out", "out_t", perm=[1, 0]),
        node("Add", "x out_t", "y"),
    ]


def cosines():
    def unit(x):
        return [
            node("Mul", "{0} {0}".format(x), x + "_squares"),
            node("ReduceSum", x + "_squares last", x + "_sum", keepdims=1),
            node("Add", x + "_sum eps", x + "_moved"),
            node("Sqrt", x + "_moved", x + "_root"),
            node("Div", "{0} {0}_root".format(x), x + "_unit"),
        ]

    return [
        number("eps", 1e-6),
        numbers("last", [-1]),
        *unit("a"),
        *unit("b"),
        node("Transpose", "b_unit", "b_t", perm=[1, 0]),
        node("MatMul", "a_unit b_t", "y"),
    ]


def log_softmax():
    return [node("LogSoftmax", "x", "y", axis=-1)]


def convolution(x, n, y, window, groups=1, stride=1):
    border = window // 2
    return [
        node("Conv", "{0} w{1} b{1}".format(x, n), y, pads=[border] * 4, group=groups, strides=[stride] * 2)
    ]


def bottleneck():
    return [
        *convolution("x", 1, "a", 1),
        node("Relu", "a", "a_relu"),
        *convolution("a_relu", 2, "b", 3),
        node("Relu", "b", "b_relu"),
        *convolution("b_relu", 3, "c", 1),
        node("Add", "c x", "sum"),
        node("Relu", "sum", "y"),
    ]


def inverted_residual(w2):
    def relu6(x):
        return [node("Clip", x + " zero six", x + "_6")]

    return [
        number("zero", 0.0),
        number("six", 6.0),
        *convolution("x", 1, "a", 1),
        *relu6("a"),
        *convolution("a_6", 2, "b", 3, groups=w2["shape"][3]),
        *relu6("b"),
        *convolution("b_6", 3, "c", 1),
        node("Add", "c x", "y"),
    ]


def stem():
    return [
        *convolution("x", 1, "a", 7, stride=2),
        node("Relu", "a", "r"),
        node("MaxPool", "r", "y", kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4),
    ]


def classifier():
    return [
        node("GlobalAveragePool", "x", "mean"),
        node("Flatten", "mean", "flat"),
        *dense("flat", 1, "logits"),
        node("Softmax", "logits", "y", axis=-1),
    ]


MODELS = {
    f.__name__: f
    for f in [
        softmax,
        layer_norm,
        layer_norm_residual,
        attention,
        masked_attention,
        mlp,
        transformer_layer,
        gated_ffn,
        decode_step,
        rotary,
        lstm_step,
        mixer,
        cosines,
        log_softmax,
        bottleneck,
        inverted_residual,
        stem,
        classifier,
    ]
}


def turned(values, is_weight):
    """Pictures [N, H, W, C] as [N, C, H, W], windows [H, W, I, O] as [O, I, H, W]: both as each side likes them."""
    if values.ndim != 4:
        return values
    return np.ascontiguousarray(values.transpose([3, 2, 0, 1] if is_weight else [0, 3, 1, 2]))


class Session:
    def __init__(self, request):
        def values_of(one):
            return turned(np.fromfile(one["file"], np.float32).reshape(one["shape"]), one["weight"])

        def declared(name, one):
            shape = list(one["shape"])
            if len(shape) == 4:
                shape = [shape[0], shape[3], shape[1], shape[2]]
            if request["run_time"] and len(shape) > 1:
                shape[:-1] = ["{}{}".format(name, i) for i in range(len(shape) - 1)]
            return helper.make_tensor_value_info(name, FLOAT, shape)

        inputs, self.output = request["inputs"], request["output"]
        make = MODELS[request["make"]]
        weights = {n for n, one in inputs.items() if one["weight"]}
        graph = helper.make_graph(
            make(*[inputs[parameter] for parameter in inspect.signature(make).parameters]),
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
        self.y = onnxruntime.OrtValue.ortvalue_from_numpy(turned(np.zeros(self.output["shape"], np.float32), False))
        self.binding.bind_ortvalue_output("y", self.y)

    def run(self):
        self.session.run_with_iobinding(self.binding)

    def seconds(self):
        self.run()
        start = time.thread_time()
        self.run()
        return time.thread_time() - start


def answer(request, sessions):
    if "make" in request:
        sessions.append(Session(request))
        return {"id": len(sessions) - 1}
    if "save" in request:
        session = sessions[request["save"]]
        session.run()
        values = session.y.numpy()
        if values.ndim == 4:
            values = values.transpose([0, 2, 3, 1])
        values.tofile(session.output["file"])
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
