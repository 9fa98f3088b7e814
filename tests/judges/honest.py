"""An honest server is never accused: what its letters say against each of the bundles that it gave out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pbem.mail.message import read_letter
from pbem.proof.kept_letters import LIMITS, kept
from pbem.proof.prove import Against
from pbem.proof.verification import Proved, verify

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from in_a_box.referee import Referee

ACCUSES = frozenset({"broken", "contradicts", "two stories"})


def accused(referee: Referee, *, everywhere: bool = True) -> list[str]:
    """What the letters that people got say against the bundles of their matches, of all seats and of everybody.

    `everywhere` includes those that came in letters, which were running then; else those of this moment alone count.
    """
    letters = [raw for person in referee.people.values() for raw in person.letters.came]
    found = bundles_now(referee)
    for raw in letters if everywhere else ():
        parts = read_letter(raw, LIMITS).parts
        found += [part.content for part in parts if (part.filename or "").endswith(".pbem.zip")]
    return list(_accusations(dict.fromkeys(found), letters))


def bundles_now(referee: Referee) -> list[bytes]:
    found = []
    archive = referee.desk.archive
    for begun in referee.database.rows("SELECT DISTINCT match FROM entries ORDER BY match"):
        loaded = archive.load(begun["match"])
        assert loaded is not None
        found += [archive.bundle(*loaded, seat) for seat in (*loaded[0].seats, None)]
    return found


def _accusations(contents: Iterable[bytes], letters: Iterable[bytes]) -> Iterator[str]:
    told = [kept(f"letter {number}", raw) for number, raw in enumerate(letters)]
    for content in contents:
        proved = Proved()
        last = list(verify(content, proved=proved))[-1]
        if not last.holds:
            yield f"the bundle: {last.path}: {last.found}"
            continue
        assert proved.bundle is not None
        assert proved.match is not None
        against = Against(proved.bundle, proved.match, proved.notices)
        judged = [against.judge(one) for one in told]
        if not any(letter.standing == "agrees" for letter in judged):
            yield "no letter agrees"
        for letter in judged:
            for finding in letter.findings:
                if finding.standing in ACCUSES:
                    where = f"{len(proved.bundle.entries)} entries of {proved.match.id}"
                    yield f"{where}, {letter.kept.source}, {letter.kept.subject}: {finding}"
