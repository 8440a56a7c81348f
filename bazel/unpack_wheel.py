"""Takes the files that a repository needs out of a wheel.

Usage: unpack_wheel.py WHEEL [--gunzip] PATTERN=FOLDER/ ...

A member that matches a pattern, of which a * stays in one folder, lands in the folder under its last name; a pattern that
matches nothing is an error, since it means that the wheel is not the one the BUILD file was written for.
"""

import fnmatch
import gzip
import os
import sys
import zipfile


def main(argv):
    wheel, rules = argv[1], argv[2:]
    gunzip = "--gunzip" in rules
    with zipfile.ZipFile(wheel) as archive:
        members = [m for m in archive.infolist() if not m.is_dir()]
        for rule in (r for r in rules if r != "--gunzip"):
            pattern, folder = rule.split("=")
            depth = pattern.count("/")
            matches = [
                m for m in members if m.filename.count("/") == depth and fnmatch.fnmatchcase(m.filename, pattern)
            ]
            if not matches:
                sys.exit("the wheel has no member like " + pattern)
            os.makedirs(folder, exist_ok=True)
            for member in matches:
                data = archive.read(member)
                path = os.path.join(folder, os.path.basename(member.filename))
                write(path, data, (member.external_attr >> 16) & 0o111)
                if gunzip and path.endswith(".gz"):
                    write(path[: -len(".gz")], gzip.decompress(data), 0)


def write(path, data, executable):
    with open(path, "wb") as out:
        out.write(data)
    os.chmod(path, 0o755 if executable else 0o644)


if __name__ == "__main__":
    main(sys.argv)
