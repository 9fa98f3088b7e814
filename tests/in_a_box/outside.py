"""Packages with games of others, installed into a folder as pip does it, and enabled as long as a test runs."""

from __future__ import annotations

import importlib
import shutil
import sys
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from in_a_box.referee import Referee

from pbem import games
from pbem.games import outside

if TYPE_CHECKING:
    from collections.abc import Iterator

MARBLES = Path(__file__).parents[2] / "examples" / "marbles" / "pbem_marbles"
STICKS = Path(__file__).parents[1] / "toy" / "pbem_sticks"
"""A game without setups and secrets."""
RACE = Path(__file__).parents[1] / "toy" / "pbem_race"
"""A game with a die for all to see, and secret cards."""
POWERS = Path(__file__).parents[1] / "toy" / "pbem_powers"
"""A game of many: whispers to some, powers without a player, retreats in a part of the pace."""
MARCH = Path(__file__).parents[1] / "toy" / "pbem_march"
"""A game of three to seven with empty orders, in which the others play on without whoever leaves."""


def install(
    site: Path, name: str = "pbem-marbles", version: str = "0.1.0", game: str = "marbles", source: Path = MARBLES
) -> Path:
    """Install a game, our example, as a package of this name into a folder; the folder of its module."""
    module = name.replace("-", "_")
    shutil.copytree(source, site / module, ignore=shutil.ignore_patterns("__pycache__"))
    info = site / f"{module}-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    (info / "entry_points.txt").write_text(f"[pbem.games]\n{game} = {module}\n")
    record(site, module)
    return site / module


def record(site: Path, module: str) -> None:
    """Note which files a package has; of their hashes nobody asks here."""
    (info,) = site.glob(f"{module}-*.dist-info")
    files = sorted(path for path in [*(site / module).rglob("*"), *info.iterdir()] if path.is_file())
    names = [path.relative_to(site).as_posix() for path in files if path.name != "RECORD"]
    (info / "RECORD").write_text("".join(f"{name},,\n" for name in [*names, f"{info.name}/RECORD"]))


@contextmanager
def found_in(*sites: Path) -> Iterator[None]:
    """Have what is installed in these folders found; afterwards none of it is enabled."""
    before, modules = [*sys.path], {*sys.modules}
    sys.path[:0] = map(str, sites)
    importlib.invalidate_caches()
    try:
        yield
    finally:
        sys.path[:] = before
        for name in outside.PACKAGES:
            del games.GAMES[name]
        outside.PACKAGES.clear()
        games.rules.cache_clear()
        games.part_of.cache_clear()
        for name in {*sys.modules} - modules:
            if name.startswith("pbem_"):
                del sys.modules[name]


@contextmanager
def enabled(site: Path, game: str = "marbles", source: Path = MARBLES) -> Iterator[None]:
    """Our example, or another package, installed into a folder unless it is there, and enabled."""
    if not (site / source.name).exists():
        install(site, source.name.replace("_", "-"), game=game, source=source)
    with found_in(site):
        outside.enable([game])
        yield


@contextmanager
def referee_of(folder: Path, game: str = "marbles", source: Path = MARBLES) -> Iterator[Referee]:
    """A referee whose operator has enabled this game, installed where other tests have it: its templates too."""
    with enabled(folder.parent / f"site-of-{game}", game, source), closing(Referee(folder)) as referee:
        yield referee
