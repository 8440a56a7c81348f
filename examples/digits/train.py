#!/usr/bin/env python3
"""Trains the 64-128-64-10 network that examples/digits runs.

The repository carries the result (weights/*.npy), so nobody needs this script to run the example; it
is here so that the weights can be checked and made again. It needs Python 3 and NumPy, nothing else.

Held-out rule: image i (0-based, in the order of the file) is held out when i % 4 == 0. The held-out
images are read once, after the last step of training, for the accuracy printed at the end. The
settings below were compared with --validate only, which trains on the rest of the training part and
measures on its images with i % 4 == 2, and never reads a held-out image.
"""

import argparse
import os
import sys
import tempfile

# One thread and one order of summation: the same machine then writes the same bytes every time.
for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_name] = "1"

import numpy as np  # noqa: E402  (the variables above must be set first)

PIXELS = 64
SIDE = 8
MAX_PIXEL = 16
CLASSES = 10
LAYERS = (PIXELS, 128, 64, CLASSES)

SEED = 20240
EPOCHS = 200
BATCH = 32
LEARNING_RATE = 0.05
MOMENTUM = 0.9
WEIGHT_DECAY = 1e-3
SHIFT_PROBABILITY = 0.25


def fail(message):
    sys.exit(f"train.py: {message}")


def read_digits(path):
    """Returns images [N, 64] in [0, 1] and labels [N]."""
    try:
        with open(path, encoding="ascii") as file:
            rows = [[int(cell) for cell in line.split(",")] for line in file]
    except (OSError, ValueError) as error:
        fail(f"{path}: {error}")
    for number, row in enumerate(rows, start=1):
        if len(row) != PIXELS + 1:
            fail(f"{path}:{number}: expected {PIXELS + 1} columns, found {len(row)}")
        if not all(0 <= pixel <= MAX_PIXEL for pixel in row[:PIXELS]):
            fail(f"{path}:{number}: expected pixels from 0 to {MAX_PIXEL}")
        if not 0 <= row[PIXELS] < CLASSES:
            fail(f"{path}:{number}: expected a label from 0 to {CLASSES - 1}")
    if not rows:
        fail(f"{path}: expected at least one row, found none")
    table = np.array(rows, dtype=np.int64)
    return (table[:, :PIXELS] / MAX_PIXEL).astype(np.float32), table[:, PIXELS]


def split(count, validate):
    """Returns the indices to train on and the indices to measure on."""
    index = np.arange(count)
    measured = 2 if validate else 0
    return index[(index % 4 != 0) & (index % 4 != measured)], index[index % 4 == measured]


def shift(images, rng):
    """Moves some images by up to one pixel each way; the row or column left behind becomes empty."""
    grid = images.reshape(-1, SIDE, SIDE)
    padded = np.pad(grid, ((0, 0), (1, 1), (1, 1)))
    offset = rng.integers(0, 3, size=(len(grid), 2))
    offset[rng.random(len(grid)) >= SHIFT_PROBABILITY] = 1
    rows = offset[:, 0, None, None] + np.arange(SIDE)[None, :, None]
    columns = offset[:, 1, None, None] + np.arange(SIDE)[None, None, :]
    return padded[np.arange(len(grid))[:, None, None], rows, columns].reshape(-1, PIXELS)


def initial_parameters(rng):
    """He's initialisation: the variance that ReLU keeps from layer to layer."""
    parameters = []
    for fan_in, fan_out in zip(LAYERS, LAYERS[1:]):
        scale = np.sqrt(2.0 / fan_in)
        parameters.append((rng.standard_normal((fan_in, fan_out)) * scale).astype(np.float32))
        parameters.append(np.zeros(fan_out, dtype=np.float32))
    return parameters


def forward(parameters, x):
    """Returns the input of every layer, and the logits last."""
    w1, b1, w2, b2, w3, b3 = parameters
    h1 = np.maximum(x @ w1 + b1, np.float32(0))
    h2 = np.maximum(h1 @ w2 + b2, np.float32(0))
    return x, h1, h2, h2 @ w3 + b3


