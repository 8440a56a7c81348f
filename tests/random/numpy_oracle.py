"""What the graphs of a batch evaluate to, in NumPy: the outside oracle of the random-graph test.

    /usr/bin/python3 -I numpy_oracle.py FOLDER

oracle_files.py says what is in FOLDER, numpy_values.py what the bounds of errors are.

Written from the comments of dsl/operators.h, and shares no code with the library.
"""

import math
import os
import sys

try:
    import numpy as np
except ImportError:
    sys.exit("numpy is missing for /usr/bin/python3: install the Debian package python3-numpy (./bazelw does it)")

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))  # -I leaves it out
import numpy_values as nv  # noqa: E402
import oracle_files  # noqa: E402

STORED = {"f32": np.float32, "f64": np.float64, "bool": np.uint8, **nv.INTEGERS}


class Call:
    """One call of an operator: its operands as Values, its parameters, the sizes of this run."""

    def __init__(self, node, values, sizes):
        self.params, self.sizes = node["params"], sizes
        tensors = [values[a["node"]] for a in node.get("args", []) if "node" in a]
        self.args = []
        for arg in node.get("args", []):
            if "node" in arg:
                self.args.append(values[arg["node"]])
            else:  # a number has the type of the tensor beside it, the last one in where()
                self.args.append(nv.known(tensors[-1].dtype, arg["number"]))

    def extent(self, value):
        return value[0] + sum(self.sizes[name] * c for name, c in value[1].items())

    def number(self, name, like):
        return nv.known(like.dtype, self.params[name])

    def axes(self, x):
        return tuple(sorted(a % x.v.ndim for a in self.params["axes"]))


def clamp(call):
    (x,) = call.args
    return nv.binary("min", nv.binary("max", x, call.number("low", x)), call.number("high", x))


def gelu(x, inner):
    """x / 2 * (1 + inner)"""
    one, half = nv.known(x.dtype, 1), nv.known(x.dtype, 0.5)
    return nv.binary("mul", nv.binary("mul", x, half), nv.binary("add", inner, one))


def gelu_tanh(call):
    (x,) = call.args
    # Constants are written out in float64 by whoever computes in f32, too: one rounding more.
    cube = nv.binary("mul", nv.binary("mul", nv.binary("mul", x, x), x), nv.known(x.dtype, 0.044715))
    inner = nv.binary("mul", nv.binary("add", x, cube), nv.known(x.dtype, math.sqrt(2 / math.pi)))
    inner = nv.settle(x.dtype, inner.v, inner.e, inner.unknown(), ulps=4)
    return gelu(x, nv.unary("tanh", inner))


def gelu_erf(call):
    (x,) = call.args
    scaled = nv.binary("mul", x, nv.known(x.dtype, math.sqrt(0.5)))
    scaled = nv.settle(x.dtype, scaled.v, scaled.e, scaled.unknown(), ulps=2)
    return gelu(x, nv.unary("erf", scaled))


def mean_over(x, axes, keepdims):
    count = math.prod(x.shape[a] for a in axes)
    return nv.binary("div", nv.reduce_sum(x, axes, keepdims), nv.known(x.dtype, count))


def softmax(call):
    (x,) = call.args
    axes = (call.params["axis"] % x.v.ndim,)
    e = nv.unary("exp", nv.binary("sub", x, nv.reduce_extreme("max", x, axes, True)))
    return nv.binary("div", e, nv.reduce_sum(e, axes, True))


def normalised(call, x, mean_square):
    root = nv.unary("sqrt", nv.binary("add", mean_square, call.number("eps", x)))
    return nv.binary("div", x, root)


def layer_norm(call):
    x, gamma, beta = call.args
    axes = tuple(range(x.v.ndim - gamma.v.ndim, x.v.ndim))
    centred = nv.binary("sub", x, mean_over(x, axes, True))
    variance = mean_over(nv.binary("mul", centred, centred), axes, True)
    return nv.binary("add", nv.binary("mul", normalised(call, centred, variance), gamma), beta)


def rms_norm(call):
    x, gamma = call.args
    axes = tuple(range(x.v.ndim - gamma.v.ndim, x.v.ndim))
    return nv.binary("mul", normalised(call, x, mean_over(nv.binary("mul", x, x), axes, True)), gamma)


