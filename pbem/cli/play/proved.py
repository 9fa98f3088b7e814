"""The report of `pbem play` on a match's proof: the bundle verified, and the letters that came compared with it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pbem.cli.telling import line_of, tell
from pbem.phrase import Phrase
from pbem.player.correspondence.standings import Impossible

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pbem.player.correspondence import Correspondence
    from pbem.player.correspondence.event import Event


def prove_ended(letters: Correspondence, events: Sequence[Event]) -> None:
    """Verify each match whose game has ended by these letters."""
    for name in dict.fromkeys(event.match for event in events if event.kind == "news"):
        ended = len(letters.matches.standing(name).ended)
        if ended and letters.memory.bundle(name) and letters.memory.fact(f"proved {name}") != str(ended):
            proved(letters, name)
            letters.memory.know(f"proved {name}", str(ended))


def proved(letters: Correspondence, name: str) -> bool:
    """Verify the bundle of a match, and say what came of it; whether it holds, and no letter says otherwise."""
    from pbem.player.proving import prove

    proof = prove(letters.memory, name)
    if proof is None:
        raise Impossible(Phrase("No bundle of {match} has come: it comes when a game has ended.", match=name))
    last = proof.checks[-1]
    if last.holds is None:
        tell(Phrase("{match}: the proof is OPEN: {found}", match=name, found=line_of(last.found)), loud=True)
        return False
    if not last.holds:
        tell(Phrase("{match}: the proof FAILS: {found}", match=name, found=line_of(last.found)), loud=True)
        return False
    for accused in proof.accusing:
        for finding in accused.findings:
            tell(f"{name}: {line_of(accused.kept.subject)}: {finding.standing}: {line_of(finding.found)}", loud=True)
    if proof.accusing:
        tell(Phrase("{match}: your letters contradict the bundle.", match=name), loud=True)
        return False
    agreeing = sum(letter.standing == "agrees" for letter in proof.letters)
    tell(
        Phrase(
            "{match}: verified: {checks} checks hold, and {letters} of your letters agree.",
            match=name,
            checks=len(proof.checks),
            letters=agreeing,
        )
    )
    return True
