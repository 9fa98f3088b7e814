"""The file of a server: where it is, what it says once it is loaded, and all its faults."""

from __future__ import annotations

import contextlib
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from pbem.config.reading import from_text, in_words, table_faults
from pbem.config.server import Config
from pbem.config.values import Listen

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pbem.config.mail import Listener
    from pbem.config.server import HousePlayer

__all__ = ["ConfigError", "faults", "load", "parse", "place"]


class ConfigError(Exception):
    """The configuration file is missing or something in it is wrong; the message says where and what."""


def place(environment: Mapping[str, str]) -> Path:
    """Where the configuration is if nobody names it: in this folder, else in the user's data folder (XDG)."""
    here = Path("pbem.toml")
    home = environment.get("XDG_DATA_HOME") or str(Path(environment.get("HOME") or "/").joinpath(".local", "share"))
    return here if here.exists() else Path(home, "pbem", "pbem.toml")


def load(path: Path | str) -> Config:
    """Read a configuration file; paths in it are relative to its folder. Raises `ConfigError`."""
    path = Path(path)
    try:
        table = tomllib.loads(path.read_text("utf-8"))
        config = parse(table)
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}") from error
    except RecursionError as error:
        raise ConfigError(f"{path}: no TOML: brackets in brackets, too deep") from error
    except (msgspec.ValidationError, ValueError) as error:
        raise ConfigError(f"{path}: {in_words(str(error))}") from error
    return _anchored(config, path.absolute().parent)


def parse(table: dict[str, object]) -> Config:
    """A configuration from the tables of its TOML; raises ValueError. Paths stay as they are written."""
    config = msgspec.convert(table, Config, dec_hook=from_text)
    if wrong := config.wrong():
        raise ValueError("; ".join(wrong))
    return config


def faults(path: Path | str) -> tuple[list[str], Config | None]:
    """All faults of a configuration file, each in a sentence, and the configuration without the faulty parts.

    The latter is None if too little of the file can be read.
    """
    path = Path(path)
    try:
        table = tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        return [f"cannot be read: {error.strerror}"], None
    except ValueError as error:
        return [f"no TOML: {error}"], None
    except RecursionError:
        return ["no TOML: brackets in brackets, too deep"], None
    found = list(table_faults(Config, table, ""))
    try:
        config = msgspec.convert({"server": "missing.invalid", **table}, Config, dec_hook=from_text)
    except ValueError as error:
        return [*found, in_words(str(error))], None
    return [*found, *config.wrong(), *config.loops()], _anchored(config, path.absolute().parent)


def _anchored(config: Config, folder: Path) -> Config:
    return msgspec.structs.replace(
        config,
        store=folder / config.store if isinstance(config.store, Path) else config.store,
        keys=folder / config.keys,
        smtp=_anchored_listener(config.smtp, folder),
        lmtp=_anchored_listener(config.lmtp, folder),
        mailbox=msgspec.structs.replace(
            config.mailbox,
            password_file=_anchored_name(config.mailbox.password_file, folder),
            maildir=_anchored_name(config.mailbox.maildir, folder),
        ),
        smarthost=msgspec.structs.replace(
            config.smarthost,
            password_file=_anchored_name(config.smarthost.password_file, folder),
            maildirs=_anchored_name(config.smarthost.maildirs, folder),
        ),
        house=_anchored_house(config.house, folder),
        dkim=msgspec.structs.replace(config.dkim, key_file=_anchored_name(config.dkim.key_file, folder)),
    )


def _anchored_listener(listener: Listener, folder: Path) -> Listener:
    path = listener.listen.path
    return msgspec.structs.replace(
        listener,
        listen=listener.listen if path is None else Listen(path=folder / path),
        certificate=_anchored_name(listener.certificate, folder),
        certificate_key=_anchored_name(listener.certificate_key, folder),
    )


def _anchored_house(house: HousePlayer, folder: Path) -> HousePlayer:
    """With the address from its own file, if none is given; that file may be missing, or be written later."""
    file = _anchored_name(house.config, folder)
    address = house.address
    if file and not address:
        with contextlib.suppress(OSError, msgspec.DecodeError, UnicodeDecodeError):
            address = msgspec.toml.decode(Path(file).read_bytes(), type=_HouseFile).account.address
    return msgspec.structs.replace(house, config=file, address=address)


class _HouseAccount(msgspec.Struct, frozen=True):
    address: str = ""


class _HouseFile(msgspec.Struct, frozen=True):
    """What is read of the house's own configuration."""

    account: _HouseAccount = _HouseAccount()


def _anchored_name(name: str, folder: Path) -> str:
    return str(folder / name) if name else ""
