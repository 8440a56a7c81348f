"""The training of examples/train_digits in JAX: a process of its own, started by the program.

    /usr/bin/python3 -I train_in_jax.py --site=FOLDER --data=digits.csv --epochs=60 --batch=32 --rate=0.2

An epoch is one call of a function that JAX compiled as a whole: a scan over the batches. Prints one line of
JSON: the median time of an epoch (the first, which compiles, left out where there are others) and the accuracy.
"""

import argparse
import json
import os
import statistics
import sys
import time

LAYERS = (64, 128, 64, 10)


def parse():
    parser = argparse.ArgumentParser(description="Trains the digits network in JAX.")
    parser.add_argument("--site", required=True, help="the folder that holds JAX and what it needs")
    parser.add_argument("--data", required=True, help="scikit-learn's digits.csv")
    parser.add_argument("--epochs", type=int, default=60)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--rate", type=float, default=0.2)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    return parser.parse_args()


def main():
    options = parse()
    # Before JAX starts its threads: as many processors as threads are asked for.
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: options.threads])
    os.environ["JAX_PLATFORMS"] = "cpu"
    if options.threads == 1:
        os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false"
    sys.path.insert(0, options.site)
    import jax
    import jax.numpy as jnp
    import numpy as np

    with open(options.data, encoding="ascii") as file:
        table = np.array([[int(cell) for cell in line.split(",")] for line in file])
    images, labels = (table[:, :64] / 16).astype(np.float32), table[:, 64].astype(np.int32)
    held_out = np.arange(len(images)) % 4 == 0
    train_x, train_y = jnp.asarray(images[~held_out]), jnp.asarray(labels[~held_out])

    def logits(parameters, x):
        w1, b1, w2, b2, w3, b3 = parameters
        return jax.nn.relu(jax.nn.relu(x @ w1 + b1) @ w2 + b2) @ w3 + b3

    def loss(parameters, x, y):
        return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(logits(parameters, x)), y[:, None], 1))

    def step(parameters, batch):
        value, slopes = jax.value_and_grad(loss)(parameters, *batch)
        return [p - options.rate * s for p, s in zip(parameters, slopes)], value

    whole = len(train_x) // options.batch * options.batch

    @jax.jit
    def epoch(parameters, order):
        x, y = train_x[order], train_y[order]
        batches = (x[:whole].reshape(-1, options.batch, 64), y[:whole].reshape(-1, options.batch))
        parameters, _ = jax.lax.scan(step, parameters, batches)
        if whole < len(train_x):
            parameters, _ = step(parameters, (x[whole:], y[whole:]))
        return parameters

    rng = np.random.default_rng(options.seed)
    parameters = []
    for rows, columns in zip(LAYERS, LAYERS[1:]):
        parameters.append(jnp.asarray((rng.standard_normal((rows, columns)) * np.sqrt(2 / rows)).astype(np.float32)))
        parameters.append(jnp.zeros(columns, jnp.float32))
    seconds = []
    for _ in range(options.epochs):
        order = rng.permutation(len(train_x)).astype(np.int32)
        start = time.perf_counter()
        parameters = jax.block_until_ready(epoch(parameters, order))
        seconds.append(time.perf_counter() - start)
    found = np.asarray(logits(parameters, images[held_out])).argmax(axis=1)
    print(
        json.dumps(
            {
                "epoch_seconds": statistics.median(seconds[1:] or seconds),
                "percent": 100.0 * float((found == labels[held_out]).mean()),
                "version": jax.__version__,
            }
        )
    )


if __name__ == "__main__":
    main()
