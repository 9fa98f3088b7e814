"""The proof of a tournament: checks its file from the first byte to the last, and its results by bundles of matches.

It folds the entries as the server did, checks that each letter says what its entry records, and compares each result
with the bundle of its match. What nobody can check from the files at hand is left open, never found true. Implements
docs/bundle.md, 12.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from pbem.games import Refused
from pbem.games.outside import PACKAGES, coded, is_agreed, not_enabled
from pbem.mail import commands
from pbem.mail.message import Unreadable, read_letter
from pbem.match.documents import Evidence, NamedMailbox
from pbem.match.pinned_keys import Player
from pbem.match.transcript import TranscriptError, follow, sha256_hex, written_seconds
from pbem.phrase import harmless
from pbem.proof import bundle
from pbem.proof.agreement import names_player
from pbem.proof.compare.chain import Heads, LogCheck, compare_standings
from pbem.proof.compare.index import ShownLetter, TranscriptIndex
from pbem.proof.compare.words import compare_answers
from pbem.proof.listed_keys import check_players
from pbem.proof.mailbox_evidence import marks
from pbem.proof.normal_form import hash_of_entry_words
from pbem.proof.signed_letters import misdated, signed_text, vouched_text
from pbem.proof.verification import Proved, check_signatures, check_stopped_by
from pbem.proof.verification import verify as verify_match
from pbem.requests import AnnounceTournament, ChallengePlayer, Enter, Leave, Rule
from pbem.tournament.crosstable import table
from pbem.tournament.fold import begun, fold
from pbem.tournament.following import follows
from pbem.tournament.tournament_entries import MatchResult, TournamentEntry, result_of, tournament_statement
from pbem.tournament.tournament_terms import TournamentTerms

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence

    from pbem.json_object import JsonObject
    from pbem.match.state import Match
    from pbem.match.transcript import Entry
    from pbem.proof.bundle import Bundle
    from pbem.proof.compare.finding import Standing
    from pbem.proof.kept import Kept
    from pbem.requests import AnyRequest
    from pbem.tournament.tournament_state import Pairing, Tournament
    from pbem.verifier_key import VerifierKey


class TournamentCheck(msgspec.Struct, frozen=True):
    """One check: its subject and result."""

    standing: str
    """`ok`, `FAIL`, or `OPEN`: the files at hand do not say; `WORD`: true by a bare word alone."""
    what: str
    found: str
    seq: int | None = None
    path: str | None = None


def verify_tournament(
    content: bytes, bundles: Iterable[bytes] | None = None, server_key: str | None = None
) -> Iterator[TournamentCheck]:
    """Check a tournament; yields each check, and none after the first that fails, except of matches.

    `bundles` are those of its matches, and may be of others, too. `server_key` is the server's known key.
    """
    for check in _checks(content, bundles, server_key):
        yield replace(check, what=harmless(check.what), found=harmless(check.found))


def _checks(content: bytes, bundles: Iterable[bytes] | None, server_key: str | None) -> Iterator[TournamentCheck]:
    try:
        found = bundle.read_tournament(content, TournamentEntry)
        yield TournamentCheck("ok", "bundle", f"{len(found.papers)} papers, as a bundle is written")
        head = follow(found.entries)
        yield TournamentCheck("ok", "chain", f"{len(found.entries)} entries, unbroken, head {head}")
        tournament = _begun(found.entries[0])
        about = partial(tournament_statement, tournament.server, tournament.id)
        yield TournamentCheck("ok", "server", check_signatures(found, tournament.server, about, server_key))
        # Without the rules that were agreed on, the lines of the announcement are not judged.
        match = tournament.terms.of_matches
        if not is_agreed(match.game, match.rules_package):
            here = PACKAGES.get(match.game)
            other = f"agreed on was {coded(match.rules_package)}; here is {coded(here)}"
            yield TournamentCheck("OPEN", "rules", other if here else not_enabled(match.game, match.rules_package))
        tournament = yield from _walk(found, tournament)
        yield from _matches(tournament, bundles)
        groups = [", ".join(f"{row.entrant} {row.points}" for row in group) for group in table(tournament)]
        yield TournamentCheck("ok", "table", " / ".join(groups) or "nobody entered")
    except Exception as error:
        last = check_stopped_by(error)
        standing = "OPEN" if last.holds is None else "FAIL"
        yield TournamentCheck(standing, last.what, last.found, last.seq, last.path)


def _begun(entry: Entry) -> Tournament:
    try:
        tournament = begun(entry)
        match = tournament.terms.of_matches
        tournament.terms.demand_possible(by_rules=is_agreed(match.game, match.rules_package))
        return tournament
    except (Refused, AttributeError, LookupError, TypeError, ValueError) as error:
        raise TranscriptError(entry.seq, None, f"not the beginning of a tournament: {error}") from error


def _walk(found: Bundle, tournament: Tournament) -> Generator[TournamentCheck, None, Tournament]:
    """Fold the entries, with a check for each: its letter says what it records, and it follows from those before."""
    letters = _TournamentLetters(found.papers)
    first, *others = found.entries
    if not found.papers:
        yield TournamentCheck("OPEN", "letters", "not in this file, as on public pages: they show addresses")
    letters.check(tournament, first)
    yield _passed(tournament, first)
    for entry in others:
        before = tournament
        try:
            tournament = fold(tournament, entry)
        except Refused as refused:
            raise TranscriptError(entry.seq, None, f"{entry.type}: {refused}") from refused
        letters.check(before, entry)
        yield _passed(before, entry)
    if (due := follows(tournament)) is not None:
        raise TranscriptError(tournament.seq, None, f"the transcript breaks off before the entry `{due[0]}`")
    if rest := found.papers.keys() - letters.used:
        raise TranscriptError(tournament.seq, min(rest), "is named by no entry")
    return tournament


class _TournamentLetters:
    """The letters of a tournament: each is by its player, and says what its entry records."""

    def __init__(self, papers: Mapping[str, bytes]) -> None:
        self._papers = papers
        self._mailboxes: dict[str, NamedMailbox] = {}
        self._counted: set[str] = set()
        """The reply addresses that letters used up, and the DKIM signatures of these letters."""
        self.used: set[str] = set()

    def check(self, tournament: Tournament, entry: Entry) -> None:
        """Check the letter of an entry, if it rests on one; `tournament` is the one before it."""
        check_players(entry)
        if "mail" not in entry.body or not self._papers:
            return
        path = f"letters/{entry.type}-{entry.seq}.eml"
        try:
            player = self._player(tournament, entry)
            raw = self._paper(path, entry.body["mail"])
            if fault := misdated(read_letter(raw), datetime.fromisoformat(entry.body["received"])):
                raise ValueError(str(fault))
            text = self._text(tournament, entry, player, raw)
            if hash_of_entry_words(text) != entry.body["words"]:
                raise ValueError("does not hold these words")
            by_mailbox = "evidence" in entry.body
            reading = commands.parse(text, signed=not by_mailbox)
            forms = [command.form for command in reading.commands if not command.faults]
            placed = partial(names_player, server=tournament.server, player=player.name, by_mailbox=by_mailbox)
            if not any(placed(form) and _says(form.request, tournament, entry) for form in forms):
                raise ValueError(f"does not say what `{entry.type}` records")
        except (ValueError, Unreadable) as error:
            raise TranscriptError(entry.seq, path, str(error)) from error

    def _paper(self, path: str, expected: str) -> bytes:
        self.used.add(path)
        content = self._papers.get(path)
        if content is None:
            raise ValueError("is missing" if path.startswith("letters/") else f"{path} is missing")
        if sha256_hex(content) != expected:
            raise ValueError(f"{path} is not what the transcript names")
        return content

    def _player(self, tournament: Tournament, entry: Entry) -> Player:
        """The player whose letter it is, with the mailbox, if an entry pinned one."""
        body = entry.body
        if (said := body.get("player" if entry.type == "entered" else "organiser")) is not None:
            player = Player.read(said)
            if player.mailbox:
                content = self._paper(f"evidence/mailbox-{entry.seq}.txt", player.mailbox)
                named = NamedMailbox.read(content.decode())
                if (named.server, named.match, named.seat, named.player) != (
                    tournament.server,
                    tournament.id,
                    0,
                    player.name,
                ):
                    raise ValueError("the mailbox is not that of this player in this tournament")
                self._mailboxes[player.mailbox] = named
            return self._with_mailbox(player)
        if entry.type == "ruled":
            return self._with_mailbox(tournament.organiser)
        entrant = tournament.entrant_of(body["player"])
        assert entrant is not None, "the fold has found it"
        return self._with_mailbox(entrant.player)

    def _with_mailbox(self, player: Player) -> Player:
        return replace(player, named=self._mailboxes.get(player.mailbox))

    def _text(self, tournament: Tournament, entry: Entry, player: Player, raw: bytes) -> str:
        """The text of a letter that its player signed, or for which the evidence vouches; raises ValueError."""
        body = entry.body
        if "evidence" not in body:
            return signed_text(raw, player.keys, player.name, tournament.server)[1]
        if tournament.terms.match.get("keys") == "demanded" or player.keys:
            raise ValueError(f"{player.name} must sign with a key, and this letter is not signed")
        content = self._paper(f"evidence/{entry.type}-{entry.seq}.txt", body["evidence"])
        vouching = Evidence.read(content.decode())
        only = {vouching.token, *marks(read_letter(raw))}
        if vouching.received != body["received"] or only & self._counted:
            raise ValueError("its evidence names another time, or let another letter count before")
        self._counted |= only
        return vouched_text(raw, vouching, player, tournament.server)


def _says(request: AnyRequest, tournament: Tournament, entry: Entry) -> bool:
    """True if a letter's request is the one that its entry records."""
    body = entry.body
    if entry.type == "announced":
        return isinstance(request, AnnounceTournament) and _announces(request, tournament.terms)
    if entry.type == "ruled":
        named = (body.get("match"), body.get("player"), body.get("for"))
        return request == Rule(tournament.id, body["what"], *named, {"reason": body["reason"]})
    wanted: dict[str, AnyRequest] = {
        "entered": Enter(tournament.id, tournament.rules_hash, body.get("team")),
        "left": Leave(tournament.id),
        "challenged": ChallengePlayer(tournament.id, str(body.get("against"))),
    }
    return request == wanted[entry.type]