def batch_norm(call):
    x = call.args[0]
    axis = call.params["axis"] % x.v.ndim
    along = [-1 if a == axis else 1 for a in range(x.v.ndim)]
    mean, variance, gamma, beta = (s.move(lambda a: a.reshape(along)) for s in call.args[1:])
    scale = normalised(call, gamma, variance)
    return nv.binary("add", nv.binary("mul", nv.binary("sub", x, mean), scale), beta)


def matmul(call):
    a, b = call.args
    a_is_row, b_is_column = a.v.ndim == 1, b.v.ndim == 1
    if a_is_row:
        a = a.move(lambda x: x[None, :])
    if b_is_column:
        b = b.move(lambda x: x[:, None])
    result = nv.contract(a, b)
    if b_is_column:
        result = result.move(lambda x: x[..., 0])
    if a_is_row:
        result = result.move(lambda x: x[..., 0] if b_is_column else x[..., 0, :])
    return result


def padded(x, low, high, value):
    if not low:
        return x
    around = list(zip(low, high))
    v = np.pad(x.v, around, constant_values=value)
    return nv.Value(x.dtype, v, np.pad(x.e, around))


def patches(x, window, stride, dilation):
    """Views of x [N, H, W, C], one for each place of the window: [(ky, kx, view)]."""
    reach = [dilation[i] * (window[i] - 1) + 1 for i in range(2)]
    out = [(x.shape[1 + i] - reach[i]) // stride[i] + 1 for i in range(2)]
    for ky in range(window[0]):
        for kx in range(window[1]):
            first = (ky * dilation[0], kx * dilation[1])
            rows = slice(first[0], first[0] + stride[0] * (out[0] - 1) + 1 if out[0] else first[0], stride[0])
            columns = slice(first[1], first[1] + stride[1] * (out[1] - 1) + 1 if out[1] else first[1], stride[1])
            yield ky, kx, x.move(lambda a: a[:, rows, columns, :])


def pad_spatially(call, x, value):
    top, bottom, left, right = call.params["pad"]
    return padded(x, (0, top, left, 0), (0, bottom, right, 0), value)


def conv2d(call):
    x, w = call.args
    x = pad_spatially(call, x, 0)
    groups = call.params["groups"]
    inputs, outputs = w.shape[2], w.shape[3] // groups
    found = list(patches(x, w.shape[:2], call.params["stride"], call.params["dilation"]))
    results = []
    for g in range(groups):
        rows = slice(g * inputs, (g + 1) * inputs)
        columns = slice(g * outputs, (g + 1) * outputs)

        def image(a):
            return np.concatenate([getattr(view, a)[..., rows] for _, _, view in found], axis=-1)

        def kernel(a):
            return np.concatenate([getattr(w, a)[ky, kx][:, columns] for ky, kx, _ in found], axis=0)

        shape = found[0][2].shape[:3]
        flat = nv.Value(x.dtype, image("v"), image("e")).move(
            lambda a: a.reshape(math.prod(shape), len(found) * inputs)
        )
        product = nv.contract(flat, nv.Value(w.dtype, kernel("v"), kernel("e")))
        results.append(product.move(lambda a: a.reshape(shape + (outputs,))))
    return concatenated(results, 3)


def stacked_window(call, x, value):
    x = pad_spatially(call, x, value)
    views = [view for _, _, view in patches(x, call.params["window"], call.params["stride"], (1, 1))]
    return nv.Value(x.dtype, np.stack([p.v for p in views]), np.stack([p.e for p in views]))


def max_pool(call):
    (x,) = call.args
    lowest = -np.inf if x.is_float() else np.iinfo(nv.INTEGERS[x.dtype]).min
    return nv.reduce_extreme("max", stacked_window(call, x, lowest), (0,), False)


def avg_pool(call):
    (x,) = call.args
    total = nv.reduce_sum(stacked_window(call, x, 0), (0,), False)
    if call.params["count_include_pad"]:
        return nv.binary("div", total, nv.known(x.dtype, math.prod(call.params["window"])))
    ones = nv.known(x.dtype, np.ones(x.shape))
    return nv.binary("div", total, nv.reduce_sum(stacked_window(call, ones, 0), (0,), False))


def sliced(call):
    (x,) = call.args
    axes = []
    for begin, end, step in zip(call.params["begin"], call.params["end"], call.params["step"] or [1] * x.v.ndim):
        begin, end = call.extent(begin), call.extent(end)
        axes.append(slice(begin, end if end >= 0 else None, step) if begin != end else slice(0, 0))
    return x.move(lambda a: a[tuple(axes)])


def concatenated(values, axis):
    v = np.concatenate([x.v for x in values], axis=axis)
    return nv.Value(values[0].dtype, v, np.concatenate([x.e for x in values], axis=axis))


def logical(f):
    def evaluate(call):
        unknown = np.logical_or.reduce(np.broadcast_arrays(*[x.unknown() for x in call.args]))
        return nv.settle("bool", f(*[x.v for x in call.args]), 0.0, unknown)

    return evaluate


OPERATORS = {
    "where": lambda c: nv.select(*c.args),
    "relu": lambda c: nv.binary("max", c.args[0], nv.known(c.args[0].dtype, 0)),
    "sigmoid": lambda c: nv.sigmoid(c.args[0]),
    "gelu_tanh": gelu_tanh,
    "gelu_erf": gelu_erf,
    "clamp": clamp,
    "cast": lambda c: nv.cast(c.args[0], c.params["dtype"]),
    "sum": lambda c: nv.reduce_sum(c.args[0], c.axes(c.args[0]), c.params["keepdims"]),
    "reduce_max": lambda c: nv.reduce_extreme("max", c.args[0], c.axes(c.args[0]), c.params["keepdims"]),
    "reduce_min": lambda c: nv.reduce_extreme("min", c.args[0], c.axes(c.args[0]), c.params["keepdims"]),
    "mean": lambda c: mean_over(c.args[0], c.axes(c.args[0]), c.params["keepdims"]),
    "softmax": softmax,
    "layer_norm": layer_norm,
    "rms_norm": rms_norm,
    "batch_norm": batch_norm,
    "matmul": matmul,
    "conv2d": conv2d,
    "max_pool": max_pool,
    "avg_pool": avg_pool,
    "transpose": lambda c: c.args[0].move(lambda a: a.transpose(c.params["perm"] or None)),
    "reshape": lambda c: c.args[0].move(
        lambda a: a.reshape([c.extent(e) for e in c.params["shape" if a.size else "resolved"]])
    ),
    "slice": sliced,
    "concat": lambda c: concatenated(c.args, c.params["axis"]),
    "pad": lambda c: padded(
        c.args[0], c.params["low"], c.params["high"], c.number("value", c.args[0]).v
    ),
    "logical_and": logical(np.logical_and),
    "logical_or": logical(np.logical_or),
    "logical_not": logical(np.logical_not),
}
for name in ("add", "sub", "mul", "div", "pow", "min", "max"):
    OPERATORS[name] = lambda c, name=name: nv.binary(name, *c.args)
for name in nv.COMPARE:
    OPERATORS[name] = lambda c, name=name: nv.compare(name, *c.args)
for name in ("neg", "abs", "exp", "log", "sqrt", "tanh", *nv.ROUNDINGS):
    OPERATORS[name] = lambda c, name=name: nv.unary(name, c.args[0])


def evaluate(graph, run, inputs):
    values = []
    for number, node in enumerate(graph["nodes"]):
        leaf = run["leaves"].get(str(number))
        if leaf is not None:
            data = oracle_files.leaf_data(leaf, STORED[node["dtype"]], inputs)
            values.append(nv.known(node["dtype"], data))
        else:
            values.append(OPERATORS[node["op"]](Call(node, values, run["sizes"])))
    return [values[output] for output in graph["outputs"]]


def answer(graph, run, inputs):
    nv.signs.known = True
    values = evaluate(graph, run, inputs)
    return [(value.dtype, nv.signs.known and value.is_float(), value.v, value.e) for value in values]


def main(folder):
    np.seterr(all="ignore")
    oracle_files.answer_all(folder, answer)


if __name__ == "__main__":
    main(sys.argv[1])
