"""The library: docs/library.md is true word for word, and no name brings more than it needs."""

from __future__ import annotations

import doctest
import re
import subprocess
import sys
from pathlib import Path

import pytest

import pbem
from pbem.proof import bundle

ROOT = Path(__file__).parents[1]
DOCUMENT = ROOT / "docs" / "library.md"
GOOD = ROOT / "tests" / "vectors" / "good"


def kept(found: pbem.Bundle, seq: int) -> bytes:
    """A letter that shows a signed head."""
    told = f"Transcript of m1 after entry {seq}, signed by play.example:\n  head {found.entries[seq - 1].head}\n"
    return f"From: pbem@play.example\n\n{told}  signature {found.signatures[seq - 1].hex()}\n".encode()


def test_the_document_is_true(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    content = (GOOD / "continued.pbem.zip").read_bytes()
    (tmp_path / "m1.pbem.zip").write_bytes(content)
    letters = tmp_path / "kept"
    letters.mkdir()
    (letters / "1-honest.eml").write_bytes(kept(bundle.read(content), 14))
    (letters / "2-forked.eml").write_bytes(kept(bundle.read((GOOD / "withdrawal.pbem.zip").read_bytes()), 5))
    monkeypatch.chdir(tmp_path)
    done = doctest.testfile(str(DOCUMENT), module_relative=False, optionflags=doctest.ELLIPSIS, encoding="utf-8")
    assert done.attempted > 25
    assert not done.failed


def test_the_document_lists_each_name() -> None:
    table = re.findall(r"(?m)^\| `(\w+)", DOCUMENT.read_text())
    assert sorted(table) == sorted(pbem.__all__)
    assert all(getattr(pbem, name) for name in pbem.__all__)
    with pytest.raises(AttributeError, match="'verified'"):
        pbem.verified  # type: ignore[attr-defined]  # noqa: B018


@pytest.mark.parametrize(
    ("name", "rooms"),
    [
        ("verify", {"games", "identity", "mail", "match", "proof", "tlog"}),
        ("Bundle", {"match", "proof"}),
        ("Finding", {"proof"}),
        ("read_letter", {"config", "games", "mail"}),
        ("read_record", {"games", "match"}),
        ("replay", {"games", "match"}),
        ("games", {"games"}),
    ],
)
def test_a_name_loads_its_rooms_alone(name: str, rooms: set[str]) -> None:
    code = f"import sys, pbem; before = set(sys.modules); from pbem import {name}; print(*before, '|', *sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    before, after = (set(part.split()) for part in done.stdout.split("|"))
    assert {module for module in before if module.startswith("pbem")} == {"pbem"}
    leaves = {"config", "grown", "i18n", "json_object", "linked_names", "networks", "phrase"}
    leaves |= {"requests", "structured_header", "verifier_key"}
    assert {module.split(".")[1] for module in after if module.startswith("pbem.")} - leaves == rooms - leaves
    assert not after & {"asyncio", "babel", "click", "jinja2", "sqlite3"}


def test_the_package_is_typed() -> None:
    assert (ROOT / "pbem" / "py.typed").is_file()
