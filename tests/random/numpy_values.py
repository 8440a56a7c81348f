"""Arrays of values with bounds on their errors, for numpy_oracle.py.

Every element is a value `v` (float64; int64 for integers, bool for bool) and a bound `e` on the error of whoever
computes it in its own type. The 8- and 16-bit integers wrap around, and NumPy's own conversion of the int64 result
to the type says how: they are always exact. Each operation hands the bounds of its operands on and adds its own rounding, in units
of u = 2^-24 (f32) or 2^-53 (f64): 1 for + - * / sqrt and conversions, n for a sum of n terms in whatever order,
ULPS for exp, log, pow, tanh and erf. Nothing is added where the result is known to be exact: operands without error,
and a result (for a sum: all partial sums) that f32 holds. So whole numbers give e = 0, and such results are
compared bit for bit.

e = inf says that nothing is known: a comparison of two values closer than their bounds, a cast of what i32 does not
hold, i32 that overflows, a pole inside the bound. NaN and infinity have e = 0: they have to be met exactly.

A zero with e = 0 has the sign that it has to have, while signs.known: of two equal operands max and min give the first,
and sums begin with +0. It is no longer known once a maximum was taken of zeros of both signs, whose order is nobody's
promise, or a zero was multiplied by what has a bound on both sides of 0.
"""

import math

import numpy as np

U = {"f32": 2.0**-24, "f64": 2.0**-53}
TINY = {"f32": 2.0**-125, "f64": 2.0**-1020}  # what results near 0 may lose to a flush of denormals
MAX = {"f32": float(np.finfo(np.float32).max), "f64": np.inf}
SLACK = 1.25  # for terms of second order in u, and for float64's own rounding
ULPS = 16  # exp, log, pow, tanh, erf: 8 units in the last place are 16 u at the worst
INTEGERS = {"i8": np.int8, "u8": np.uint8, "i16": np.int16, "u16": np.uint16, "i32": np.int32}
WRAPPING = ("i8", "u8", "i16", "u16")
QUANTA = [2.0**q for q in (0, 1, 2, 4, 6, 8, 10, 12)]


class Signs:
    """Whether the signs of zeros are known, for the run at hand."""

    known = True


signs = Signs()

ROUNDINGS = {"floor": np.floor, "ceil": np.ceil, "round": np.rint, "trunc": np.trunc}

erf_of = np.vectorize(math.erf, otypes=[np.float64])


def in_f32(v):
    return v.astype(np.float32).astype(np.float64)


class Value:
    """A tensor: dtype "f32", "f64", "bool" or one of INTEGERS, values, bounds."""

    def __init__(self, dtype, v, e):
        self.dtype, self.v, self.e = dtype, v, np.broadcast_to(e, v.shape)

    @property
    def shape(self):
        return self.v.shape

    def unknown(self):
        return np.isinf(self.e)

    def is_float(self):
        return self.dtype in U

    def move(self, f):
        """The same elements at other places."""
        return Value(self.dtype, f(self.v), f(self.e))


def known(dtype, v):
    v = np.asarray(v)
    v = v.astype(np.float64 if dtype in U else np.bool_ if dtype == "bool" else np.int64)
    return Value(dtype, in_f32(v) if dtype == "f32" else v, 0.0)


def unknown_where(mask, value):
    return Value(value.dtype, value.v, np.where(mask, np.inf, value.e))