def gradients(parameters, x, labels):
    """Returns the mean cross-entropy of the batch and its gradient by each parameter."""
    x, h1, h2, logits = forward(parameters, x)
    shifted = logits - logits.max(axis=1, keepdims=True)
    probability = np.exp(shifted)
    probability /= probability.sum(axis=1, keepdims=True)
    rows = np.arange(len(labels))
    loss = -np.log(np.maximum(probability[rows, labels], np.float32(1e-30))).mean()
    d3 = probability
    d3[rows, labels] -= np.float32(1)
    d3 /= np.float32(len(labels))
    d2 = (d3 @ parameters[4].T) * (h2 > 0)
    d1 = (d2 @ parameters[2].T) * (h1 > 0)
    return loss, [x.T @ d1, d1.sum(0), h1.T @ d2, d2.sum(0), h2.T @ d3, d3.sum(0)]


def train(images, labels, seed, epochs):
    """SGD with momentum; the learning rate falls along half a cosine to zero."""
    rng = np.random.default_rng(seed)
    parameters = initial_parameters(rng)
    velocity = [np.zeros_like(parameter) for parameter in parameters]
    for epoch in range(epochs):
        rate = np.float32(LEARNING_RATE * 0.5 * (1.0 + np.cos(np.pi * epoch / epochs)))
        order = rng.permutation(len(images))
        losses = []
        for start in range(0, len(order), BATCH):
            chosen = order[start : start + BATCH]
            loss, slopes = gradients(parameters, shift(images[chosen], rng), labels[chosen])
            losses.append(loss)
            for parameter, speed, slope in zip(parameters, velocity, slopes):
                if parameter.ndim == 2:
                    slope = slope + np.float32(WEIGHT_DECAY) * parameter
                speed *= np.float32(MOMENTUM)
                speed -= rate * slope
                parameter += speed
        if (epoch + 1) % 20 == 0 or epoch + 1 == epochs:
            print(f"epoch {epoch + 1:4d} of {epochs}: training loss {np.mean(losses):.4f}", flush=True)
    return parameters


def correct(parameters, images, labels):
    return int((forward(parameters, images)[-1].argmax(axis=1) == labels).sum())


def save(directory, parameters):
    """Writes all six files beside their final names, then renames them: never a half-written file."""
    names = ("w1", "b1", "w2", "b2", "w3", "b3")
    pending = []
    try:
        os.makedirs(directory, exist_ok=True)
        for name, parameter in zip(names, parameters):
            handle, temporary = tempfile.mkstemp(prefix=f".{name}.", suffix=".tmp", dir=directory)
            pending.append((temporary, os.path.join(directory, f"{name}.npy")))
            with os.fdopen(handle, "wb") as file:
                np.save(file, np.ascontiguousarray(parameter, dtype="<f4"))
                os.fchmod(file.fileno(), 0o644)
                file.flush()
                os.fsync(file.fileno())
        while pending:
            os.replace(*pending[0])
            pending.pop(0)
    except OSError as error:
        fail(f"{directory}: {error}")
    finally:
        for temporary, _ in pending:
            os.unlink(temporary)


def positive(text):
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"expected a positive number, found {text}")
    return value


def main():
    parser = argparse.ArgumentParser(
        description="Trains the digits example's network and writes its weights as .npy files.",
        epilog="example: ./train.py --data digits.csv --out weights",
    )
    parser.add_argument("--data", required=True, metavar="CSV", help="scikit-learn's digits.csv")
    parser.add_argument("--out", metavar="DIR", help="where w1.npy, b1.npy, ... b3.npy go")
    parser.add_argument(
        "--validate",
        action="store_true",
        help="train on half of the images and measure on the validation quarter; writes nothing",
    )
    parser.add_argument("--seed", type=int, default=SEED, help="default: %(default)s")
    parser.add_argument("--epochs", type=positive, default=EPOCHS, help="default: %(default)s")
    arguments = parser.parse_args()
    if arguments.validate == (arguments.out is not None):
        parser.error("expected exactly one of --out DIR and --validate")
    if arguments.seed < 0:
        parser.error(f"argument --seed: expected a number from 0, found {arguments.seed}")

    images, labels = read_digits(arguments.data)
    used, measured = split(len(images), arguments.validate)
    kind = "validation" if arguments.validate else "held out"
    print(f"{len(images)} images: {len(used)} train, {len(measured)} {kind}; seed {arguments.seed}")
    parameters = train(images[used], labels[used], arguments.seed, arguments.epochs)
    for name, index in (("training", used), (kind, measured)):
        hits = correct(parameters, images[index], labels[index])
        print(f"{name} accuracy: {hits} of {len(index)} = {100.0 * hits / len(index):.2f} %")
    if arguments.out is not None:
        save(arguments.out, parameters)
        print(f"wrote w1 b1 w2 b2 w3 b3 to {arguments.out}")


if __name__ == "__main__":
    main()
