"""The papers that a letter brings: receipts and the like by their fate, reports by hash, positions by the rules.

An attachment may have been sent in one of several forms, as mail programs change line ends: it is judged in the form
that the letter or the bundle names. A bundle accounts for each acknowledged paper: `pbem.proof.compare.fates`.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from pbem.json_object import DEPTH, depth
from pbem.match.documents import SIGNED_TEXT, NotADocument, Opening, Receipt, Withdrawal
from pbem.match.transcript import canonical, sha256_hex
from pbem.proof import bundle
from pbem.proof.compare.fates import Fates
from pbem.proof.compare.finding import Finding, differs, not_signed_by_the_server
from pbem.proof.normal_form import judged_by_others
from pbem.proof.signed_letters import signed_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from pbem.json_object import JsonObject
    from pbem.match.state import Match
    from pbem.match.step import Notice
    from pbem.proof.compare.index import AttachedFile, BundleIndex, ShownMatchLetter


def compare_vouchers(letter: ShownMatchLetter) -> Iterator[Finding]:
    """The findings about the signed hashes of papers in a letter, if the papers are not attached."""
    index, kept = letter.index, letter.kept
    attached = {sha256_hex(way) for attachment in kept.attached for way in attachment.ways}
    for paper in dict.fromkeys(filter(letter.is_ours, kept.papers)):
        key = letter.signer(paper)
        if key is None and paper in kept.quoted:
            continue
        what = f"paper {paper.sha256[:16]}..."
        if key != index.key:
            yield not_signed_by_the_server(index, what, key, None)
        elif paper.sha256 in attached:
            continue  # judged as the attachment that it is
        elif paper.sha256 in index.named:
            yield Finding("agrees", what, "")
        else:
            reason = "the transcript does not name it, and its file is not in the letter as it was sent"
            yield Finding("open", what, f"{reason}: it may have been replaced by a later one")


def compare_files(
    letter: ShownMatchLetter, kinds: Sequence[Callable[[AttachedFile], Iterator[Finding]]]
) -> Iterator[Finding]:
    """The findings about the attached files, each in the form which the letter or the bundle names."""
    for attached in letter.kept.attached:
        best: list[Finding] = []
        for file in letter.files(attached):
            findings = [finding for compare in kinds for finding in compare(file)]
            named = file.is_signed or file.in_bulletin
            if findings and (not best or named or findings[0].standing == "agrees"):
                best = findings
        if not best and letter.vouched.intersection(map(sha256_hex, attached.ways)):
            best = [Finding("open", attached.name, "signed as a paper of this match, and written as none is")]
        yield from best


class Acknowledged:
    """The fates of openings, receipts and withdrawals, by a bundle."""

    def __init__(self, index: BundleIndex) -> None:
        self.index = index
        self._fates = Fates(index.bundle)

    def compare(self, file: AttachedFile) -> Iterator[Finding]:
        """The finding about an opening, a receipt or a withdrawal."""
        paper = read_acknowledged(file.content)
        if paper is None or (paper.server, paper.match) != self.index.place:
            return
        fate = self._fates.of(paper, sha256_hex(file.content))
        if fate.standing != "dropped":
            yield Finding(fate.standing, fate.what, fate.found, fate.seq)
        else:  # nothing may be dropped without a trace: that convicts the server
            yield differs(self.index, fate.what, f"{file.name}: {fate.found}", fate.seq, is_signed=file.is_signed)


def read_acknowledged(content: bytes) -> Opening | Receipt | Withdrawal | None:
    """The opening, receipt or withdrawal that a file is; None if it is none."""
    try:
        text = content.decode()
    except UnicodeDecodeError:
        return None
    for kind in (Opening, Receipt, Withdrawal):
        try:
            return kind.read(text)
        except NotADocument:
            continue
    return None


STRIDE = 100
"""The number of turns of which the view of one is cached while letters are compared."""


def compare_reports(file: AttachedFile) -> Iterator[Finding]:
    """The finding about a file of reports."""
    index = file.letter.index
    document = _document(file, "reports 1")
    if document is None:
        return
    game, turn, seat = document.get("game"), document.get("turn"), document.get("seat")
    what = f"reports of game {game}, turn {turn}"
    entry = index.turn(game, turn)
    if entry is None:
        missing = f"turn {turn} of game {game}"
        if index.goes_on and index.ended(game) is None:
            yield Finding("later", what, f"the bundle does not have {missing} yet; ask for a newer one")
        else:
            reason = f"the bundle has no {missing}"
            yield differs(index, what, reason, index.last.seq, is_signed=file.is_signed)
        return
    if sha256_hex(file.content) == entry.body["shown"].get(str(seat)):
        yield Finding("agrees", what, "", entry.seq)
        return
    reason = f"{file.name} is not the file that entry {entry.seq} names for seat {seat}"
    yield differs(index, what, reason, entry.seq, is_signed=file.is_signed)


class Positions:
    """The positions that seats were shown, as the notices of the match tell them."""

    def __init__(self, index: BundleIndex, notices: Sequence[Notice]) -> None:
        self.index = index
        self._keys = {
            (str(seat), key["public"]) for seat, player in enumerate(index.match.players, 1) for key in player.ever
        }
        self._milestones: dict[int, dict[int, Match]] = {}
        """Some positions from which the views of later ones can begin, by game and turn."""
        for notice in notices:
            turn = notice.match.turn
            if turn and turn % STRIDE == 0 and notice.match.turns:
                self._milestones.setdefault(notice.match.game, {})[turn] = notice.match
        self._options = {
            notice.match.game: json.loads(canonical(dict(notice.match.options.changed)))
            for notice in notices
            if notice.kind in {"setup", "begin"} and notice.match.options is not None
        }
        self._positions: dict[tuple[int, int, str], list[Match]] = {}
        """The positions that letters with the same head may show: of several, if a seat left the game in a turn."""
        for notice in notices:
            if notice.kind in {"begin", "turn", "step", "reveals", "left"}:
                # What leads to a position is told to all; whoever told it has it in the answer to the letter.
                for seat in notice.match.seats:
                    place = notice.match.game, seat, notice.match.prev
                    before = self._positions.get(place, []) if notice.kind == "left" else []
                    if not (before and before[-1].position is notice.match.position):
                        self._positions[place] = [*before, notice.match]

    def compare(self, file: AttachedFile) -> Iterator[Finding]:
        """The finding about a file that tells how a game stands."""
        kinds = self.index.match.play.position_files
        document = next((told for kind in kinds if (told := _document(file, kind)) is not None), None)
        if document is not None:
            yield self._judged(file, document, asked=document["pbem"] == "setup 1")

    def _judged(self, file: AttachedFile, document: JsonObject, *, asked: bool) -> Finding:
        play = self.index.match.play
        game, seat, prev = document.get("game"), document.get("seat"), document.get("prev")
        what = f"request for setup {game}" if asked else f"position of game {game}, turn {document.get('turn')}"
        if not isinstance(prev, str) or prev not in self.index.seqs:
            reason = f"{file.name} cites the head {prev}, which is of no entry of the bundle"
            return _later_or_differs(file, what, reason)
        seq = self.index.seqs[prev]
        if play.keys_in(document) - self._keys:
            return _later_or_differs(file, what, f"{file.name} shows a key that no entry of the bundle names", seq)
        options = self._options.get(game) if isinstance(game, int) else None
        if options is not None and document.get("options", options) != options:
            return _differs(file, what, f"{file.name} shows other options than those of the game", seq)
        found = self._positions.get((game, seat, prev), []) if isinstance(game, int) and isinstance(seat, int) else []
        if not (found or play.hides or asked):
            return _differs(file, what, f"{file.name} cites the head {prev}, with which no letter came", seq)
        if not found:
            return Finding("agrees", what, "its head; the rest can be checked after the reveal", seq)
        for match in found:
            turn = match.position.turn if match.position else 0
            made: dict[str, object] = {"turn": turn, "view": self._view(match, seat)}
            made |= {"sealed": {"revealing": match.awaits is not None}}
            if document.get("reports"):  # not all letters repeat them
                made["reports"] = [report for reports in match.shown(seat)[-1:] for report in reports]
            if _same(document, json.loads(canonical(made))):
                return Finding("agrees", what, "", seq)
        reason = f"{file.name} shows another position than follows from the letters and the rules"
        return _differs(file, what, reason, seq)

    def _view(self, match: Match, seat: int | None) -> Mapping[str, object] | None:
        """The view of a position; letters may show positions in any order, of which each would begin with turn 1."""
        for turn, earlier in self._milestones.get(match.game, {}).items():
            if turn < match.turn:
                earlier.keep_view(seat)
        return match.view(seat)


def _later_or_differs(file: AttachedFile, what: str, reason: str, seq: int | None = None) -> Finding:
    """A finding about what the bundle does not have: `later`, if the letter may be later than the bundle."""
    if file.letter.index.goes_on and file.letter.ahead:
        return Finding("later", what, f"{reason}; ask for a newer one", seq)
    return _differs(file, what, reason, seq)


def _differs(file: AttachedFile, what: str, reason: str, seq: int | None = None) -> Finding:
    """A finding against the bundle about a file for programs, whose hash the server signs in the letter's bulletin.

    Without the bulletin, the letter may be anybody's.
    """
    index = file.letter.index
    if file.in_bulletin is None:
        nobody = f"but no bulletin of {index.server} is in the letter, so that anybody may have made the file"
        return Finding("open", what, f"{reason}; {nobody}", seq)
    return differs(index, what, reason, seq, is_signed=file.in_bulletin)


def _document(file: AttachedFile, kind: str) -> JsonObject | None:
    """The JSON document, if it is of this kind, and about this match."""
    if f'"{kind}"'.encode() not in file.content or len(file.content) > bundle.LIMITS.paper_octets:
        return None
    if depth(file.content) > DEPTH:
        return None
    try:
        document = json.loads(file.content)
    except ValueError:
        return None
    if not isinstance(document, dict) or document.get("pbem") != kind:
        return None
    return document if (document.get("server"), document.get("match")) == file.letter.index.place else None


def compare_signed(file: AttachedFile) -> Iterator[Finding]:
    """The finding about a file with what a player signed in a sealed match."""
    index = file.letter.index
    name = file.name.removeprefix(f"{index.match.id}-").removesuffix(SIGNED_TEXT)
    if file.name != f"{index.match.id}-{name}{SIGNED_TEXT}":
        return
    keys = [key for player in index.match.players for key in player.ever]
    try:
        letter = index.bundle.papers.get(f"letters/{name}.eml", b"")
        _, text = signed_text(letter, keys, file.name, index.server)
    except ValueError:
        yield _later_or_differs(file, file.name, "the bundle has no such letter")
        return
    if judged_by_others(file.content, [key["public"] for key in keys], index.server).text == text:
        yield Finding("agrees", file.name)
    else:
        yield _differs(file, file.name, "something else was signed in the letter of the bundle")


def _same(told: object, made: object) -> bool:
    """True if what was told equals what is made now, but for keys of small letters, which versions may add or drop.

    All other keys name cells, pieces or seats.
    """
    if isinstance(told, dict) and isinstance(made, dict):
        same = all(re.fullmatch("[a-z_]+", key) for key in told.keys() ^ made.keys())
        return same and all(_same(told[key], made[key]) for key in told.keys() & made.keys())
    if isinstance(told, list) and isinstance(made, list):
        return len(told) == len(made) and all(map(_same, told, made))
    return bool(told == made)