def settle(dtype, v, e, unknown, ulps=1, exact=None):
    """A result: adds `ulps` roundings unless `exact`, lets what f32 does not hold become infinity."""
    v, e = np.asarray(v), np.asarray(e)
    if dtype in WRAPPING:
        return Value(dtype, v.astype(INTEGERS[dtype]).astype(np.int64), np.where(unknown, np.inf, 0.0))
    if dtype not in U:
        too_large = abs(v) > 2**31 - 1 if dtype == "i32" else False
        return Value(dtype, v, np.where(unknown | too_large, np.inf, 0.0))
    if exact is None:
        exact = (e == 0) & (in_f32(v) == v)
    magnitude = abs(v) + e
    e = np.where(exact, e, e + SLACK * ulps * U[dtype] * magnitude + ulps * TINY[dtype])
    limit = MAX[dtype] * (1 + U[dtype])
    over = np.isfinite(v) & (abs(v) - e > limit)
    unknown = unknown | (np.isfinite(v) & ~over & (abs(v) + e > limit))
    v = np.where(over, np.copysign(np.inf, v), v)
    return Value(dtype, v, np.where(unknown, np.inf, np.where(np.isfinite(v), np.nan_to_num(e, nan=np.inf), 0.0)))


def may_be_zero(x):
    return (x.e > 0) & (abs(x.v) <= x.e)


def binary(op, a, b):
    unknown = a.unknown() | b.unknown()
    ea, eb = np.where(a.unknown(), 0, a.e), np.where(b.unknown(), 0, b.e)
    x, y, dtype = a.v, b.v, a.dtype
    if op in ("add", "sub"):
        return settle(dtype, x + y if op == "add" else x - y, ea + eb, unknown)
    if op == "mul":
        unknown = unknown | (np.isinf(x) & may_be_zero(b)) | (np.isinf(y) & may_be_zero(a))
        if (((x == 0) & may_be_zero(b)) | ((y == 0) & may_be_zero(a))).any():
            signs.known = False
        return settle(dtype, x * y, abs(x) * eb + ea * abs(y) + ea * eb, unknown)
    if op in ("min", "max"):
        second = (y < x) if op == "min" else (x < y)
        v = np.where(np.isnan(x) | ~(second | np.isnan(y)), x, y)
        return settle(dtype, v, np.maximum(ea, eb), unknown, ulps=0)
    if op == "pow":
        return power(dtype, x, ea, y, eb, unknown)
    if op != "div":
        raise ValueError(op)
    if dtype in INTEGERS:  # towards minus infinity; by zero 0
        return settle(dtype, np.floor_divide(x, y), 0.0, unknown)
    v = x / y
    e = (ea + abs(v) * eb) / (abs(y) - eb)
    # Which infinity x / 0 is depends on the sign of the 0, and that may not be known.
    return settle(dtype, v, e, unknown | may_be_zero(b) | ((y == 0) & (x != 0) & ~np.isnan(x)))


def power(dtype, x, ea, y, eb, unknown):
    """x ** y, with bounds on its operands."""
    w = np.power(x, y)
    # What has a bound may be on the other side of where the power jumps.
    near_zero = (ea > 0) & (abs(x) <= ea)
    near_one = (ea > 0) & (abs(abs(x) - 1) <= ea) & (np.isinf(y) | np.isnan(y))
    between_whole = (eb > 0) & (x <= 0)
    near_no_power = (eb > 0) & (abs(y) <= eb) & ~np.isfinite(x)
    # Which infinity 0 ** -1 is depends on the sign of the 0, as in a division.
    pole = (x == 0) & (y < 0)
    unknown = unknown | near_zero | near_one | between_whole | near_no_power | pole
    relative = (abs(y) + eb) * -np.log1p(-np.where(ea > 0, ea / abs(x), 0)) + np.where(eb > 0, abs(np.log(abs(x))) * eb, 0)
    return settle(dtype, w, abs(w) * np.expm1(np.where(relative > 0, relative, 0)), unknown, ulps=ULPS, exact=False)


COMPARE = {
    "less": np.less,
    "less_equal": np.less_equal,
    "greater": np.greater,
    "greater_equal": np.greater_equal,
    "equal": np.equal,
    "not_equal": np.not_equal,
}


