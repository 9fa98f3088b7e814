"""Questions that many tests ask of a referee in a box: entries, a proof that holds, whole sentences, early orders."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import TYPE_CHECKING

from in_a_box.referee import attachment, whole_sentence

from pbem.proof.verification import verify
from verifier import Unknown, verified

if TYPE_CHECKING:
    from email.message import EmailMessage

    from in_a_box.referee import Mailbox, Referee


def types(referee: Referee) -> list[str]:
    """The types of the entries of the first match."""
    rows = referee.database.execute("SELECT entry FROM entries WHERE match = 1 ORDER BY seq")
    return [json.loads(row[0])["type"] for row in rows]


def held(letter: EmailMessage) -> list[str]:
    """The findings of the proof in a letter, once it holds for both verifiers, if the second knows its game."""
    content = attachment(letter, ".zip")
    checks = list(verify(content))
    assert all(check.holds for check in checks), checks[-1]
    with suppress(Unknown):
        verified(content)
    return [check.found for check in checks]


def hold_for_both(content: bytes) -> None:
    assert [f"{check.what}: {check.found}" for check in verify(content) if not check.holds] == []
    verified(content)


def proved(referee: Referee, person: Mailbox) -> list[str]:
    """The findings of the proof that a player asks for, once it holds."""
    referee.send(person, "transcript m1\n", sign=False)
    return held(person.last)


def sentence_of(referee: Referee, person: Mailbox, text: str) -> str:
    """The whole sentence, as the server gives it back to be signed where a player does not say its place."""
    referee.send(person, text, follow=False)
    whole = whole_sentence(person.text)
    assert whole is not None, person.text
    return whole


def early(referee: Referee, person: Mailbox, place: str, text: str, rev: int = 1) -> None:
    """Orders for `turn 7`, or `default`, in the form of the latest letter."""
    form = person.filled("orders", text, rev)
    due = form.partition("\n")[0].partition(" ")[2].partition(" ")[2]
    referee.send(person, form.replace(due, place, 1))
