"""The gradients of the graphs of a batch, in JAX: the outside oracle of random_gradients_test.

    /usr/bin/python3 -I jax_oracle.py FOLDER SITE

oracle_files.py says what is in FOLDER, and its floats are f64; SITE is the folder that holds JAX. The answers are the
gradients by each input and weight of f64, in the order of the nodes, of the sum of all f64 outputs times
cotangent(position). What is not finite in JAX has an infinite bound on its error: 0 * infinity, where something was
not chosen, is 0 in Emulsion.

Written from the comments of dsl/operators.h, and shares no code with the library. Where a function has a kink it has
the derivative that passes/differentiate/scalar_derivatives.h states.
"""

import math
import os
import sys

os.environ["JAX_PLATFORMS"] = "cpu"
os.environ["JAX_ENABLE_X64"] = "1"
# Hundreds of small programs: most of the time is that of the compiler. Its older emitter of fusions is quicker.
# Without fused multiply-adds, which it makes in some places of a value and not in others: of equal elements another
# would be the smallest.
os.environ["XLA_FLAGS"] = (
    "--xla_backend_optimization_level=0 --xla_cpu_use_fusion_emitters=false --xla_cpu_max_isa=AVX"
)
sys.path.insert(0, sys.argv[2])
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))  # -I leaves it out

import jax  # noqa: E402  (the lines above say which, and how)
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
import oracle_files  # noqa: E402

STORED = {"f64": np.float64, "bool": np.uint8}


class Call:
    def __init__(self, node, values, sizes):
        self.params, self.sizes = node["params"], sizes
        # A number is a Python float, which has no gradient and takes all of a tie.
        self.args = [values[a["node"]] if "node" in a else float(a["number"]) for a in node.get("args", [])]

    def extent(self, value):
        return value[0] + sum(self.sizes[name] * c for name, c in value[1].items())

    def axes(self):
        return tuple(sorted(a % self.args[0].ndim for a in self.params["axes"]))


def maximum(a, b):
    """Of a tensor and a number the number at a tie; a NaN stays, and has no gradient."""
    if isinstance(b, float):
        return jnp.where(a > b, a, jnp.where(jnp.isnan(a), jnp.nan, b))
    return maximum(b, a) if isinstance(a, float) else jnp.maximum(a, b)


def minimum(a, b):
    return -maximum(-a, -b)


def extreme(x, axes, keepdims):
    """The largest, or -infinity of nothing."""
    if any(x.shape[a] == 0 for a in axes):
        shape = [1 if a in axes else n for a, n in enumerate(x.shape) if keepdims or a not in axes]
        return jnp.full(shape, -jnp.inf)
    return jnp.max(x, axis=axes, keepdims=keepdims)


def reduce_max(c):
    return extreme(c.args[0], c.axes(), c.params["keepdims"])


def reduce_min(c):
    return -extreme(-c.args[0], c.axes(), c.params["keepdims"])


def mean_over(x, axes, keepdims):
    return jnp.sum(x, axis=axes, keepdims=keepdims) / np.float64(math.prod(x.shape[a] for a in axes))


def softmax(c):
    axes = (c.params["axis"] % c.args[0].ndim,)
    e = jnp.exp(c.args[0] - extreme(c.args[0], axes, True))
    return e / jnp.sum(e, axis=axes, keepdims=True)


def last_axes(x, gamma):
    return tuple(range(x.ndim - gamma.ndim, x.ndim))


def layer_norm(c):
    x, gamma, beta = c.args
    axes = last_axes(x, gamma)
    centred = x - mean_over(x, axes, True)
    return centred / jnp.sqrt(mean_over(centred**2, axes, True) + c.params["eps"]) * gamma + beta


def rms_norm(c):
    x, gamma = c.args
    return x / jnp.sqrt(mean_over(x**2, last_axes(x, gamma), True) + c.params["eps"]) * gamma