def compare(op, a, b):
    close = False
    if a.is_float():
        bound = a.e + b.e
        close = (bound > 0) & ~(abs(a.v - b.v) > bound) & np.isfinite(a.v) & np.isfinite(b.v)
    return settle("bool", COMPARE[op](a.v, b.v), 0.0, a.unknown() | b.unknown() | close)


def select(condition, a, b):
    v = np.where(condition.v, a.v, b.v)
    return Value(a.dtype, v, np.where(condition.unknown(), np.inf, np.where(condition.v, a.e, b.e)))


def unary(op, x):
    v, e, unknown = x.v, np.where(x.unknown(), 0, x.e), x.unknown()
    if op == "neg":
        return settle(x.dtype, -v, e, unknown, ulps=0)
    if op == "abs":
        return settle(x.dtype, abs(v), e, unknown, ulps=0)
    if op == "exp":
        w = np.exp(v)
        return settle(x.dtype, w, w * np.expm1(e), unknown, ulps=ULPS, exact=False)
    if op == "log":
        pole = (e > 0) & (v - e <= 0) & (v + e >= 0)
        return settle(x.dtype, np.log(v), np.where(e > 0, e / abs(v - e), 0), unknown | pole, ulps=ULPS, exact=False)
    if op == "sqrt":
        edge = (e > 0) & (v - e <= 0) & (v + e >= 0)
        return settle(x.dtype, np.sqrt(v), np.where(e > 0, e / np.sqrt(abs(v - e)), 0), unknown | edge)
    if op == "tanh":
        return settle(x.dtype, np.tanh(v), e, unknown, ulps=ULPS, exact=False)
    if op in ROUNDINGS:  # exact, but where the bound reaches over a step
        low, high = (ROUNDINGS[op](v + d) for d in (-e, e))
        steps = np.isfinite(v) & ((low != high) | (np.signbit(low) != np.signbit(high)))
        return settle(x.dtype, ROUNDINGS[op](v), 0.0, unknown | steps, ulps=0)
    if op == "erf":
        return settle(x.dtype, erf_of(v) if v.size else v, 1.13 * e, unknown, ulps=ULPS, exact=False)
    raise ValueError(op)


def sigmoid(x):
    """Its slope is at most 1/4, and at most its own value: small results keep their relative accuracy."""
    v = np.where(x.v < 0, np.exp(-abs(x.v)), 1.0) / (1 + np.exp(-abs(x.v)))
    e = np.where(x.unknown(), 0, np.minimum(x.e / 4, v * np.expm1(np.where(x.unknown(), 0, x.e))))
    return settle(x.dtype, v, e, x.unknown(), ulps=ULPS + 4, exact=False)


def cast(x, dtype):
    unknown = x.unknown()
    if dtype == "bool":
        return settle(dtype, x.v != 0, 0.0, unknown | (may_be_zero(x) if x.is_float() else False))
    if dtype in INTEGERS:
        if not x.is_float():
            return settle(dtype, x.v.astype(np.int64), 0.0, unknown)
        # Ours: what the type does not hold becomes its nearest end, NaN 0; NumPy leaves both open.
        ends = np.iinfo(INTEGERS[dtype])
        e = np.where(unknown, 0, x.e)
        low, high = (np.clip(np.trunc(np.nan_to_num(x.v + d)), ends.min, ends.max) for d in (-e, e))
        return settle(dtype, low.astype(np.int64), 0.0, unknown | (low != high))
    wide = x.v.astype(np.float64)
    e = np.where(unknown, 0.0, x.e)
    return settle(dtype, wide, e, unknown, ulps=0 if x.dtype == "f32" else 1)


def exact_sum(terms, axes, keepdims):
    """Where every partial sum, in any order, is a multiple of a quantum and below 2^24 of them."""
    size = abs(terms).sum(axis=axes, keepdims=keepdims)
    result = np.zeros(size.shape, dtype=bool)
    for q in QUANTA:
        if (np.rint(terms * q) == terms * q).all():
            return size * q <= 2**24
    return result


