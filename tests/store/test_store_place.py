"""The address of a store shows no password."""

from __future__ import annotations

from pathlib import Path

import pytest

from pbem.config.file import ConfigError, load
from pbem.store_place import PostgresqlAddress

SECRET = "s3cr3t"


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        (f"postgresql://pbem:{SECRET}@db.example:5433/games", "postgresql://db.example:5433/games"),
        (f"postgres://db.example/games?password={SECRET}", "postgresql://db.example/games"),
        (
            f"postgresql://pbem:{SECRET}@a.example,b.example/games?sslmode=require",
            "postgresql://a.example,b.example/games",
        ),
        (f"postgresql://pbem:{SECRET}@[::1]/games", "postgresql://[::1]/games"),
        (f"postgresql:///games?host=/run/postgresql&password={SECRET}", "postgresql:///games"),
    ],
)
def test_an_address_shows_no_secret(tmp_path: Path, url: str, shown: str) -> None:
    (tmp_path / "pbem.toml").write_text(f'server = "a.example"\nstore = "{url}"\n')
    config = load(tmp_path / "pbem.toml")
    assert isinstance(config.store, PostgresqlAddress)
    assert (config.store.url, str(config.store)) == (url, shown)
    assert SECRET not in repr(config)


@pytest.mark.parametrize(
    "url",
    [
        f"postgresql://pbem:{SECRET}@{SECRET}@db.example/games",
        f"postgresql://pbem:{SECRET}/{SECRET}@db.example/games",
        f"postgresql://pbem:{SECRET}#@db.example/games",
        f"postgresql:pbem:{SECRET}@db.example/games",
    ],
)
def test_a_fault_in_an_address_shows_no_secret(tmp_path: Path, url: str) -> None:
    (tmp_path / "pbem.toml").write_text(f'server = "a.example"\nstore = "{url}"\n')
    with pytest.raises(ConfigError, match="no address of a database") as found:
        load(tmp_path / "pbem.toml")
    assert SECRET not in str(found.value)


def test_anything_else_is_a_path() -> None:
    assert PostgresqlAddress.parse("pbem.sqlite") == Path("pbem.sqlite")
