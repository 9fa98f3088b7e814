"""The words of `pbem play` for events, for the player's own letters, and for a match's proof.

Others' words cannot move the cursor, nor begin a line of ours: they pass through `line_of`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pbem.cli.telling import line_of, tell
from pbem.phrase import Phrase
from pbem.player.correspondence.standings import Impossible
from pbem.player.known import MatchKnown
from pbem.requests import DEFAULT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pbem.player.correspondence import Correspondence
    from pbem.player.memory import SentForm
    from pbem.player.server_letter import Event


_OUTCOMES = {
    "done": Phrase("done"),
    "asked": Phrase("something is asked first; read the letter"),
    "again": Phrase("it had its effect before"),
}

_LOUD = {
    "forged": Phrase("NOT BELIEVED: “{about}”: {said}"),
    "contradiction": Phrase("ALARM: “{about}”: {said}"),
    "forgotten": Phrase("ALARM: “{about}”: {said}"),
    "unread": Phrase("WARNING: “{about}”: {said}"),
}


def report(event: Event) -> None:
    """Tell the player what matters of an event; other mail, and letters that cannot be judged yet, do not."""
    match event.kind:
        case "news":
            tell(Phrase("Came: {subject}", subject=line_of(event.subject)))
        case "answer" if event.said == "refused":
            assert event.sent is not None
            tell(Phrase("Refused: {letter}:", letter=about(event.sent)), loud=True)
            for fault in event.faults:
                tell(f"  - {line_of(fault)}", loud=True)
        case "answer" if event.sent is not None and event.sent.command == "register":
            pass  # the challenge says so
        case "answer":
            assert event.sent is not None
            outcome = _OUTCOMES.get(event.said) or line_of(event.said)
            tell(Phrase("Answered: {letter}: {outcome}.", letter=about(event.sent), outcome=outcome))
        case "challenge":
            tell(Phrase("The server asks your key to prove itself."))
        case "account" if event.said:
            tell(Phrase("Registered. Your recovery code, to be kept somewhere else:"))
            tell(f"\n    {line_of(event.said)}\n")
        case "account":
            tell(Phrase("Registered, without a key."))
        case "forged" | "contradiction" | "forgotten" | "unread":
            about_what = line_of(event.subject or event.match)
            tell(_LOUD[event.kind].given(about=about_what, said=line_of(event.said)), loud=True)
        case "doubled":
            tell(Phrase("Received again; it changes nothing: {subject}", subject=line_of(event.subject)))
        case "bounced":
            assert event.sent is not None
            tell(
                Phrase(
                    "CAME BACK: {letter} did not reach the server. Repeat the command to send it again.",
                    letter=about(event.sent),
                ),
                loud=True,
            )


def about(sent: SentForm) -> str:
    """A letter of the player's in a few words."""
    if sent.command == "ask":
        return sent.form.partition("\n")[0]
    return " ".join(
        filter(None, [sent.command, sent.match, sent.place if sent.command in {"orders", "setup"} else ""])
    )


def when(turn: int) -> str:
    """The turn for which orders are, or the turns for which default orders are."""
    return f"turn {turn}" if turn != DEFAULT else "whenever you miss a turn"


def indented(text: str) -> str:
    """Lines of a letter within what we say."""
    return "".join(f"    {line}\n" for line in text.splitlines())


def prove_ended(letters: Correspondence, events: Sequence[Event]) -> None:
    """Verify each match whose game has ended by these letters."""
    for name in dict.fromkeys(event.match for event in events if event.kind == "news"):
        ended = len(letters.matches.standing(name).ended)
        if ended and letters.memory.bundle(name) and letters.memory.known(MatchKnown, name).proved != ended:
            proved(letters, name)
            with letters.memory.noting(MatchKnown, name) as known:
                known.proved = ended


def proved(letters: Correspondence, name: str) -> bool:
    """Verify the bundle of a match, and say what came of it; whether it holds, and no letter says otherwise."""
    from pbem.player.proving import prove

    proof = prove(letters.memory, name)
    if proof is None:
        raise Impossible("No bundle of {match} has come: it comes when a game has ended.", match=name)
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
