"""A player's agent in sealed matches: it checks what comes, answers and opens by itself, and asks only for orders.

It uses the correspondence, as a person does, and keeps secrets in a vault: they are on the disk before a hash of
them is in any letter. What it says next follows from the letters and the vault, so it may be killed at any point. If
the server or another player lies to it, it accuses them, and sends nothing more. Sans-IO except for the vault.
Implements sealed.md 1.5 and 1.7.
"""

from __future__ import annotations

import json
import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pbem.failpoints import passing
from pbem.games import Refused, rules
from pbem.match.transcript import canonical, sha256_hex, written
from pbem.player.correspondence import Event, Impossible, Judged
from pbem.player.sealed import BadNote, Code, Secrets
from pbem.player.sealed_game import Asked, Contradiction, Letter, SealedGame, Told, commitment
from pbem.player.signed_steps import check, check_seal, unproved

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from datetime import datetime

    from pbem.failpoints import Failpoints
    from pbem.games import Options, Report
    from pbem.json_object import JsonObject
    from pbem.player.correspondence import Correspondence
    from pbem.player.memory import Sent
    from pbem.player.sealed import Vault

__all__ = ["POINTS", "Agent", "Shown"]

log = logging.getLogger(__name__)

POINTS = ("secrets kept",)
"""Beside those of the correspondence, the points at which an agent may be stopped dead without harm."""


@dataclass(frozen=True, slots=True)
class Shown:
    """The state of a sealed game for its player: the view of the refereed game, and the reports of all turns told."""

    options: Options
    turn: int
    asked: bool
    """Whether orders are to be given."""
    view: Mapping[str, Any]
    """JSON, as a refereed game's position is attached."""
    reports: Sequence[Sequence[Report]]
    """Of each turn."""