def _announces(request: AnnounceTournament, terms: TournamentTerms) -> bool:
    """True if an announcement has exactly these terms; what it leaves to the server, the terms say."""
    template = terms.match
    if not is_agreed(str(template["game"]), terms.of_matches.rules_package):  # a line says that it is open
        return request.rules == template["game"]
    try:
        settle = timedelta(seconds=int(str(template["settle"])))
        proposed = TournamentTerms.propose(request.rules, request.options, settle)
    except (Refused, LookupError, ValueError):
        return False
    chosen = {"rules_package", *(() if "rules" in request.options else ("edition",))} & template.keys()
    return replace(proposed, match={**proposed.match, **{key: template[key] for key in chosen}}) == terms


# What a check says.


def _passed(tournament: Tournament, entry: Entry) -> TournamentCheck:
    """The check of an entry that was found true; `tournament` is the one before it."""
    said = _SAYS[entry.type](tournament, entry.body)
    standing = (
        "WORD"
        if entry.type in {"ruled", "restored"}
        or (entry.type == "entered" and _has_other_keys(tournament, entry.body))
        else "ok"
    )
    return TournamentCheck(standing, f"entry {entry.seq}", said, entry.seq)


def _has_other_keys(tournament: Tournament, body: JsonObject) -> bool:
    """True if a player enters again with other keys: nothing proves that they are the player's."""
    entrant = tournament.entrant_of(body["player"]["name"])
    return entrant is not None and entrant.player.document() != body["player"]


