"""The file of a server: where it is, what it says once it is loaded, and all its faults."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import msgspec

from pbem.config.server import Config
from pbem.config.toml_file import converted, from_text, in_words, table_faults, toml
from pbem.config.values import ConfigTable, Listen

if TYPE_CHECKING:
    from collections.abc import Mapping


_Table = TypeVar("_Table", bound=ConfigTable)

_FILES = frozenset({"certificate", "certificate_key", "config", "key_file", "maildir", "maildirs", "password_file"})
"""The keys, of whatever table, that name a file or a folder; "" is none."""


class ConfigError(Exception):
    """The configuration file is missing or something in it is wrong; the message says where and what."""


def place(environment: Mapping[str, str]) -> Path:
    """The default place of the configuration: in this folder, else in the user's data folder (XDG)."""
    here = Path("pbem.toml")
    return here if here.exists() else home(environment)


def home(environment: Mapping[str, str]) -> Path:
    """The place of a configuration in the user's data folder."""
    data = environment.get("XDG_DATA_HOME") or Path(environment.get("HOME") or "/").joinpath(".local", "share")
    return Path(data, "pbem", "pbem.toml")


def load(path: Path | str) -> Config:
    """Read a configuration file; paths in it are relative to its folder. Raises `ConfigError`."""
    path = Path(path)
    try:
        config = parse(toml(path))
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}") from error
    except ValueError as error:
        raise ConfigError(f"{path}: {error}") from error
    return _in_place(config, path)


def parse(table: dict[str, object]) -> Config:
    """A configuration from the tables of its TOML; raises ValueError. Paths stay as they are written."""
    config = converted(Config, table)
    if wrong := config.wrong():
        raise ValueError("; ".join(wrong))
    return config


def faults(path: Path | str) -> tuple[list[str], Config | None]:
    """All faults of a configuration file, each in a sentence, and the configuration without the faulty parts.

    The latter is None if too little of the file can be read.
    """
    path = Path(path)
    try:
        table = toml(path)
    except OSError as error:
        return [f"cannot be read: {error.strerror}"], None
    except ValueError as error:
        return [str(error)], None
    found = list(table_faults(Config, table, ""))
    try:
        config = msgspec.convert({"server": "missing.invalid", **table}, Config, dec_hook=from_text)
    except ValueError as error:
        return [*found, in_words(str(error))], None
    return [*found, *config.wrong(), *config.loops()], _in_place(config, path)


def _in_place(config: Config, path: Path) -> Config:
    """The configuration in the file at this place, with the house's address from its own file, if none is given.

    That file may be missing, or be written later.
    """
    config = _anchored(config, path.absolute().parent)
    house = config.house
    if house.config and not house.address:
        with contextlib.suppress(OSError, ValueError):
            match toml(Path(house.config)):
                case {"account": {"address": str(address)}}:
                    house = msgspec.structs.replace(house, address=address)
    return msgspec.structs.replace(config, house=house)


def _anchored(table: _Table, folder: Path) -> _Table:
    """A table with its paths from this folder, and the tables in it as well."""
    values: dict[str, object] = {}
    for name in table.__struct_fields__:
        match getattr(table, name):
            case ConfigTable() as inner:
                values[name] = _anchored(inner, folder)
            case Listen(path=Path() as path):
                values[name] = Listen(path=folder / path)
            case Path() as path:
                values[name] = folder / path
            case str() as text if text and name in _FILES:
                values[name] = str(folder / text)
    return msgspec.structs.replace(table, **values)
