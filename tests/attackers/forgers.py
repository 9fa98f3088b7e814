"""Forgeries of bundles, and whether verification finds them; the forger has the server's key, too."""

from __future__ import annotations

import io
import json
import zipfile
from contextlib import closing
from typing import TYPE_CHECKING, Any

from in_a_box.referee import SERVER, Referee, attachment, own_key
from in_a_box.restores import back_up, put_back, resume_all
from in_a_box.stores import connection
from msgspec.structs import replace
from world.mutations import signed_again, with_body

from pbem.identity import ssh
from pbem.proof import bundle
from pbem.proof.bundle import Bundle
from pbem.proof.prove import Against
from pbem.proof.verification import Check, Proved, verify
from verifier import OtherVersion, Unknown, Wrong, verified

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from in_a_box.referee import Mailbox


def checked(content: bytes | Bundle, server_key: str | None = None) -> list[Check]:
    return list(verify(bundle.write(content) if isinstance(content, Bundle) else content, server_key))


def holds(content: bytes | Bundle) -> list[Check]:
    checks = checked(content)
    assert all(check.holds for check in checks), checks[-1]
    assert checks[-1].what == "result"
    return checks


def fails(content: bytes | Bundle, *words: str) -> str:
    """The finding of the one check that fails, the last; it names all these words."""
    checks = checked(content)
    assert [check.holds for check in checks] == [True] * (len(checks) - 1) + [False], checks[-1]
    found = checks[-1].found
    assert "None" not in found, "a fact is missing"
    assert "cannot be checked" not in found, "it stumbled"
    for word in words:
        assert word in found, found
    return found


def fails_for_both(content: bytes | Bundle, *words: str) -> None:
    """The second verifier finds that a bundle does not hold, too; what it found has its own words."""
    fails(content, *words)
    assert second(content) is False


def both(content: bytes | Bundle) -> bool | None:
    """The verdict of both verifiers, which is the same; None if it is open."""
    last, other = checked(content)[-1], second(content)
    assert last.holds is other, last
    return other


def second(content: bytes | Bundle) -> bool | None:
    """The verdict of the second verifier."""
    try:
        verified(bundle.write(content) if isinstance(content, Bundle) else content)
    except (OtherVersion, Unknown):
        return None
    except Wrong:
        return False
    return True


def proved(content: bytes | Bundle) -> Proved:
    """The findings of a bundle that holds."""
    found = Proved()
    *_, last = verify(bundle.write(content) if isinstance(content, Bundle) else content, proved=found)
    assert last.holds, last
    return found


def against(content: bytes | Bundle | Proved, witnesses: Sequence[Any] = ()) -> Against:
    """A bundle that holds, ready for letters to be held against it."""
    found = content if isinstance(content, Proved) else proved(content)
    assert found.bundle is not None
    assert found.match is not None
    return Against(found.bundle, found.match, found.notices, witnesses)


class Store:
    """A server's store as it stood, for a server that forgets what came afterwards."""

    def __init__(self, referee: Referee) -> None:
        self.referee, self.kept = referee, back_up(referee)

    def again(self, *, restored: bool = False) -> Referee:
        """The server that forgets; `restored` if it says so in its transcripts."""
        folder = self.referee.folder / "again"
        folder.mkdir()
        liar = Referee(folder, seed="liar")
        liar.people, liar.now = self.referee.people, self.referee.now
        if restored:
            put_back(liar, self.kept, above=4)
            resume_all(liar)
        else:
            with closing(self.kept):
                self.kept.backup(connection(liar.database))
            liar.open_desk()
        return liar


def proof(referee: Referee, person: Mailbox) -> Bundle:
    """The bundle of the first match as it comes to a person, whose letters stay as they were."""
    referee.send(person, "transcript m1\n", sign=False)
    content = attachment(person.last, ".zip")
    del person.letters[-1]
    return bundle.read(content)


def tampered(content: bytes, path: str, change: Callable[[bytes], bytes]) -> bytes:
    """The bundle with one file changed, otherwise a sound archive."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as new:
        for info in old.infolist():
            inside = old.read(info)
            new.writestr(info, change(inside) if info.filename == path else inside)
    assert out.getvalue() != content
    return out.getvalue()


def with_entry(found: Bundle, at: int, change: Callable[[dict[str, Any]], object]) -> Bundle:
    body = json.loads(json.dumps(found.entries[at].body))
    change(body)
    entries = list(found.entries)
    entries[at] = replace(entries[at], body=body)
    return replace(found, entries=tuple(entries))


def saying(**values: Any) -> Callable[[dict[str, Any]], None]:
    """A change of a body, for `with_entry`: it says this."""
    return lambda body: body.update(values)


def with_papers(found: Bundle, papers: dict[str, bytes]) -> Bundle:
    return replace(found, papers={**found.papers, **papers})


def index(found: Bundle, kind: str, game: int = 1, turn: int | None = None) -> int:
    return next(
        at
        for at, entry in enumerate(found.entries)
        if entry.type == kind and entry.body.get("game", game) == game and entry.body.get("turn") == turn
    )


def signed_by(name: str, text: str) -> str:
    """A text with the signature of a player."""
    return text + ssh.sign(own_key(name), text.encode(), f"pbem@{SERVER}")


def letter_by(name: str, text: str) -> bytes:
    """A letter in which a player signs this."""
    return f"From: {name}@mail.example\n\n{signed_by(name, text)}".replace("\n", "\r\n").encode()


def nth(found: Bundle, kind: str, number: int = 0) -> int:
    """The index of the first entry of a type (number 0), of the second, and so on."""
    return [at for at, entry in enumerate(found.entries) if entry.type == kind][number]


def retold(found: Bundle, at: int, *, time: str = "", **body: Any) -> Bundle:
    """The bundle in which an entry says this, or has another time, signed by a server that rewrites the past."""
    entry = found.entries[at]
    return with_body(found, at, {**entry.body, **body}, time=time or entry.time)


def without_entry(found: Bundle, at: int) -> Bundle:
    """The bundle of a server that leaves out an entry; its letters keep the numbers that they are named by."""
    return signed_again(replace(found, entries=(*found.entries[:at], *found.entries[at + 1 :])))
