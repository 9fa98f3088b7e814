"""The command of the second verifier: whether bundles hold, one line for each.

python -m verifier BUNDLE...
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from verifier import Unknown, Wrong, verified

NOT_READ, NOT_JUDGED = 2, 3


def main() -> int:
    """Judge the files; returns 1 if one does not hold, 2 if one cannot be read, 3 if its rules are not here."""
    parser = argparse.ArgumentParser(prog="python -m verifier", description="Say of bundles whether they hold.")
    parser.add_argument("bundles", metavar="BUNDLE", type=Path, nargs="+")
    status = 0
    for path in parser.parse_args().bundles:
        try:
            content = path.read_bytes()
        except OSError as error:
            print(f"{path}: cannot be read: {error.strerror}", file=sys.stderr)
            status = NOT_READ
            continue
        try:
            match = verified(content)
        except Unknown as unknown:
            print(f"{path}: not judged: {unknown.reason}")
            status = status or NOT_JUDGED
        except Wrong as wrong:
            print(f"{path}: does not hold: {wrong}")
            status = status or 1
        else:
            print("; not judged: ".join([f"{path}: holds", *dict.fromkeys(match.open)]))
    return status


if __name__ == "__main__":
    sys.exit(main())