def _says_entered(tournament: Tournament, body: JsonObject) -> str:
    name = body["player"]["name"]
    keys = ", ".join(key["fingerprint"] for key in body["player"]["keys"]) or "the mailbox"
    entrant = tournament.entrants.get(tournament.nominated.get(name, ""))
    if entrant is not None:
        return f"{name} plays on for {entrant.name}, by {keys}"
    again = " again" if tournament.entrant_of(name) else ""
    word = ": other keys, by the server's word" if _has_other_keys(tournament, body) else ""
    return f"{name} enters{again} by {keys}{word}"


def _says_paired(_t: Tournament, body: JsonObject) -> str:
    pairs = [f"{pair['match']} {' - '.join(pair['players'])}" for pair in body["pairs"]]
    return ", ".join([*pairs, *(f"{name} has a bye" for name in body["byes"])])


def _says_ruled(_t: Tournament, body: JsonObject) -> str:
    whose = {"organiser": "the organiser's word, signed", "operator": "the operator's bare word"}[body["by"]]
    what = {
        "annul": "{match} does not count",
        "substitute": "{player} may play on for {for}",
        "close": "the tournament ends",
    }[body["what"]]
    keys = " by other keys, by the server's word" if "organiser" in body else ""
    return f"{what.format(**body)}, by {whose}{keys}: {body['reason']}"


_SAYS: Mapping[str, Callable[[Tournament, JsonObject], str]] = {
    "announced": lambda t, body: f"announced by {t.organiser.name}: {t.terms.format}, terms {body['rules'][:16]}...",
    "entered": _says_entered,
    "left": lambda _t, body: f"{body['player']} leaves, signed",
    "challenged": lambda _t, body: f"{body['player']} challenges {body['against']}, signed",
    "started": lambda _t, body: f"the lot gives {', '.join(body['order'])}",
    "paired": _says_paired,
    "result": lambda _t, body: f"{body['match']} is over: winners {body['winners']}, {body['reason']}",
    "ruled": _says_ruled,
    "restored": lambda _t, body: (
        f"the server was restored from a backup (generation {body['generation']}): it forgot what came after that"
    ),
    "withdrawn": lambda _t, body: f"{body['player']} is out ({body['why']}), games {body['games']}",
    "ended": lambda _t, body: f"the tournament is over: {body['reason']}",
}


# The matches.