def batch_norm(c):
    x = c.args[0]
    axis = c.params["axis"] % x.ndim
    along = [-1 if a == axis else 1 for a in range(x.ndim)]
    mean, variance, gamma, beta = (s.reshape(along) for s in c.args[1:])
    return (x - mean) * (gamma / jnp.sqrt(variance + c.params["eps"])) + beta


def pad_spatially(c, value):
    top, bottom, left, right = c.params["pad"]
    return jnp.pad(c.args[0], ((0, 0), (top, bottom), (left, right), (0, 0)), constant_values=value)


def conv2d(c):
    (dh, dw), groups = c.params["dilation"], c.params["groups"]
    x, w = pad_spatially(c, 0.0), c.args[1]
    if 0 in x.shape or 0 in w.shape:  # a sum of nothing, which JAX's convolution does not know
        rows = (x.shape[1] - dh * (w.shape[0] - 1) - 1) // c.params["stride"][0] + 1
        columns = (x.shape[2] - dw * (w.shape[1] - 1) - 1) // c.params["stride"][1] + 1
        return jnp.zeros((x.shape[0], rows, columns, w.shape[3]))
    return jax.lax.conv_general_dilated(
        x,
        w,
        window_strides=tuple(c.params["stride"]),
        padding="VALID",
        rhs_dilation=(dh, dw),
        dimension_numbers=("NHWC", "HWIO", "NHWC"),
        feature_group_count=groups,
    )


def window(c, value):
    """The places of a window side by side: an even share for equal ones, as in reduce_max."""
    x = pad_spatially(c, value)
    (kh, kw), (sh, sw) = c.params["window"], c.params["stride"]
    rows, columns = (x.shape[1] - kh) // sh + 1, (x.shape[2] - kw) // sw + 1
    places = [(y, z) for y in range(kh) for z in range(kw)]
    return jnp.stack(
        [x[:, y : y + sh * (rows - 1) + 1 : sh, z : z + sw * (columns - 1) + 1 : sw, :] for y, z in places]
        if rows > 0 and columns > 0
        else [jnp.zeros((x.shape[0], max(rows, 0), max(columns, 0), x.shape[3]))]
    )


def avg_pool(c):
    total = jnp.sum(window(c, 0.0), axis=0)
    if c.params["count_include_pad"]:
        return total / math.prod(c.params["window"])
    ones = Call({"params": c.params}, [], c.sizes)
    ones.args = [jnp.ones(c.args[0].shape)]
    return total / jnp.sum(window(ones, 0.0), axis=0)


def sliced(c):
    axes = []
    for begin, end, step in zip(c.params["begin"], c.params["end"], c.params["step"] or [1] * c.args[0].ndim):
        begin, end = c.extent(begin), c.extent(end)
        axes.append(slice(begin, end if end >= 0 else None, step) if begin != end else slice(0, 0))
    return c.args[0][tuple(axes)]


def pad(c):
    x, around = c.args[0], list(zip(c.params["low"], c.params["high"]))
    return jnp.pad(x, around, constant_values=float(c.params["value"])) if around else x


def reshape(c):
    x = c.args[0]
    return x.reshape([c.extent(e) for e in c.params["shape" if x.size else "resolved"]])


