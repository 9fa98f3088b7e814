"""The public side of a server: standings, invitations, public matches, for pages that all can read.

Deny by default: what may be told is put together here piece by piece, from the matches whose players agreed on
`privacy: public`. Of a running match, that is how it stands; of a closed match, its bundle without the players'
letters, which show their addresses and may hold words for one reader. Nothing is written. Implements protocol.md,
"Secrets".
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pbem.desk.match_archive import MatchRepository
from pbem.desk.match_facts import outcome_of_match
from pbem.desk.ratings import PROVISIONAL, tables
from pbem.games.outside import is_agreed
from pbem.identity import Key, judge, ssh
from pbem.mail import commands
from pbem.mail.message import Unreadable, read_letter
from pbem.match.naming import seen_by
from pbem.match.state import RUNNING, Match
from pbem.match.transcript import Entry, utc
from pbem.match.view import view
from pbem.pages.site import Finished
from pbem.proof.bundle import Bundle
from pbem.proof.named_papers import keys_in
from pbem.proof.normal_form import VOCABULARY, normal_text
from pbem.store.matches import Matches
from pbem.store.people import People
from pbem.store.tlog import TransparencyLog

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pbem.store.database import Database
    from pbem.store.vault import Vault

_RANKED = 100
_PAPERS = re.compile(r"(openings|receipts|withdrawals|steps|traces|reports|records)/game-[0-9]++[a-z0-9.-]*+")
"""The papers of a bundle that are the server's own and hold no address."""
_REMARKS = frozenset("#@")
"""A comment in orders, or an address, is no part of the game."""


class Public:
    """The public side of a store."""

    def __init__(self, server: str, database: Database, vault: Vault) -> None:
        self._people = People(database)
        self._matches = Matches(database, vault)
        self._archive = MatchRepository(self._matches, self._people, server, _log=TransparencyLog(database))

    def site(self) -> dict[str, object]:
        """Everything that the first page of a server says, except its finished matches."""
        return {
            "standings": tables(self._people, _RANKED),
            "provisional": PROVISIONAL,
            "invitations": list(self.invitations()),
            "running": list(self.running()),
        }

    def invitations(self) -> Iterator[dict[str, object]]:
        """The open list: proposals with a seat for anybody, newest first."""
        for number in self._people.open_matches():
            if match := self._public(number, ("open",)):
                free = [seat for seat, kept in self._people.free(number).items() if kept is None]
                by = self._people.standing(match.terms.game, seen_by(match, 0).name(1))
                yield self._summary(match) | {"by": by, "free": len(free), "lines": match.terms.lines()}

    def running(self) -> Iterator[dict[str, object]]:
        """The public matches that are being played, newest first: only how each stands."""
        for number in reversed(self._matches.in_phases(*RUNNING)):
            if match := self._public(number, RUNNING):
                yield self._summary(match)

    def finished(self) -> Iterator[Finished]:
        """The public matches that were played to their end, newest first."""
        for number in reversed(self._matches.in_phases("closed")):
            match = self._public(number, ("closed",))
            if match is None or not match.games or (match.outcome or {}).get("reason") == "annulled":
                continue
            yield self._finished(number, match)

    def _finished(self, number: int, match: Match) -> Finished:
        """The outcome of a match, its signed forms, press and log; its bundle, if it can have a page.

        It has none if keys in it name addresses, or if the rules here are not those that were agreed on.
        """
        rows = self._matches.entries(number)
        entries = [Entry.read(row.entry) for row in rows]
        papers = self._matches.papers(number, len(match.games), 0, None)
        open_papers = {path: content for path, content in papers.items() if _PAPERS.fullmatch(path)}
        summary = self._summary(match) | {
            **outcome_of_match(match),
            "ended": utc(entries[-1].time),
            "turns": sum(ended.turns for ended in match.games),
        }
        bare = all(format_ == "ssh" for format_ in key_formats(entries))
        readable = bare and is_agreed(match.terms.game, match.terms.rules_package)
        bundle = Bundle(entries, [row.signature for row in rows], open_papers) if readable else None
        sent = self._matches.press(number)
        press = [{"game": row.game, "turn": row.turn, "by": row.player, "text": row.text} for row in sent]
        seen = self._archive.first_seen(number)
        logged = [(seen[0], str(seen[1]))] if seen else []
        forms = dict(_forms(match, entries, papers))
        return Finished(summary, bundle, forms, press, logged)

    def _public(self, number: int, phases: tuple[str, ...]) -> Match | None:
        """The match, if its players agreed that everybody may watch, and it is in one of these phases."""
        loaded = self._archive.load(number)
        if loaded is None or loaded[0].terms.privacy != "public" or loaded[0].phase not in phases:
            return None
        return loaded[0]

    def _summary(self, match: Match) -> dict[str, object]:
        """The public view of a match, and its terms."""
        match = seen_by(match, 0)
        return {"m": view(match, 0, programs=self._people.programs(match.names)), "terms": match.terms}


def key_formats(entries: Sequence[Entry]) -> Iterator[str]:
    """The formats of all keys that a transcript holds."""
    return (key["format"] for _, key in keys_in(entries))


def _forms(match: Match, entries: Sequence[Entry], papers: Mapping[str, bytes]) -> Iterator[tuple[str, str]]:
    """The signed forms of a match's letters, for letters whose signed text is one form and nothing else."""
    keys: dict[int, list[Mapping[str, str]]] = {seat: [] for seat in match.seats}
    for seat, key in keys_in(entries):
        keys[seat].append(key)
    for path, letter in papers.items():
        found = re.fullmatch(r"letters/([a-z]+-[a-z0-9-]*seat-([1-9]))\.eml", path)
        if not found:
            continue
        if form := signed_form(letter, match.server, keys[int(found[2])]):
            yield found[1], form


def signed_form(letter: bytes, server: str, keys: Sequence[Mapping[str, str]]) -> str | None:
    """The text that one of these keys signed, with its signature; None unless it is a single form.

    A form whose signature no page can check is of no use there.
    """
    known = [key for key in keys if key["public"].split()[0] in ssh.ON_PAGES]
    pinned = [Key("ssh", key["fingerprint"], key["public"]) for key in known]
    try:
        verdict = judge(read_letter(letter), pinned, server, words=VOCABULARY)
        text = normal_text(verdict) if verdict.kind == "valid" and not verdict.entity else ""
    except Unreadable:
        return None
    reading = commands.parse(text)
    single = len(reading.commands) == 1 and not (reading.ignored or reading.optout or set(text) & _REMARKS)
    if not single or reading.commands[0].faults or not commands.COMMANDS[reading.commands[0].name].published:
        return None
    return verdict.pasted or None
