"""Letters about a tournament that a player kept: its heads, the outcomes that answers told, and the server's log.

The same checks as of matches (`pbem.proof.compare`), with the statements of tournaments. Implements docs/bundle.md,
12.9, and docs/witnesses.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pbem.match.transcript import written_seconds
from pbem.proof import bundle
from pbem.proof.compare.chain import Heads, LogCheck, compare_generations
from pbem.proof.compare.index import ShownLetter, TranscriptIndex
from pbem.proof.compare.words import compare_answers
from pbem.proof.tournament_proof import TournamentCheck
from pbem.tournament.tournament_entries import TournamentEntry, tournament_statement

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from pbem.proof.compare.finding import Standing
    from pbem.proof.kept import Kept
    from pbem.verifier_key import VerifierKey

_MARKS: Mapping[Standing, str] = {"agrees": "ok", "later": "ok", "two stories": "FAIL", "contradicts": "FAIL"}


def compared(content: bytes, letters: Iterable[Kept], witnesses: Sequence[VerifierKey]) -> Iterator[TournamentCheck]:
    """The findings of letters about a tournament, in them and in its server's log, and about each witness's part."""
    entries = bundle.read_tournament(content, TournamentEntry).entries
    index = TranscriptIndex(entries, str(entries[0].body["tournament"]), tournament_statement)
    heads, log = Heads(index), LogCheck(index, witnesses)
    shown = False
    for kept in letters:
        letter = ShownLetter(kept, index)
        told = ("letter", (*heads.compare(letter), *compare_generations(letter), *compare_answers(letter)))
        for what, findings in (told, ("log", log.compare(kept))):
            for finding in findings:
                shown = True
                said = f"{finding.what}: {finding.found}".removesuffix(": ")
                yield TournamentCheck(_MARKS.get(finding.standing, "OPEN"), what, said, finding.seq, kept.source)
    if not shown:
        yield TournamentCheck("OPEN", "letter", "no letter shows anything of this tournament")
    for name in dict.fromkeys(key.name for key in witnesses):
        if name in log.witnessed:
            seq, at = log.witnessed[name]
            said = f"{name} saw entry {seq} of {len(index.heads)}, by {written_seconds(at)} at the latest"
            yield TournamentCheck("ok", "witness", said, seq)
        else:
            yield TournamentCheck("OPEN", "witness", f"{name}: no letter shows that it saw an entry")
