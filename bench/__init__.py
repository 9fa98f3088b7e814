"""The benches: what we cost beside peers, see README.md. They play with what the tests have, such as the referee."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
