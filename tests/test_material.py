"""The collection of odd mail is what its README says, and git has left its bytes alone."""

from __future__ import annotations

import re
from collections import Counter

from data.material import ODD, mails

ROW = re.compile(r"\| `([^`]+)` \| (.+) \|")


def listed() -> dict[str, str]:
    """The trait of each file in the README, by its path below the collection."""
    traits: dict[str, str] = {}
    family = ""
    for line in (ODD / "README.md").read_text().splitlines():
        if section := re.match(r"## `([a-z]+/)`", line):
            family = section[1]
        elif row := ROW.fullmatch(line):
            assert family + row[1] not in traits
            traits[family + row[1]] = row[2]
    return traits


def test_each_odd_mail_is_listed_and_is_there() -> None:
    files = [path for path in ODD.rglob("*") if path.is_file() and path != ODD / "README.md"]
    assert sorted(files) == mails(ODD)
    assert sorted(listed()) == sorted(path.relative_to(ODD).as_posix() for path in files)


def test_line_ends_are_as_they_were_written() -> None:
    ends = Counter(end for path in mails(ODD) for end in set(re.findall(rb"\r+\n|\r|\n", path.read_bytes())))
    assert all(ends[end] > 5 for end in (b"\r\n", b"\n", b"\r"))
    assert ends[b"\r\r\n"]
