"""The words of a letter: the outcomes that an answer told, reply addresses and their places, terms, and commitments.

So nothing that the server refused, or only asked about, can stand in a bundle as if it had been obeyed; and nothing
that it said to have obeyed at once can be missing.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pbem.match.transcript import announcement, utc
from pbem.proof.compare.finding import Finding, differs, not_signed_by_the_server
from pbem.proof.compare.index import is_signature

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pbem.proof.compare.index import ShownLetter, ShownMatchLetter, TranscriptIndex
    from pbem.proof.kept import Answered


_MAIL = re.compile(rb"(?m)^mail ([0-9a-f]{64})$")

OBEYED = {"done", "again"}

AT_ONCE = {
    *("draw", "annul", "extend", "claim", "resign", "substitute", "step", "reveal"),
    *("enter", "leave", "challenge", "rule"),
}
"""The commands that have an entry of their own as soon as they are done."""

BY_RECEIPT = {"setup", "seal", "orders", "clear"}
"""The commands whose answer brings a paper, which the transcript accounts for: `pbem.proof.compare.fates`."""

OVER = {"decline", "withdraw"}
"""The commands after which a match never begins."""


def compare_answers(letter: ShownLetter) -> Iterator[Finding]:
    """The finding about each command of which the letter tells another outcome than the transcript.

    The same octets may come again, and then have another outcome: what was refused may be obeyed, and what was obeyed
    is refused once its turn is over. But at one time they come only once, and what takes effect at once has it once.
    """
    index, answered = letter.index, letter.kept.answered
    obeyed = {(one.mail, one.command) for one in answered if one.outcome in OBEYED}
    for told in answered:
        used = index.used.get((told.mail, told.command))
        if used is None:
            found = _missing(letter, told)
        elif utc(used.received) == utc(told.received):
            if (told.mail, told.command) in obeyed:
                continue
            found = _otherwise(index, told, f"{used.where} that it was obeyed")
        elif told.outcome == "done" and told.command in AT_ONCE:
            found = _otherwise(index, told, f"{used.where} that it came at {used.received}, not {told.received}")
        else:
            continue
        if found is None or told.server != index.server:
            continue
        if is_signature(index.key, told.signature, announcement(told.server, told.bulletin)):
            yield found


def _otherwise(index: TranscriptIndex, told: Answered, otherwise: str) -> Finding:
    reason = f"it says that `{told.command}` was {told.outcome}, and {otherwise}"
    return differs(index, "answer", reason, is_signed=True)


def _missing(letter: ShownLetter, told: Answered) -> Finding | None:
    """The finding about a letter that was done, and of which the transcript says nothing; None if it need not."""
    index = letter.index
    if told.outcome == "again" and not (told.command in BY_RECEIPT and all(index.said.values())):
        return _never_done(letter, told)
    if told.outcome not in OBEYED or index.place[1] not in told.about:
        return None
    reason = f"it says that `{told.command}` was done, and "
    if told.command in BY_RECEIPT:
        # It may be that of another letter with these words, which came first.
        brought = {mail.decode() for one in letter.kept.attached for way in one.ways for mail in _MAIL.findall(way)}
        first = brought if told.outcome == "done" else index.said.keys()
        if told.mail in brought or any(told.words in index.said.get(mail, ()) for mail in first):
            return None
        return Finding("open", "answer", reason + "does not bring the receipt")
    if told.command in AT_ONCE and index.goes_on and letter.ahead:
        return Finding("later", "answer", reason + "the bundle does not have that yet; ask for a newer one")
    if told.command in AT_ONCE | OVER:
        return _otherwise(index, told, "no entry is of it")
    return None


def _never_done(letter: ShownLetter, told: Answered) -> Finding | None:
    """The finding about words that were obeyed before, as it says, where no entry is of any letter with these words.

    That one of the commands of a letter was obeyed is enough for `again` to all, so each must have its entry here.
    """
    index = letter.index
    together = [one for one in letter.kept.answered if (one.mail, one.outcome) == (told.mail, "again")]
    enters = all(index.place[1] in one.about and one.command in AT_ONCE - {"substitute"} for one in together)
    words = {one.words for one in together}
    said = [index.said.get(mail, frozenset[str]()) for mail, command in index.used if command not in BY_RECEIPT]
    if not (enters and all(said)) or words.intersection({""}.union(*said)):
        return None
    if index.goes_on and letter.ahead:
        return Finding("later", "answer", "it says `again` of what the bundle does not have yet; ask for a newer one")
    return _otherwise(index, told, "no entry is of these words")


def compare_addresses(letter: ShownMatchLetter) -> Iterator[Finding]:
    """The finding about each address of a letter by which another letter counted in the bundle."""
    index = letter.index
    for address in letter.kept.addresses:
        used = index.addresses.get(address.token)
        if used is None or address.server != index.place[0]:
            continue
        told = (address.match, address.place)
        if told == (used.match, used.place) and address.match != index.place[1]:
            continue  # a player may agree in the answer to a letter about another match
        what = "reply address"
        if not is_signature(index.key, address.signature, announcement(address.server, address.bulletin)):
            yield not_signed_by_the_server(index, what, None, None)
        elif told == (used.match, used.place):
            yield Finding("agrees", what, used.place)
        else:
            reason = f"it was for {' '.join(told)}, and {used.path} says for {used.match} {used.place}"
            yield differs(index, what, reason, is_signed=True)


def compare_text(letter: ShownMatchLetter) -> Iterator[Finding]:
    """The findings about the text of a letter of this server."""
    index, kept = letter.index, letter.kept
    if index.server.lower() not in kept.servers:
        return  # somebody else's words
    for match, server, prev in dict.fromkeys(kept.prevs):
        if (server, match) == index.place and prev not in index.seqs:
            reason = f"the form in it cites the head {prev}, which is of no entry of the bundle"
            if index.goes_on and letter.ahead:
                yield Finding("later", "form", f"{reason}; ask for a newer one")
            else:
                yield differs(index, "form", reason)
    yield from _terms(letter)
    yield from _commitments(letter)


def _terms(letter: ShownMatchLetter) -> Iterator[Finding]:
    """The hash of the agreed terms in a letter from before or after the match began."""
    ours = str(letter.index.bundle.entries[0].body["rules"])
    for told in dict.fromkeys(told for match, told in letter.kept.terms if match == letter.index.match.id):
        if told == ours:
            yield Finding("agrees", "terms", "", 1)
        else:
            reason = f"it tells of other terms, with the hash {told}, than entry 1"
            is_signed = True if told in letter.vouched else None
            yield differs(letter.index, "terms", reason, 1, is_signed=is_signed)


def _commitments(letter: ShownMatchLetter) -> Iterator[Finding]:
    """The commitments that it lists, each to the setups of one game."""
    index = letter.index
    for match, game, told in letter.kept.commitments:
        begun = index.begun(game)
        if match != index.match.id or begun is None:
            continue  # of another match, or later than the bundle
        if told in index.commitments(begun):
            yield Finding("agrees", "commitments", "", begun.seq)
        else:
            reason = f"it tells other commitments than entry {begun.seq}"
            yield differs(index, "commitments", reason, begun.seq)