def gelu_tanh(x):
    return 0.5 * x * (1 + jnp.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


OPERATORS = {
    "add": lambda c: c.args[0] + c.args[1],
    "sub": lambda c: c.args[0] - c.args[1],
    "mul": lambda c: c.args[0] * c.args[1],
    "div": lambda c: c.args[0] / c.args[1],
    "pow": lambda c: jnp.power(*c.args),
    "min": lambda c: minimum(*c.args),
    "max": lambda c: maximum(*c.args),
    "less": lambda c: jnp.less(*c.args),
    "less_equal": lambda c: jnp.less_equal(*c.args),
    "greater": lambda c: jnp.greater(*c.args),
    "greater_equal": lambda c: jnp.greater_equal(*c.args),
    "equal": lambda c: jnp.equal(*c.args),
    "not_equal": lambda c: jnp.not_equal(*c.args),
    "logical_and": lambda c: jnp.logical_and(*c.args),
    "logical_or": lambda c: jnp.logical_or(*c.args),
    "logical_not": lambda c: jnp.logical_not(*c.args),
    "where": lambda c: jnp.where(*c.args),
    "neg": lambda c: -c.args[0],
    "abs": lambda c: jnp.abs(c.args[0]),
    "relu": lambda c: maximum(c.args[0], 0.0),
    "exp": lambda c: jnp.exp(c.args[0]),
    "log": lambda c: jnp.log(c.args[0]),
    "sqrt": lambda c: jnp.sqrt(c.args[0]),
    "tanh": lambda c: jnp.tanh(c.args[0]),
    "floor": lambda c: jnp.floor(c.args[0]),
    "ceil": lambda c: jnp.ceil(c.args[0]),
    "round": lambda c: jnp.rint(c.args[0]),
    "trunc": lambda c: jnp.trunc(c.args[0]),
    "sigmoid": lambda c: jax.nn.sigmoid(c.args[0]),
    "gelu_tanh": lambda c: gelu_tanh(c.args[0]),
    "gelu_erf": lambda c: 0.5 * c.args[0] * (1 + jax.lax.erf(c.args[0] * math.sqrt(0.5))),
    "clamp": lambda c: minimum(maximum(c.args[0], float(c.params["low"])), float(c.params["high"])),
    "cast": lambda c: c.args[0] != 0 if c.params["dtype"] == "bool" else c.args[0].astype(np.float64),
    "sum": lambda c: jnp.sum(c.args[0], axis=c.axes(), keepdims=c.params["keepdims"]),
    "mean": lambda c: mean_over(c.args[0], c.axes(), c.params["keepdims"]),
    "reduce_max": reduce_max,
    "reduce_min": reduce_min,
    "softmax": softmax,
    "layer_norm": layer_norm,
    "rms_norm": rms_norm,
    "batch_norm": batch_norm,
    "matmul": lambda c: jnp.matmul(*c.args),
    "conv2d": conv2d,
    "max_pool": lambda c: jnp.max(window(c, -jnp.inf), axis=0),
    "avg_pool": avg_pool,
    "transpose": lambda c: c.args[0].transpose(c.params["perm"] or None),
    "reshape": reshape,
    "slice": sliced,
    "concat": lambda c: jnp.concatenate(c.args, axis=c.params["axis"]),
    "pad": pad,
}


def cotangent(shape):
    return ((np.arange(math.prod(shape)) * 7 + 3) % 11 - 5).reshape(shape) / 4


def gradients(graph, run, inputs):
    leaves = {}
    for number, leaf in run["leaves"].items():
        dtype = STORED[graph["nodes"][int(number)]["dtype"]]
        data = oracle_files.leaf_data(leaf, dtype, inputs)
        leaves[int(number)] = data.astype(bool) if dtype is np.uint8 else data
    nodes = graph["nodes"]
    by = [n for n in sorted(leaves) if nodes[n]["op"] != "constant" and nodes[n]["dtype"] == "f64"]

    def total(wanted):
        values = []
        for number, node in enumerate(nodes):
            if number in leaves:
                values.append(wanted[by.index(number)] if number in by else jnp.asarray(leaves[number]))
            else:
                values.append(OPERATORS[node["op"]](Call(node, values, run["sizes"])))
        outputs = [values[o] for o in graph["outputs"]]
        return sum(jnp.sum(y * cotangent(y.shape)) for y in outputs if y.dtype == np.float64)

    return [np.asarray(g) for g in jax.jit(jax.grad(total))([leaves[n] for n in by])]


def answer(graph, run, inputs):
    results = []
    for value in gradients(graph, run, inputs):
        finite = np.abs(value[np.isfinite(value)])
        scale = 1 + (finite.max() if finite.size else 0)
        results.append(("f64", False, value, np.where(np.isfinite(value), 1e-9 * scale, np.inf)))
    return results


if __name__ == "__main__":
    oracle_files.answer_all(sys.argv[1], answer)
