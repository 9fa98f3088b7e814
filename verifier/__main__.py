"""The command of the second verifier: whether bundles and tournaments hold, a line for each.

python -m verifier [--bundles DIR] [--paper FILE] FILE...
"""

from __future__ import annotations

import argparse
import os
import sys
import traceback
from pathlib import Path

from verifier import OtherVersion, Unknown, Wrong, judged
from verifier.acknowledged import end
from verifier.tournament_state import Tournament, table

NOT_READ, NOT_JUDGED, NOT_DONE = 2, 3, 4


def main() -> int:
    """Judge the files; returns 1 if one does not hold, 2 to 4 if file, rules or version cannot be read."""
    parser = argparse.ArgumentParser(prog="python -m verifier", description="Say of bundles whether they hold.")
    parser.add_argument("files", metavar="FILE", type=Path, nargs="+", help="a match's bundle, or a tournament")
    parser.add_argument("--bundles", metavar="DIR", type=Path, help="the bundles of the matches of tournaments")
    parser.add_argument("--paper", type=Path, action="append", default=[], help="an opening, receipt or withdrawal")
    given = parser.parse_args()
    status = 0
    for path in given.files:
        try:
            content = path.read_bytes()
            bundles = [one.read_bytes() for one in sorted(given.bundles.iterdir())] if given.bundles else []
        except OSError as error:
            print(f"{error.filename}: cannot be read: {error.strerror}", file=sys.stderr)
            status = NOT_READ
            continue
        try:
            found = judged(content, bundles)
        except OtherVersion as other:
            print(f"{path}: not judged: {other.reason}")
            status = status or NOT_DONE
        except Unknown as unknown:
            print(f"{path}: not judged: {unknown.reason}")
            status = status or NOT_JUDGED
        except Wrong as wrong:
            print(f"{path}: does not hold: {wrong}")
            status = status or 1
        else:
            print("; not judged: ".join([f"{path}: holds", *dict.fromkeys(found.open)]))
            for paper in given.paper:
                status = status or int((fate := end(content, paper.read_bytes())) == "dropped")
                print(f"{paper}: {fate}")
            if isinstance(found, Tournament):
                groups = [", ".join(f"{row['entrant']} {row['points']}" for row in group) for group in table(found)]
                print("table:", " / ".join(groups) or "nobody entered")
    return status


def run() -> int:
    """Judge the files of the command line; returns 4 if that could not be done, since 1 is a verdict."""
    try:
        status = main()
        sys.stdout.flush()
    except OSError as error:  # of standard output: a full disk, a closed pipe
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # the interpreter would try again at its end
        print(f"not done: {error.strerror}", file=sys.stderr)
        return NOT_DONE
    except Exception:
        traceback.print_exc()
        return NOT_DONE
    return status


if __name__ == "__main__":
    sys.exit(run())