_WORST = ("FAIL", "ok", "OPEN")
"""The order in which bundles of one match count: one that convicts says most, and then one that is whole."""


def _matches(tournament: Tournament, bundles: Iterable[bytes] | None) -> Iterator[TournamentCheck]:
    """Check the matches by their bundles."""
    known = {pairing.match: pairing for pairing in tournament.pairings if pairing.match}
    if bundles is None:
        if known:
            yield TournamentCheck("OPEN", "results", "by the server's word; --bundles checks them by their matches")
        return
    checks: dict[str, TournamentCheck] = {}
    heads: dict[tuple[str, int], str] = {}
    for content in bundles:
        try:
            body = bundle.first_body(content)
            match, held = str(body["match"]), body["terms"].get("tournament")
            ours = match in known or (held is not None and held["id"] == tournament.id)
            if body["server"] != tournament.server or not ours:
                continue
        except (bundle.NotABundle, LookupError, TypeError, AttributeError):
            continue
        check = _match(tournament, known.get(match), match, content, heads)
        checks[match] = min(checks.get(match, check), check, key=lambda one: _WORST.index(one.standing))
    for match in sorted(known.keys() | checks.keys(), key=lambda name: (len(name), name)):
        yield checks.get(match) or TournamentCheck("OPEN", match, "no bundle of this match is here")


def _match(
    tournament: Tournament, pairing: Pairing | None, match: str, content: bytes, heads: dict[tuple[str, int], str]
) -> TournamentCheck:
    """Check a match by its bundle: it holds, it is the one that was paired, and has this result.

    `heads` are those of bundles before, by match and entry: another one shows two stories.
    """
    standing, found = "FAIL", "names this tournament, which did not pair it"
    if pairing is not None:
        proved = Proved(keep_notices=False)
        *_, last = verify_match(content, tournament.server_key, proved)
        if last.what == "limits" or last.holds is None:
            standing, found = "OPEN", last.found
        elif not last.holds:
            found = f"its bundle does not hold: {last.found}"
        elif any(heads.setdefault((match, one.seq), one.head) != one.head for one in proved.whole[0].entries):
            found = "two bundles of it have different entries, and the server signed both"
        else:
            bundle, played = proved.whole
            standing, found = _compared(tournament, pairing, played, bundle.entries)
    if standing == "FAIL" and tournament.generation > 1:
        found += "; the server was restored from a backup since then, or before"
    return TournamentCheck(standing, match, found)


def _compared(tournament: Tournament, pairing: Pairing, match: Match, entries: Sequence[Entry]) -> tuple[str, str]:
    """The standing of a match that holds: by its terms and its letters, and then by its result."""
    letters = entries[0].body["letters"]
    if match.terms != tournament.match_terms(pairing):
        return "FAIL", "its terms are not those with which it was paired"
    if [letters[str(seat)]["mail"] for seat in match.seats] != list(pairing.mails):
        return "FAIL", "its players did not agree by their letters of entry"
    players = entries[0].body["players"]
    if [players[str(seat)]["keys"] for seat in match.seats] != [one.document()["keys"] for one in pairing.pinned]:
        return "FAIL", "its players have other keys than those with which they were paired"
    body = result_of(entries)
    if body is None:
        return ("ok", "goes on") if pairing.result is None else ("OPEN", "its bundle is from before its end")
    if pairing.result is None:
        if entries[-1].time < tournament.time:
            return "FAIL", "is over, and its result is missing"
        return "ok", "is over since the tournament's last entry"
    if MatchResult.read(body) != pairing.result:
        return "FAIL", "has another result"
    if entries[-1].time < pairing.before:  # else its server could choose what follows without it
        return "FAIL", "was over before entries that stand before its result"
    points = " : ".join(map(str, pairing.result.points))
    played = zip(pairing.names, pairing.result.players, strict=True)
    substitutes = "".join(f", {player} for {name}" for name, player in played if name != player)
    return "ok", f"has this result: {' - '.join(pairing.names)} {points}{substitutes}"


_MARKS: Mapping[Standing, str] = {"agrees": "ok", "later": "ok", "two stories": "FAIL", "contradicts": "FAIL"}


def compared(content: bytes, letters: Iterable[Kept], witnesses: Sequence[VerifierKey]) -> Iterator[TournamentCheck]:
    """The findings of letters about a tournament, in them and in its server's log, and about each witness's part."""
    entries = bundle.read_tournament(content, TournamentEntry).entries
    index = TranscriptIndex(entries, str(entries[0].body["tournament"]), tournament_statement)
    heads, log = Heads(index), LogCheck(index, witnesses)
    shown = False
    for kept in letters:
        letter = ShownLetter(kept, index)
        told = ("letter", (*heads.compare(letter), *compare_standings(letter), *compare_answers(letter)))
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
