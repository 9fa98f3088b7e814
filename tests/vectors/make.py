"""Makes the bundles below tests/vectors/ again, byte for byte: `PYTHONPATH=tests python -m vectors.make`.

Signatures of OpenPGP and S/MIME come out otherwise each time: KEPT stay as they are.
"""

from __future__ import annotations

from vectors.lies import LIES, lied
from vectors.matches import GOOD, VECTORS, made

KEPT = {"openpgp", "smime"}


def write() -> None:
    """All files, and which of them are lies."""
    for name in GOOD:
        path = VECTORS / "good" / f"{name}.pbem.zip"
        if name not in KEPT or not path.exists():
            path.write_bytes(made(name))
    for name in LIES:
        (VECTORS / "bad" / f"{name}.pbem.zip").write_bytes(lied(name))


if __name__ == "__main__":
    write()