def reduce_sum(x, axes, keepdims):
    unknown = x.unknown().any(axis=axes, keepdims=keepdims)
    v = np.where(x.unknown(), 0, x.v)
    total = v.sum(axis=axes, keepdims=keepdims) + 0
    if not x.is_float():
        overflows = x.dtype == "i32" and abs(v).sum(axis=axes, keepdims=keepdims) >= 2**31
        return settle(x.dtype, total, 0.0, unknown | overflows)
    errors = np.where(x.unknown(), 0, x.e)
    e = errors.sum(axis=axes, keepdims=keepdims)
    size = (abs(v) + errors).sum(axis=axes, keepdims=keepdims)
    count = math.prod(x.shape[a] for a in axes)
    exact = (e == 0) & exact_sum(v, axes, keepdims)
    e = np.where(exact, 0, e + SLACK * count * U[x.dtype] * size + count * TINY[x.dtype])
    unknown = unknown | (np.isfinite(total) & (size > MAX[x.dtype]))
    return settle(x.dtype, total, e, unknown, ulps=0)


def reduce_extreme(op, x, axes, keepdims):
    """Over no elements: the identity."""
    lowest = -np.inf if x.is_float() else np.iinfo(INTEGERS[x.dtype]).min
    highest = np.inf if x.is_float() else np.iinfo(INTEGERS[x.dtype]).max
    v = np.where(x.unknown(), 0, x.v)
    e = np.where(x.unknown(), 0, x.e).max(axis=axes, keepdims=keepdims, initial=0)
    unknown = x.unknown().any(axis=axes, keepdims=keepdims)
    if x.is_float() and (((v == 0) & np.signbit(v)).any() and ((v == 0) & ~np.signbit(v)).any()):
        signs.known = False
    if op == "max":
        v = v.max(axis=axes, keepdims=keepdims, initial=lowest)
    else:
        v = v.min(axis=axes, keepdims=keepdims, initial=highest)
    result = settle(x.dtype, v, e, unknown, ulps=0)
    if x.dtype == "i32":  # the lowest i32 is a legal identity, not an overflow
        result.e = np.where(unknown, np.inf, 0.0)
    return result


def contract(a, b):
    """[.., M, K] x [.., K, N]. By einsum: a BLAS may skip a product with 0, which would lose a NaN."""
    product = "...mk,...kn->...mn"
    ua, ub = a.unknown(), b.unknown()
    x, y = np.where(ua, 0, a.v), np.where(ub, 0, b.v)
    unknown = ua.any(axis=-1)[..., :, None] | ub.any(axis=-2)[..., None, :]
    v = np.einsum(product, x, y) + 0
    if not a.is_float():
        overflows = a.dtype == "i32" and np.einsum(product, abs(x), abs(y)) >= 2**31
        return settle(a.dtype, v, 0.0, unknown | overflows)
    ea, eb = np.where(ua, 0, a.e), np.where(ub, 0, b.e)
    hazard = np.einsum(product, np.isinf(x) * 1.0, may_be_zero(b) * 1.0) + np.einsum(
        product, may_be_zero(a) * 1.0, np.isinf(y) * 1.0
    )
    e = np.einsum(product, abs(x), eb) + np.einsum(product, ea, abs(y) + eb)
    size = np.einsum(product, abs(x) + ea, abs(y) + eb)
    count = x.shape[-1]
    exact = (e == 0) & (size <= 0)  # a sum of zeros
    for q in QUANTA:
        if (np.rint(x * q) == x * q).all() and (np.rint(y * q) == y * q).all():
            exact = (e == 0) & (size * q * q <= 2**24)
            break
    e = np.where(exact, 0, e + SLACK * (count + 1) * U[a.dtype] * size + count * TINY[a.dtype])
    unknown = unknown | (hazard > 0) | (np.isfinite(v) & (size > MAX[a.dtype]))
    return settle(a.dtype, v, e, unknown, ulps=0)
