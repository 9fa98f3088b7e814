"""Games of other packages: found by their entry points, and enabled by name.

A package with a game has an entry point of the group `pbem.games`: the game's name, and the module that holds its
`RULES` and `INTERFACE`. Its templates are beside that module, in `templates/NAME/`. What is not named is not
imported: an installed package runs nothing here before somebody enables it. What is enabled is trusted like `pbem`
itself. Here live the register of packages and the identity of their code. Implements docs/games.md.
"""

from __future__ import annotations

import hashlib
import re
from importlib import import_module
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Final, NamedTuple

from pbem.games import BUILT_IN, GAMES, INTERFACE, part_in
from pbem.games.parts import OF_RULES
from pbem.i18n import template_folder

if TYPE_CHECKING:
    from collections.abc import Iterable
    from importlib.metadata import Distribution, EntryPoint

GROUP: Final = "pbem.games"

_NAME: Final = re.compile("[a-z](?:[a-z-]{0,30}[a-z])?")
"""The form of a game's name: players write it in letters, and files and folders are named by it."""


_PROJECT: Final = re.compile("[A-Za-z0-9](?:[A-Za-z0-9._-]{0,62}[A-Za-z0-9])?")
_VERSION: Final = re.compile("[A-Za-z0-9][A-Za-z0-9.+]{0,62}")
_PINNED: Final = re.compile(r"([A-Za-z0-9._-]+)(?:\[[^\]]*\])? ?\(?==([A-Za-z0-9.+!]+)\)?")
_REQUIRED: Final = re.compile(r"(?!pbem(?![\w.-]))(?![^;]*;.*\bextra\b)")
"""A library that a package requires beside pbem itself, and not for an extra of its own, such as its tests."""
_HASH: Final = re.compile("[0-9a-f]{64}")


class UnusableGame(Exception):
    """A game cannot be enabled; the message says why, and names the packages that are to blame."""


class Package(NamedTuple):
    """The package of a game's rules: its name, its version, and the hash over its code."""

    name: str
    version: str
    code: str | None
    """SHA-256 over the package's files and their contents; None if they are not where they were installed."""

    def __str__(self) -> str:
        return f"{self.name} {self.version}"

    @classmethod
    def read(cls, document: object) -> Package:
        """The package that a JSON object names, in the terms of a match; raises ValueError."""
        match document:
            case {"name": str(name), "version": str(version), "code": str() | None as code, **rest} if not rest:
                if _PROJECT.fullmatch(name) and _VERSION.fullmatch(version) and _HASH.fullmatch(code or "0" * 64):
                    return cls(name, version, code)
        raise ValueError("no package of rules")


def coded(package: Package | None) -> str:
    """A package with its code, in words."""
    if package is None:
        return "no package"
    return f"{package}, code {package.code}" if package.code else f"{package}, of unknown code"


PACKAGES: Final[dict[str, Package]] = {}
"""The packages of the games that were enabled, by game."""


def enable(names: Iterable[str]) -> None:
    """Enable these games of installed packages; raises `UnusableGame`. Those that are enabled stay so."""
    for name in names:
        if name not in PACKAGES:
            # Two packages may offer a game of the same name.
            check_name(name)
            found = _offers(name)
            if not found:
                raise UnusableGame(f'no package that is installed here has a game "{name}"')
            if len(found) > 1:
                packages = " and ".join(sorted(_named(entry) for entry in found))
                raise UnusableGame(f'there are two games "{name}", of {packages}: uninstall one of the packages')
            entry = found[0]
            # The module and its parts must be made for this interface.
            who = f'the game "{entry.name}" of {_named(entry)}'
            try:
                module = import_module(entry.module)
                for part in OF_RULES if hasattr(module, "__path__") else ():
                    part_in(entry.module, part)
            except Exception as error:  # it is somebody else's code
                raise UnusableGame(f"{who} cannot be loaded: {type(error).__name__}: {error}") from error
            if not hasattr(module, "__path__"):
                raise UnusableGame(f"{who} is one module, and no package with templates")
            if (number := getattr(module, "INTERFACE", None)) != INTERFACE:
                raise UnusableGame(
                    f"{who} is for interface {number} of games, and this pbem has interface {INTERFACE}:"
                    " install another version of one of the two"
                )
            if getattr(getattr(module, "RULES", None), "name", None) != entry.name:
                raise UnusableGame(f'{who} has no RULES with the name "{entry.name}"')
            PACKAGES[name] = _package(entry)
            GAMES[name] = entry.module


