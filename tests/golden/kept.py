"""The files of a version: an archive, `1.0.tar.xz`, and beside it what `pbem verify` says of the bundles in it."""

from __future__ import annotations

import io
import tarfile
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from click.testing import CliRunner

from pbem.cli.group import group
from pbem.player.checkpoint_witness import Witness, load

if TYPE_CHECKING:
    from collections.abc import Iterator

FOLDER = Path(__file__).parent


def unpack(content: bytes, folder: Path) -> None:
    """Unpack an archive; its files are its reader's alone, as keys and memories must be."""
    with tarfile.open(fileobj=io.BytesIO(content)) as archive:
        archive.extractall(folder, filter="data")


def verdicts(folder: Path) -> Iterator[str]:
    """The words of `pbem verify` of each bundle, of t1 with those of its matches, and of m2 with Ann's letters."""
    with closing(Witness(load(folder / "witness" / "witness.toml"))) as witness:
        seen = str(witness.verifier)
    letters = ("--witness", seen, "--against", f"{folder}/letters/ann.mbox")
    more = {"m2": letters, "t1": ("--bundles", f"{folder}/bundles")}
    for path in sorted((folder / "bundles").glob("*.zip")):
        name = path.name.partition(".")[0]
        result = CliRunner().invoke(group, ["verify", str(path), *more.get(name, ())])
        yield f"== {name}: {result.exit_code}\n{result.output}".replace(f"{folder}/", "")
