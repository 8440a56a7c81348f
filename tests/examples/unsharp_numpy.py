"""Whether SHARPER.png is the unsharp mask of PHOTO.png, by NumPy in float64: no code in common with the kernel.

    /usr/bin/python3 -I unsharp_numpy.py PHOTO.png SHARPER.png AMOUNT

The blur is one sum over 7x7 taps here. Every pixel has to be the exact value's nearest neighbour, give or take what
f32 loses.
"""

import struct
import sys
import zlib

import numpy as np


def read_png(path):
    """u8[height, width, 3] of an 8-bit RGB picture that is not interlaced."""
    with open(path, "rb") as file:
        data = file.read()
    assert data[:8] == b"\x89PNG\r\n\x1a\n", path
    at, compressed = 8, b""
    while at < len(data):
        length, kind = struct.unpack(">I4s", data[at : at + 8])
        body = data[at + 8 : at + 8 + length]
        if kind == b"IHDR":
            width, height, depth, colours, _, _, interlaced = struct.unpack(">IIBBBBB", body)
            assert (depth, colours, interlaced) == (8, 2, 0), (path, depth, colours, interlaced)
        if kind == b"IDAT":
            compressed += body
        at += 12 + length
    rows = np.frombuffer(zlib.decompress(compressed), np.uint8).reshape(height, 1 + 3 * width)
    above = bytes(3 * width)
    result = []
    for row in rows:
        above = unfiltered(row[0], row[1:].tobytes(), above)
        result.append(above)
    return np.frombuffer(b"".join(result), np.uint8).reshape(height, width, 3)


def unfiltered(kind, row, above):
    out = bytearray(row)
    for i in range(len(row)):
        left, up, corner = (out[i - 3], above[i], above[i - 3]) if i >= 3 else (0, above[i], 0)
        if kind == 1:
            guess = left
        elif kind == 2:
            guess = up
        elif kind == 3:
            guess = (left + up) // 2
        elif kind == 4:
            distances = [abs(left + up - corner - v) for v in (left, up, corner)]
            guess = (left, up, corner)[distances.index(min(distances))]
        else:
            return row
        out[i] = (out[i] + guess) & 255
    return bytes(out)


def unsharp(photo, amount):
    red, green, blue = (photo[..., c].astype(np.float64) for c in range(3))
    grey = (77 * red + 150 * green + 29 * blue) / 256
    d = np.arange(-3, 4)
    taps = np.exp(-(d[:, None] ** 2 + d[None, :] ** 2) / (2 * 1.5**2))
    taps /= taps.sum()
    wide = np.pad(grey, 3, mode="edge")
    height, width = grey.shape
    blur = sum(taps[i, j] * wide[i : i + height, j : j + width] for i in range(7) for j in range(7))
    return np.clip(photo + amount * (grey - blur)[..., None], 0, 255)


def main(photo_path, sharper_path, amount):
    photo, sharper = read_png(photo_path), read_png(sharper_path)
    assert photo.shape == sharper.shape, (photo.shape, sharper.shape)
    expected = unsharp(photo, float(amount))
    error = abs(sharper - expected)
    worst = np.unravel_index(error.argmax(), error.shape)
    if error.max() > 0.5 + 1e-3:
        sys.exit(f"pixel {worst}: expected {expected[worst]}, got {sharper[worst]}")
    changed = (photo != sharper).mean()
    if not 0.2 < changed < 0.99:
        sys.exit(f"{changed:.3f} of the values changed: not what sharpening a photograph does")
    print(f"{photo.size} values as NumPy has them, {changed:.1%} of them changed")


if __name__ == "__main__":
    main(*sys.argv[1:])