def not_enabled(game: str, agreed: Package | None = None) -> str:
    """Say how the rules of a game are had that is not enabled; nothing of its package is imported.

    `agreed` is the package that the terms of a match name: whoever installs it trusts it.
    """
    if found := _offers(game) if _NAME.fullmatch(game) else ():
        return f'the game "{game}" of {_named(found[0])} is not enabled: pbem --game {game}'
    how = f": pip install {agreed.name}=={agreed.version}, if you trust it, and pbem --game {game}" if agreed else ""
    return f'the rules of "{game}" are not installed{how}'


def is_agreed(game: str, agreed: Package | None) -> bool:
    """True if the rules that are here are pbem's own, or the very code that was agreed on: what they say convicts."""
    if game in BUILT_IN:
        return True
    here = PACKAGES.get(game)
    return here is not None and agreed is not None and here.code == agreed.code is not None


def template_folders() -> tuple[Path, ...]:
    """The folders of templates, ours first: no other package can change the wording of a letter."""
    return template_folder(), *(_folder(GAMES[name]) / "templates" for name in PACKAGES)


def _offers(name: str) -> tuple[EntryPoint, ...]:
    from importlib.metadata import entry_points

    return tuple(entry_points(group=GROUP, name=name))


def check_name(name: str) -> None:
    """Raise `UnusableGame` if no game of another package can have this name."""
    if name in BUILT_IN:
        raise UnusableGame(f'"{name}" is a game of pbem itself: it is always enabled, and no package can replace it')
    if not _NAME.fullmatch(name) or (template_folder() / name).exists():
        raise UnusableGame(f'no game can be named "{name}"')


def _named(entry: EntryPoint) -> str:
    return f"{_distribution(entry).name} {_distribution(entry).version}"


def _distribution(entry: EntryPoint) -> Distribution:
    assert entry.dist is not None  # of those that `entry_points` finds
    return entry.dist


def _package(entry: EntryPoint) -> Package:
    found = _distribution(entry)
    try:
        code = _code(found, _folder(entry.module)) if _has_what_it_pins(found) else None
        return Package.read({"name": found.name, "version": found.version, "code": code})
    except (OSError, ValueError) as error:
        raise UnusableGame(f'the game "{entry.name}" of {_named(entry)} is damaged: {error}') from error


def unpinned(game: str) -> list[str]:
    """The libraries, as the package of a game requires them, without an exact version, or not here in that one."""
    required = [_REQUIRED.match(one) for entry in _offers(game) for one in _distribution(entry).requires or ()]
    return [one.string for one in required if one and not _is_here(_PINNED.fullmatch(one.string))]


def _has_what_it_pins(package: Distribution) -> bool:
    """True if each library that a package pins is here in that very version: otherwise its code is other code."""
    return all(_is_here(one) for one in map(_PINNED.fullmatch, package.requires or ()) if one)


def _is_here(pinned: re.Match[str] | None) -> bool:
    """True if a library is pinned, and is here in that very version."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return pinned is not None and version(pinned[1]) == pinned[2]
    except PackageNotFoundError:
        return False


def _folder(module: str) -> Path:
    return Path(import_module(module).__file__ or "").resolve().parent


def _code(found: Distribution, folder: Path) -> str | None:
    """The hash over what can be imported of a package: paths and contents, whatever its RECORD says of them."""
    import csv

    hashes = {}
    # Not `found.files`: from Python 3.12 on, that leaves out the files that are missing.
    for row in filter(None, csv.reader((found.read_text("RECORD") or "").splitlines())):
        file = PurePosixPath(row[0])
        path = Path(str(found.locate_file(row[0]))).resolve()
        outside = file.parts[0] == ".." or file.parts[0].endswith((".dist-info", ".data"))
        if not outside and file.suffix not in {".pth", ".pyc"}:
            hashes[file.as_posix()] = path, hashlib.sha256(path.read_bytes()).hexdigest()
    if not any(path.is_relative_to(folder) for path, _ in hashes.values()):
        return None  # as after `pip install -e`: the code lies elsewhere, and may change under the same name
    lines = "".join(f"{name} {digest}\n" for name, (_, digest) in sorted(hashes.items()))
    return hashlib.sha256(f"pbem rules 1\n{lines}".encode()).hexdigest()
