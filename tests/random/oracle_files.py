"""The files between a random test and its oracles, NumPy or JAX.

FOLDER/recipes.json lists graphs as calls of operators (see recipe.h), FOLDER/inputs.bin holds the data of their
leaves. Written: FOLDER/expected.json (types, shapes, offsets) and FOLDER/expected.bin: for each result its values,
then the bounds of their errors, all as float64.
"""

import json
import math
import os
import traceback

import numpy as np


def leaf_data(leaf, dtype, inputs):
    count = math.prod(leaf["shape"])
    data = np.frombuffer(inputs, dtype, count, leaf["offset"]) if count else np.zeros(0, dtype)
    return data.reshape(leaf["shape"])


def answer_all(folder, answer):
    """answer(graph, run, inputs) gives of each result: dtype, whether signs of zeros are known, values, bounds."""
    with open(os.path.join(folder, "recipes.json")) as file:
        graphs = json.load(file)["graphs"]
    with open(os.path.join(folder, "inputs.bin"), "rb") as file:
        inputs = file.read()
    answers, offset = [], 0
    with open(os.path.join(folder, "expected.bin"), "wb") as data:
        for graph in graphs:
            runs = []
            try:
                for run in graph["runs"]:
                    results = []
                    for dtype, signs, values, bounds in answer(graph, run, inputs):
                        results.append({"dtype": dtype, "shape": values.shape, "offset": offset, "signs": signs})
                        for part in (values, bounds):
                            offset += data.write(np.ascontiguousarray(part, np.float64).tobytes())
                    runs.append(results)
                answers.append({"runs": runs})
            except Exception:
                answers.append({"error": traceback.format_exc()})
    with open(os.path.join(folder, "expected.json"), "w") as file:
        json.dump({"graphs": answers}, file)
