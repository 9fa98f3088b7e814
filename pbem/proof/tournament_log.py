"""A tournament in its server's log: what kept letters show of that, and which witnesses saw it.

The same check as that of matches, with the statements of tournaments as leaves. Implements docs/witnesses.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pbem.match.transcript import written_seconds
from pbem.proof import bundle
from pbem.proof.compare.server_log import LogCheck
from pbem.proof.tournament_proof import TournamentCheck
from pbem.tournament.tournament_entries import TournamentEntry, tournament_statement

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from pbem.proof.bundle import Bundle
    from pbem.proof.compare.finding import Standing
    from pbem.proof.kept import Kept
    from pbem.verifier_key import VerifierKey

_MARKS: Mapping[Standing, str] = {"agrees": "ok", "later": "ok", "two stories": "FAIL", "contradicts": "FAIL"}


class _TournamentIndex:
    """A verified tournament, as the log is compared with it."""

    def __init__(self, found: Bundle) -> None:
        body = found.entries[0].body
        self.server, self.key = str(body["server"]), str(body["server_key"])
        self.place = self.server, str(body["tournament"])
        self.goes_on = found.entries[-1].type != "ended"
        self.heads = {entry.seq: entry.head for entry in found.entries}
        restored = ", ".join(str(entry.seq) for entry in found.entries if entry.type == "restored")
        self.restored = f"; the server was restored from a backup (entry {restored})" if restored else ""

    def leaf(self, seq: int, head: str) -> bytes:
        return tournament_statement(*self.place, seq, head)


def logged(content: bytes, letters: Iterable[Kept], witnesses: Sequence[VerifierKey]) -> Iterator[TournamentCheck]:
    """The findings of letters about a tournament in its server's log, and about each witness's part."""
    index = _TournamentIndex(bundle.read_tournament(content, TournamentEntry))
    log = LogCheck(index, witnesses)
    shown = False
    for letter in letters:
        for finding in log.compare(letter):
            shown = True
            said = f"{finding.what}: {finding.found}"
            yield TournamentCheck(_MARKS.get(finding.standing, "OPEN"), "log", said, finding.seq, letter.source)
    if not shown:
        yield TournamentCheck("OPEN", "log", "no letter shows this tournament in the log of its server")
    for name in dict.fromkeys(key.name for key in witnesses):
        if name in log.witnessed:
            seq, at = log.witnessed[name]
            said = f"{name} saw entry {seq} of {len(index.heads)}, by {written_seconds(at)} at the latest"
            yield TournamentCheck("ok", "witness", said, seq)
        else:
            yield TournamentCheck("OPEN", "witness", f"{name}: no letter shows that it saw an entry")