class Agent:
    """The agent that plays the sealed matches of one account.

    `random` returns octets; `failpoint` is called at each of `POINTS`.
    """

    def __init__(
        self,
        letters: Correspondence,
        vault: Vault,
        random: Callable[[int], bytes],
        failpoint: Failpoints = passing,
    ) -> None:
        self.letters = letters
        self.memory = letters.memory
        self.vault = vault
        self._random = random
        self._at = failpoint
        self._code: Code | None = None
        self._games: dict[str, tuple[JsonObject, SealedGame]] = {}
        """By match the file that told of its game last, and what that says."""
        self._passed: dict[str, SealedGame] = {}
        """By match what was checked last, and held."""

    # The six words.

    @property
    def words(self) -> str:
        """The six words under which notes are sealed: those of this account, or new ones, which are then kept."""
        return self._known_code().words

    def use_words(self, words: str) -> None:
        """Use six words that were drawn elsewhere; raises `BadNote` for a malformed one."""
        self._code = Code(words, self._random)
        self.vault.keep_code(self._code.words)

    def _known_code(self) -> Code:
        if self._code is None:
            known = self.vault.code()
            self._code = Code(known, self._random) if known else Code.drawn(self._random)
            if not known:
                self.vault.keep_code(self._code.words)
        return self._code

    # Letters in.

    def hear(self, events: Iterable[Event], now: datetime) -> list[Event]:
        """Check what came about sealed matches; a contradiction is a separate event, and stops the match."""
        found = []
        for match in dict.fromkeys(event.match for event in events if event.kind == "news"):
            standing = self.letters.standing(match)
            if not standing.get("sealed") or self.memory.fact(f"accused {match}"):
                continue
            try:
                self._check(standing)
            except Impossible as missing:
                log.info("%s: %s", match, missing)
            except Contradiction as wrong:
                with self.memory.transaction():
                    self.memory.know(f"accused {match}", str(wrong))
                    self.memory.alarm(written(now), match, str(wrong))
                found.append(Event("contradiction", match=match, said=str(wrong)))
        return found

    def _check(self, standing: JsonObject) -> None:
        """Compare what the last letters tell with everything known; raises `Contradiction`, `Impossible`."""
        if standing["phase"] == "setup":
            self._check_agreed(standing)
        if standing["phase"] != "playing":
            return
        match, game = standing["match"], self.game(standing)
        if game.prev != standing["prev"] and game.told.owes:
            raise Impossible("a letter about it has not come")
        self._check_unrevealed(standing)
        if self._passed.get(match) is game:
            return
        self._check_keys(match, game.told)
        self._check_heads(standing, game)
        fact = f"proved {match} game {standing['game']}"
        proved = int(self.memory.fact(fact) or 0)
        for seat, name in game.told.seals.items():
            seal = self.memory.signed_text(match, name)
            if seal is not None:
                check_seal(game, int(seat), seal)
        self._check_commitments(match, game)
        heads = self.memory.heads(match) | {step.seq: step.head for step in game.told.steps}
        for at, steps in unproved(game, proved):
            first = steps[0]
            content = self.memory.signed_text(match, first.letter) if first.letter else None
            if content is not None:
                check(game, at, steps, content, heads)
            elif steps[-1].turn >= game.table.turn - 1:
                raise Impossible(
                    f"what {game.players[first.seat - 1]} signed has not come; `pbem play ask report {match}` asks"
                )
            self.memory.know(fact, str(at + len(steps)))
        secrets = self._secrets(standing, game)
        if secrets is not None:
            self._check_own(game, secrets)
        self._passed[match] = game

    def _check_agreed(self, standing: JsonObject) -> None:
        """Check that a setup is due at our seat, under the agreed terms: otherwise it could not be opened."""
        agreed = self.letters.agreed(standing["match"])
        if agreed is None:
            return  # it was proposed from here, or agreed to elsewhere
        hashed = agreed.hash(self._server, standing["match"])
        if self._asked(standing).terms != hashed or agreed.players[standing["seat"] - 1] != standing["player"]:
            raise Contradiction("the setup is asked for under other terms, or at another seat, than were agreed on")

    def _check_unrevealed(self, standing: JsonObject) -> None:
        """Check that a game in which a reveal was requested is over: otherwise the requester learned the secrets."""
        revealed = self.memory.sent("reveal", standing["match"], f"game {standing['game']}")
        if revealed and any(set(owed) - {"reveal"} for owed in standing["sealed"]["owes"].values()):
            raise Contradiction("the server had you lay your secrets open, and now the game goes on")

    def _check_keys(self, match: str, told: Told) -> None:
        """Check that the others' keys are those that were told first: with other keys, it may be somebody else."""
        fact = f"keys {match}"
        known: dict[str, list[str]] = json.loads(self.memory.fact(fact) or "{}")
        for seat, keys in told.keys.items():
            if not known.setdefault(seat, keys) or not keys:
                raise Contradiction(f"seat {seat} has no key")
            if not set(known[seat]) & set(keys):
                raise Contradiction(f"seat {seat} has other keys than before, and none of the old ones")
            known[seat] = keys
        self.memory.know(fact, json.dumps(known))

    def _check_commitments(self, match: str, game: SealedGame) -> None:
        """Check that all letters tell the same commitments."""
        fact = f"commitments {match} game {game.place.game}"
        now = json.dumps(game.told.commitments, sort_keys=True)
        if (self.memory.fact(fact) or now) != now:
            raise Contradiction("other commitments to setups are told than before")
        self.memory.know(fact, now)

    def _check_heads(self, standing: JsonObject, game: SealedGame) -> None:
        """Check that what was told once does not change: the game's begin, each step and its head, each entry's head.

        Papers are told only for recent steps, so they are compared only if both letters have them.
        """
        match, steps = standing["match"], game.told.steps
        begun = sha256_hex(canonical([game.told.terms, game.told.commitments, dict(game.options.changed)]))
        if self._known(f"begun {match} game {standing['game']}", begun) != begun:
            raise Contradiction("this game began otherwise, by what was told before: terms, options, commitments")
        fact = f"steps {match} game {standing['game']}"
        now = [[step.seq, step.head, step.said, step.paper] for step in steps]
        before = json.loads(self.memory.fact(fact) or "[]")
        for then, told in zip(before, now, strict=False):
            if then[:3] != told[:3] or (then[3] and told[3] and then[3] != told[3]):
                raise Contradiction("the steps of this game are other ones than were told before")
            told[3] = told[3] or then[3]
        if (told_so_far := now + before[len(now) :]) != before:
            self.memory.know(fact, json.dumps(told_so_far))
        for step in steps:
            shown = self.memory.head(match, step.seq)
            if shown is not None and shown != step.head:
                raise Contradiction(f"the server told two heads after entry {step.seq}: {shown} and {step.head}")

    def _known(self, fact: str, value: str) -> str:
        """The value known by this name; if there is none, this value from now on."""
        found = self.memory.fact(fact)
        if found is None:
            self.memory.know(fact, value)
        return value if found is None else found

    def _check_own(self, game: SealedGame, secrets: Secrets) -> None:
        """Check that what is told in our name is what we said."""
        seat = game.place.seat
        given = secrets.by_turn
        steps = [step for step in game.steps if step.seat != seat or step.turn in given or step.turn == 0]
        if steps != list(game.steps):
            return  # another machine of ours went on, and its note has not come
        false = game.rules.first_false(game.options, seat, secrets.setup, given, steps)
        if false is not None:
            raise Contradiction(
                f"turn {false.turn}, {false.step}: that is told under your name, and you did not say it"
            )

    # How things stand.

    def game(self, standing: JsonObject) -> SealedGame:
        """The current game; raises `Contradiction`, or `Impossible` if a letter is missing."""
        position = self.letters.sealed_position(standing["match"])
        if position is None:
            raise Impossible(f"The letter that brings game {standing['game']} of {standing['match']} has not come.")
        known = self._games.get(standing["match"])
        if known is None or known[0] != position:
            known = self._games[standing["match"]] = position, SealedGame.of(standing, self._server, position)
        return known[1]

    @property
    def _server(self) -> str:
        return self.letters.party.server

    def _asked(self, standing: JsonObject) -> Told:
        """The data of the letter that asks for the setup."""
        return Told.read(self.letters.setup_asked(standing["match"]).get("sealed"))

    def owes(self, standing: JsonObject) -> Sequence[str]:
        """The steps that this player owes now."""
        found: Sequence[str] = standing["sealed"]["owes"].get(str(standing["seat"]), ())
        return found if not standing["paused"] else ()

    def shown(self, match: str) -> Shown:
        """The state of the game, including own secrets; raises `Contradiction`, `Impossible`, `Refused`."""
        standing = self.letters.standing(match)
        game = self.game(standing)
        secrets = self._demanded(standing, game)
        found = game.letter(secrets, standing["prev"])
        asked = isinstance(found, Asked) and bool(self.owes(standing))
        if isinstance(found, Asked):
            own, table = found.own, found.table
        else:
            own, table = game.own(secrets), game.table
        view, reports = json.loads(canonical([game.rules.own_view(own, table), list(table.played)]))
        return Shown(game.options, table.turn, asked, view, reports)

    def asks(self, match: str) -> bool:
        """Whether its player has something to decide: a setup, or orders."""
        standing = self.letters.standing(match)
        try:
            if self.memory.fact(f"accused {match}") or not self.owes(standing):
                return False
            if standing["phase"] == "setup":
                return not self._alive("seal", match, _setup_place(standing)) and self._setup(standing) is None
            if self.owes(standing)[0] == "reveal":
                return not self._alive("reveal", match, f"game {standing['game']}") and not self._is_over(standing)
            return self.shown(match).asked
        except (Impossible, Contradiction, Refused):
            return False

    # Letters out.

    def act(self, now: datetime) -> list[Sent]:
        """Prepare everything that needs no decision."""
        prepared = []
        for standing in self.letters.matches:
            if not standing.get("sealed") or standing["phase"] not in {"setup", "playing"} or not self.owes(standing):
                continue
            try:
                with self.vault.alone():
                    sent = self._act(standing, now)
            except (Impossible, Contradiction) as error:
                log.warning("%s: %s", standing["match"], error)
                continue
            if sent is not None:
                prepared.append(sent)
        return prepared

    def _act(self, standing: JsonObject, now: datetime) -> Sent | None:
        self._demand_unaccused(standing["match"])
        if standing["phase"] == "setup":
            secrets = self._setup(standing)
            if secrets is None:
                return None
            self._demand_unrefused(standing, "seal", _setup_place(standing))
            return self._seal(standing, secrets, now)
        if self.owes(standing)[0] == "reveal":
            return self._reveal(standing, now) if self._is_over(standing) else None
        game = self._checked(standing)
        secrets = self._demanded(standing, game)
        found = game.letter(secrets, standing["prev"])
        if not isinstance(found, Letter):
            return None
        self._demand_unrefused(standing, "step", _place(game))
        return self._step(standing, game, found, now)

    def set_up(self, match: str, text: str, now: datetime) -> Sent:
        """Choose the setup of the game that begins, and commit to it. Raises `Refused`, `Impossible`."""
        judged = self.letters.judge_setup(match, text)
        standing = self.letters.standing(match)
        self._demand_unaccused(match)
        with self.vault.alone():
            before = self._setup(standing)
            if before is not None and before.setup == judged.text:
                return self._seal(standing, before, now)
            if before is not None and self._alive("seal", match, _setup_place(standing)):
                raise Impossible("You committed to a setup, and it cannot be changed.")
            place = {**standing, "server": self._server}
            secrets = Secrets.begun(place, judged.text, self._random)
            self._keep(secrets)
            return self._seal(standing, secrets, now)

    def judge_orders(self, match: str, text: str) -> Judged:
        """Judge orders for the turn that is due; raises `Refused`, or `Impossible` if none are due."""
        standing = self.letters.standing(match)
        game, seat = self.game(standing), standing["seat"]
        asked = self._asking(standing, game, self._demanded(standing, game))
        found, judge = game.rules.order(asked.own, text), rules(game.game)
        state = judge.recalled(game.rules.own_view(asked.own, asked.table), seat)
        return Judged(found, judge.unused(state, seat, judge.order(state, seat, found)))

    def order(self, match: str, text: str, now: datetime) -> Sent:
        """Decide on the orders for the turn that is due, and prepare their letter. Raises as `judge_orders`."""
        standing = self.letters.standing(match)
        self._demand_unaccused(match)
        with self.vault.alone():
            game = self._checked(standing)
            secrets = self._demanded(standing, game)
            asked = self._asking(standing, game, secrets)
            canonical = game.rules.order(asked.own, text)
            secrets = secrets.with_orders(asked.table.turn, canonical)
            found = game.letter(secrets, standing["prev"])
            if not isinstance(found, Letter):
                raise Impossible(f"It is not your move in {match}.")
            return self._step(standing, game, found, now)

    def _asking(self, standing: JsonObject, game: SealedGame, secrets: Secrets) -> Asked:
        """What has to be decided; orders that are in no letter yet may be decided again. Raises `Impossible`."""
        match = standing["match"]
        sent = self._alive("step", match, _place(game))
        if sent is not None:
            raise Impossible(f"Your orders for {match} are signed, and cannot be changed.")
        if not self.owes(standing):
            raise Impossible(f"It is not your move in {match}.")
        found = game.letter(secrets, standing["prev"])
        if isinstance(found, Letter):
            found = game.letter(secrets.without_orders(found.ordered), standing["prev"])
        if not isinstance(found, Asked):
            raise Impossible(f"There is nothing to order in {match} now: `pbem play` answers by itself.")
        return found

    def _step(self, standing: JsonObject, game: SealedGame, letter: Letter, now: datetime) -> Sent:
        match, place = standing["match"], _place(game)
        if (sent := self._alive("step", match, place)) is not None:
            return self.letters.again(sent)
        self._keep(letter.secrets)
        note = self._note(letter.secrets)
        return self.letters.step(match, place, letter.turn, letter.sections, note, now)

    def _seal(self, standing: JsonObject, secrets: Secrets, now: datetime) -> Sent:
        match, place = standing["match"], _setup_place(standing)
        if (sent := self._alive("seal", match, place)) is not None:
            return self.letters.again(sent)
        self._check(standing)
        value = commitment(self._asked(standing).terms, secrets)
        return self.letters.seal(match, place, value, self._note(secrets), now)

    def _reveal(self, standing: JsonObject, now: datetime) -> Sent:
        match, place = standing["match"], f"game {standing['game']}"
        if (sent := self._alive("reveal", match, place)) is not None:
            return self.letters.again(sent)
        self._demand_unrefused(standing, "reveal", place)
        game = self.game(standing)
        return self.letters.reveal(match, place, game.reveal(self._demanded(standing, game)), now)

    def _is_over(self, standing: JsonObject) -> bool:
        """Whether the game has ended by what was told and checked, or by a resignation that was signed here.

        Anything else is the server's word alone, and a server in league with the opponent would like to see the
        secrets.
        """
        match, place = standing["match"], f"; game {standing['game']} "
        resigned = [
            sent for sent in self.memory.prepared("resign", match) if place in sent.place and sent.state != "refused"
        ]
        game = self._checked(standing)
        return bool(resigned) or game.table.result is not None

    def reveal(self, match: str, now: datetime) -> Sent:
        """Reveal everything although nothing that was told ends the game: the player has decided so.

        Raises `Impossible`, `Contradiction`.
        """
        standing = self.letters.standing(match)
        self._demand_unaccused(match)
        if self.owes(standing)[:1] != ["reveal"]:
            raise Impossible(f"Nothing is to be revealed in {match} now.")
        self._check(standing)
        with self.vault.alone():
            return self._reveal(standing, now)

    def _alive(self, command: str, match: str, place: str) -> Sent | None:
        """The letters prepared there that were not refused."""
        found = [sent for sent in self.memory.sent(command, match, place) if sent.state != "refused"]
        return found[-1] if found else None

    def _demand_unrefused(self, standing: JsonObject, command: str, place: str) -> None:
        """Raise if the same was refused in the present state: nothing is repeated automatically."""
        refused = self.memory.sent(command, standing["match"], place)
        if refused and refused[-1].state == "refused" and f"\nprev {standing['prev']}\n" in refused[-1].form:
            faults = "; ".join(json.loads(refused[-1].faults))
            raise Impossible(f"the server refused what was due: {faults}")

    def _keep(self, secrets: Secrets) -> None:
        self.vault.keep(secrets)
        self._at("secrets kept")

    def _checked(self, standing: JsonObject) -> SealedGame:
        """The game, once everything told about it is checked; raises `Contradiction`, `Impossible`."""
        self._check(standing)
        return self.game(standing)

    def _demand_unaccused(self, match: str) -> None:
        if (said := self.memory.fact(f"accused {match}")) is not None:
            raise Impossible(f"Nothing more is told in {match}, for what came of it cannot be: {said}")

    # Secrets.

    def _note(self, secrets: Secrets) -> str | None:
        note = self._known_code().note(secrets)
        if note is None:
            log.warning("%s: the game is too long for a note: keep a copy of its secrets", secrets.match)
        return note

    def _setup(self, standing: JsonObject) -> Secrets | None:
        """The secrets of a game whose setup is due: those of the vault, or of the note that came back."""
        found = self.vault.secrets(standing["match"], standing["game"])
        return found or self._noted(standing, self._asked(standing).note)

    def _demanded(self, standing: JsonObject, game: SealedGame) -> Secrets:
        found = self._secrets(standing, game)
        if found is None:
            raise Impossible(
                f"Your secrets of {standing['match']} are not on this machine, and its six words open no note."
                " Take over those that you wrote down: pbem play words WORD WORD ..."
            )
        return found

    def _secrets(self, standing: JsonObject, game: SealedGame) -> Secrets | None:
        """The secrets that agree with what was told: of the vault, or of the note, if another machine went on."""
        kept = self.vault.secrets(standing["match"], standing["game"])
        if kept is not None and game.agrees(kept):
            return kept
        noted = self._noted(standing, game.told.note)
        if noted is not None and game.agrees(noted):
            self._keep(noted)
            return noted
        return None

    def _noted(self, standing: JsonObject, note: str | None) -> Secrets | None:
        if not note:
            return None
        place = {name: standing[name] for name in ("match", "game", "seat", "player")}
        try:
            return self._known_code().opened(note, {**place, "server": self._server})
        except BadNote as error:
            log.warning("%s: %s", standing["match"], error)
            return None


def _place(game: SealedGame) -> str:
    """The place of a letter of ours: after this many of our steps in this game."""
    own = sum(step.seat == game.place.seat for step in game.told.steps)
    return f"game {game.place.game} turn {game.table.turn} step {own + 1}"


def _setup_place(standing: JsonObject) -> str:
    return f"game {standing['game']}"
