"""The words of `pbem play` for events, and for the player's own letters.

Others' words cannot move the cursor, nor begin a line of ours: they pass through `line_of`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pbem.cli.telling import line_of, tell
from pbem.phrase import Phrase
from pbem.requests import DEFAULT

if TYPE_CHECKING:
    from pbem.player.correspondence.event import Event
    from pbem.player.memory import SentForm


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
