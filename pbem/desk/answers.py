"""One answer a command: who may give it, what it does to a match, and what is said in return.

Each command has a method of its name. It raises `Refused` when nothing is to change, and returns an `Answer`
otherwise; what a match makes of it goes through `Step` and the archive, and its letters through the clerk. Nothing
here reads mail or writes rows. Implements protocol.md, "Commands" and "Identity".
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING

from pbem.boards import drawn
from pbem.desk.agreements import Agreements
from pbem.desk.answer import IN_YOUR_NAME, Answer, refusal
from pbem.desk.around import Around
from pbem.desk.clerk import Out
from pbem.desk.early import Early
from pbem.desk.gathering import Gathering
from pbem.desk.history import History
from pbem.desk.hours import Hours
from pbem.desk.places import judge, missing, next_rev, placed, sentence
from pbem.desk.substitutes import Substitutes
from pbem.desk.table import Tables
from pbem.games import GAMES, Fault, Refused, rules
from pbem.identity import STATES, BadKey
from pbem.mail.commands import COMMANDS, SETTINGS
from pbem.match import submissions
from pbem.match.events import missed, resigned
from pbem.match.papers import Opening
from pbem.match.state import PHASES, RUNNING
from pbem.match.step import Step
from pbem.match.terms import OPTIONS
from pbem.match.transcript import digest
from pbem.phrase import Phrase, either
from pbem.proof.signed_letters import misdated
from pbem.store.database import stamp
from pbem.store.players import Challenge, KeyRow

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from pbem.config import Clock as ClockConfig
    from pbem.desk.answer import Caller
    from pbem.desk.archive import Archive
    from pbem.desk.clerk import Clerk
    from pbem.desk.keys import KeyLife
    from pbem.desk.mailbox import Mailboxes
    from pbem.desk.timekeeper import Timekeeper
    from pbem.identity import Key
    from pbem.mail.commands import Command
    from pbem.mail.letter import Letter
    from pbem.match.state import Match
    from pbem.match.step import World
    from pbem.store.matches import MatchRow
    from pbem.store.people import People
    from pbem.store.players import PlayerRow, Players

__all__ = ["Answers", "Unplaced"]

_WAITING = 5
"""How many registrations of one address may wait that anybody can have asked for; a letter from there may go on."""

_PATIENCE = timedelta(days=30)
"""How long a registration waits for its answer."""

_A_DAY = timedelta(days=1)

_ENOUGH_TODAY = Phrase("`{command}` is answered {count} times a day; come back tomorrow")

_ELSEWHERE = Phrase(
    "the reply address that your letter was sent to belongs to another match or turn. Answer our latest letter about"
    " {match}, such as this one"
)

_MISDATED = Phrase(
    "the date of your letter cannot be right: {fault}. Such a letter proves nothing later; set the clock of your"
    " machine, and send it again"
)

_NOT_REGISTERED = Phrase("your address is not registered here; write `help register`")

_OF_STRANGERS = frozenset({"confirm", "help", "games", "rules"})
"""What is answered to somebody whose key or address is not the player's yet."""

_NO_NAMES = frozenset({"pbem", "referee", "operator", "server", "postmaster", "open", "mine", "none", "all"}).union(
    *(name.split() for name in COMMANDS)
)


class Unplaced(Exception):  # noqa: N818 - no error: the answer to a sentence that did not say its place
    """Nothing is to be changed, and this is to be answered."""

    def __init__(self, answer: Answer) -> None:
        super().__init__(answer.template)
        self.answer = answer


class Answers(Tables):
    """The answers of a server.

    `world` gives the world at a time, `parse_key` reads strangers' public keys, `today` counts what happened today.
    """

    def __init__(  # noqa: PLR0913, PLR0917 - the desk's own parts
        self,
        server: str,
        players: Players,
        archive: Archive,
        clerk: Clerk,
        world: Callable[[datetime], World],
        people: People,
        clock: ClockConfig,
        time: Timekeeper,
        parse_key: Callable[[str | bytes, datetime | None], Key],
        mailboxes: Mailboxes,
        keys: KeyLife,
        today: Callable[[str, datetime], int],
    ) -> None:
        super().__init__(players, archive, clerk, world)
        self._server = server
        self._today = today
        self._people = people
        self._keys = keys
        self._parse_key = parse_key
        self._mailboxes = mailboxes
        self._early = Early(players, archive, clerk, world)
        self._history = History(players, archive, clerk, world)
        self._gathering = Gathering(players, archive, clerk, world, people, clock.settle)
        self._elsewhere = {
            **self._gathering.commands,
            **Around(players, archive, clerk, world, people).commands,
            **Agreements(players, archive, clerk, world).commands,
            **Substitutes(players, archive, clerk, world, people).commands,
            **keys.commands,
            **Hours(players, archive, clerk, world, clock, time).commands,
        }

    def answer(self, caller: Caller, command: Command) -> Answer:
        """The answer to one command; raises `Refused`."""
        if command.faults:
            raise Refused(*command.faults)
        form = COMMANDS[command.name]
        if form.level != "anyone" and command.name != "confirm" and caller.player is None:
            raise Refused(Fault(command.name, None, _NOT_REGISTERED))
        if form.shown != "never" and (fault := misdated(caller.letter, caller.received)):
            raise Refused(Fault(command.name, None, _MISDATED.given(fault=fault)))
        place: dict[str, str] = {}
        if form.signed and caller.verdict.kind != "valid":
            self._demand_mailbox(caller, command)
        else:
            place = self._left_out(caller, command)
        if caller.waits and command.name not in _OF_STRANGERS:
            raise Refused(
                Fault(command.name, None, Phrase("the key of this letter, or its address, is not yours yet"))
            )
        if form.a_day is not None and self._asked_today(caller, command) > form.a_day:
            return refusal(command, _ENOUGH_TODAY.given(command=command.name, count=form.a_day))
        method = self._elsewhere.get(command.name) or getattr(self, f"_{command.name}")
        if not place:
            answer: Answer = method(caller, command)
            return answer
        # What is wrong with it is told at once, and not when it comes back signed.
        found = self.place(caller, command)
        method(caller, replace(command, fields=place))
        raise Unplaced(Answer("whole_sentence", {"sentence": sentence(command, place)}, match=found))

    def _asked_today(self, caller: Caller, command: Command) -> int:
        """How often a player had this done today, this time included."""
        assert caller.player is not None
        proved = (caller.verdict.kind == "valid" and not caller.repeated) or bool(caller.tokens)
        # What others may write in that name uses up nothing of the player's.
        return self._today(f"{command.name} {caller.player.name} {'proved' if proved else 'unproved'}", caller.now)

    def _left_out(self, caller: Caller, command: Command) -> dict[str, str]:
        """All fields of a sentence that a key signed without saying its whole place; none where it says it."""
        needs = COMMANDS[command.name]
        if caller.player is None or needs.place not in {"player", "turn"}:
            return {}
        judge(caller, command, self._server)
        if needs.body == "text":
            return {}
        name = caller.player.name
        found = self.place(caller, command)
        place = {"server": self._server, "player": name, **missing(command, found[0] if found else None)}
        if place.keys() <= command.fields.keys() and ("prev" not in place or command.rev):
            return {}
        rev = next_rev(command, found[0], found[2]) if needs.sentence and found else self._players.said(name) + 1
        return {**place, "rev": str(rev), **command.fields}

    def _demand_mailbox(self, caller: Caller, command: Command) -> None:
        """Refuse a command that changes something unless the letter counts at level `mailbox`, here and now."""
        proof = caller.proof
        if caller.player is None or caller.player.level == "key" or proof is None:
            raise Refused(
                Fault(command.name, None, Phrase("this must be signed with your key; `help signing` says how"))
            )
        if proof.missing is not None:
            raise Refused(Fault(command.name, None, proof.missing))
        assert proof.token is not None
        found = self.place(caller, command)
        if found is None or proof.again is not None:
            return
        match, row, _ = found
        here = (row.number, match.game, match.turn)
        whole_match = COMMANDS[command.name].place == "player"
        if proof.token.place != here and not (whole_match and proof.token.place and proof.token.place[0] == here[0]):
            raise Refused(Fault(command.name, None, _ELSEWHERE.given(match=match.id)))

    def came(self, player: PlayerRow, told: Sequence[Command], received: datetime, now: datetime) -> datetime:
        """When a letter of this player counts as received, by the matches that its commands are about."""
        for match in {command.match for command in told if command.match and COMMANDS[command.name].signed}:
            with suppress(KeyError):
                seated = self._seated(int(match.removeprefix("m")), player.name)
                received = missed.came(seated.match, seated.seat, received, now)
        return received

    def place(self, caller: Caller, command: Command) -> tuple[Match, MatchRow, int] | None:
        """The match that a command names, its row and the caller's seat; None when there is none of the caller's."""
        if caller.player is None or command.match is None:
            return None
        try:
            return self._seated(int(command.match.removeprefix("m")), caller.player.name).place
        except KeyError:
            return None

    # For anyone.

    def _help(self, _caller: Caller, command: Command) -> Answer:
        topic = command.arguments.get("topic")
        if topic in COMMANDS and topic not in self._keys.commands:
            return Answer("help_command", {"form": COMMANDS[topic], "options": OPTIONS, "games": self._titles()})
        if topic == "signing":
            return Answer("help_signing")
        if topic == "mailbox":
            return Answer("help_mailbox")
        if topic and topic.partition(" ")[0] in {name.partition(" ")[0] for name in self._keys.commands}:
            forms = [COMMANDS[name] for name in self._keys.commands]
            return Answer("help_keys", {"forms": forms, "delay": self._keys.delay})
        if topic is not None:
            raise Refused(Fault("help", topic, Phrase("no such command; `help` alone lists them all")))
        return Answer("help", {"commands": COMMANDS.values()})

    def _games(self, _caller: Caller, _command: Command) -> Answer:
        return Answer("games", {"games": self._titles()})

    @staticmethod
    def _titles() -> dict[str, str]:
        return {name: rules(name).title for name in GAMES}

    def _rules(self, _caller: Caller, command: Command) -> Answer:
        game = command.arguments["rules"]
        if game not in GAMES:
            raise Refused(Fault("rules", game, Phrase("no such game; there are: {games}", games=", ".join(GAMES))))
        subject = Phrase("[pbem] The rules of {title}", title=rules(game).title)
        out = Out(subject, self._clerk.draft(f"{game}/rules.txt"))
        return Answer("rules", {"title": rules(game).title}, letters=[out])

    def _sheet(self, caller: Caller, command: Command) -> Answer:
        if command.match is not None:
            return self._filled_sheet(caller, command)
        game = command.arguments["rules"]
        if game not in GAMES:
            raise Refused(Fault("sheet", game, Phrase("no such game; there are: {games}", games=", ".join(GAMES))))
        if drawn(game) is None:
            raise Refused(Fault("sheet", game, Phrase("this game has no boards")))
        title, name = rules(game).title, f"{game}-sheet.pdf"
        content = partial(self._clerk.blank_sheet, game, title, caller.language)
        attachments = [(name, "application/pdf", content)]
        return Answer("sheet", {"title": title, "file_name": name, "m": None}, attachments)

    def _filled_sheet(self, caller: Caller, command: Command) -> Answer:
        """The sheet of a match as its player would have kept it: what the reports told, and the own orders."""
        if caller.player is None:
            raise Refused(Fault("sheet", command.match, _NOT_REGISTERED))
        seated = self._table(caller, command)
        match, boards = seated.match, drawn(seated.match.terms.game)
        view = match.view(seated.seat)
        if boards is None or view is None:
            raise Refused(
                Fault("sheet", match.id, Phrase("the game has not begun; `sheet GAME` brings an empty one"))
            )
        facts = self._facts(seated)
        mine = [turn.orders.get(seated.seat, "").split("\n") for turn in match.turns]
        title, name = match.rules.title, f"{match.id}-game-{match.game}-sheet.pdf"
        draft = self._clerk.draft(f"{match.terms.game}/sheet.txt", mine=mine, **facts)
        content = partial(self._clerk.sheet, title, boards.boards(view), draft, caller.language)
        attachments = [(name, "application/pdf", content)]
        return Answer("sheet", {"title": title, "file_name": name} | facts, attachments, seated.place)

    def _register(self, caller: Caller, command: Command) -> Answer:
        name = command.arguments["name"]
        if caller.player is not None:
            raise Refused(
                Fault(
                    "register", name, Phrase("your address is already registered as {name}", name=caller.player.name)
                )
            )
        if self._players.by_name(name) or name in _NO_NAMES:
            raise Refused(Fault("register", name, Phrase("this name is taken; choose another")))
        given = command.arguments.get("key") or _attached_key(caller.letter)
        if given is None:
            return self._register_mailbox(caller, command, name)
        try:
            key = self._parse_key(given, caller.now)
        except BadKey as error:
            raise Refused(Fault("register", None, error.reason)) from error
        if key.state != "pinned":
            raise Refused(Fault("register", key.fingerprint, Phrase("this key is {state}", state=STATES[key.state])))
        if self._players.owner(key.fingerprint):
            raise Refused(Fault("register", key.fingerprint, Phrase("this key is already registered")))
        found = self._players.challenges(caller.address)
        same = next((old for old in found if (old.name, old.key.fingerprint) == (name, key.fingerprint)), None)
        if same is None and len(found) >= _WAITING and not caller.tokens:
            return self._too_many(caller, command)
        # Asked again, the same form stands: whoever asks in that name must not make the form at hand void.
        challenge = same.challenge if same else self._world(caller.now).salt()
        waiting = Challenge(caller.address, name, KeyRow(key.format, key.fingerprint, key.public), challenge)
        self._players.await_answer(waiting, stamp(caller.now), stamp(caller.now - _PATIENCE))
        facts = {"name": name, "format": key.format, "fingerprint": key.fingerprint, "challenge": challenge}
        return Answer("register", facts)

    def _too_many(self, caller: Caller, command: Command) -> Answer:
        return refusal(command, IN_YOUR_NAME, self._mailboxes.write_back(caller.address, None, caller.now))

    def _register_mailbox(self, caller: Caller, command: Command, name: str) -> Answer:
        """An account without a key: a reply token goes to the mailbox, and registers when it comes back."""
        proof = caller.proof
        if proof is None or (proof.holds and proof.token and proof.token.name != name):
            if (
                self._mailboxes.asked("register", caller.address, caller.now - _A_DAY) >= _WAITING
                and not caller.tokens
            ):
                return self._too_many(caller, command)
            reply_to = self._mailboxes.ask("register", caller.address, name, caller.now)
            return Answer("register_mailbox", {"name": name}, reply_to=reply_to)
        if proof.missing is not None:
            raise Refused(Fault("register", None, proof.missing))
        self._players.add(name, caller.address, None, stamp(caller.now))
        self._keep_language(caller, name)
        self._people.speak(caller.address)
        self._gathering.welcome(name, caller.address, caller.now)
        return Answer("registered_mailbox", {"name": name, "games": self._titles()})

    def _confirm(self, caller: Caller, command: Command) -> Answer:
        if (answer := self._keys.confirm(caller, command)) is not None:
            return answer
        found = self._players.challenges(caller.address)
        name = command.arguments["name"]
        of_key = [old for old in found if old.key.fingerprint == caller.verdict.key]
        waiting = next((old for old in of_key if old.name == name), of_key[0] if of_key else None)
        if caller.player is not None and caller.player.name == name:
            return self._account(caller.player)
        if waiting is None:
            raise Refused(Fault("confirm", None, Phrase("no registration of this address waits for an answer")))
        wanted = {"confirm": waiting.name, "server": self._server, "challenge": waiting.challenge}
        given = {"confirm": name, **command.fields}
        faults = [
            Fault(
                "confirm",
                f"{key} {given.get(key, '')}",
                Phrase("the form said `{key} {value}`", key=key, value=value),
            )
            for key, value in wanted.items()
            if given.get(key) != value
        ]
        if self._players.by_name(name):
            faults.append(Fault("confirm", name, Phrase("this name was taken meanwhile; register another")))
        if self._players.owner(waiting.key.fingerprint):
            faults.append(Fault("confirm", None, Phrase("this key was registered meanwhile")))
        if faults:
            raise Refused(*faults)
        self._players.add(name, caller.address, waiting.key, stamp(caller.now))
        self._keep_language(caller, name)
        self._players.answered(caller.address)
        self._people.speak(caller.address)
        self._gathering.welcome(name, caller.address, caller.now)
        code = self._keys.new_code(name, caller.now)
        return Answer("confirm", {"name": name, "games": self._titles(), "code": code})

    def _keep_language(self, caller: Caller, player: str) -> None:
        """Go on in the language in which the new player was answered, where that is not the server's own."""
        if caller.language != self._clerk.language:
            self._players.choose(player, "language", caller.language)

    # For players.

    def _whoami(self, caller: Caller, _command: Command) -> Answer:
        assert caller.player is not None
        return self._account(caller.player)

    def _account(self, player: PlayerRow) -> Answer:
        chosen = {name: self._players.setting(player.name, name, values[0]) for name, values in SETTINGS.items()}
        chosen["language"] = self._clerk.language_of(player)
        return Answer(
            "whoami", self._keys.account(player) | {"settings": chosen, "turns": self._people.turns(player.name)}
        )

    def _setup(self, caller: Caller, command: Command) -> Answer:
        seated = self._table(caller, command)
        step = Step(seated.match, self._world(caller.now))
        submission = submissions.setup(
            step, seated.seat, placed(caller, command, seated.match, seated.seat), caller.signed
        )
        opening = Opening.read(submission.paper)
        name = f"{opening.match}-game-{opening.game}-seat-{opening.seat}.opening.txt"
        facts = {
            "setup": submission.text,
            "file_name": name,
            "commitment": digest(submission.paper.encode()),
            "signature": self._archive.vouch(opening.match, digest(submission.paper.encode())),
            "rev": submission.rev,
            "level": submission.level,
        }
        self._submit(seated, step, submission)
        attachments = [(name, "text/plain", submission.paper.encode())]
        return Answer("setup", facts | self._facts(seated), attachments, seated.place)

    def _orders(self, caller: Caller, command: Command) -> Answer:
        seated = self._table(caller, command)
        turn = seated.match.turn
        if command.arguments.get("default") or command.arguments["turn"] > turn:
            return self._early.store(seated, command, caller)
        step = Step(seated.match, self._world(caller.now))
        submission = submissions.order(
            step, seated.seat, placed(caller, command, seated.match, seated.seat), caller.signed
        )
        name = f"{seated.match.id}-game-{seated.match.game}-turn-{turn}-rev-{submission.rev}.receipt.txt"
        facts = {
            "orders": submission.text,
            "turn": turn,
            "rev": submission.rev,
            "final": submission.final,
            "level": submission.level,
            "file_name": name,
            "receipt": digest(submission.paper.encode()),
            "signature": self._archive.vouch(seated.match.id, digest(submission.paper.encode())),
        }
        self._submit(seated, step, submission)
        attachments = [(name, "text/plain", submission.paper.encode())]
        return Answer("orders", facts | self._facts(seated), attachments, seated.place)

    def _clear(self, caller: Caller, command: Command) -> Answer:
        seated = self._table(caller, command)
        given = command.arguments.get("turn")
        if command.arguments.get("default") or (given or 0) > seated.match.turn:
            return self._early.withdraw(seated, command, caller)
        if given is not None and given != seated.match.turn:
            raise Refused(Fault("clear", f"turn {given}", Phrase("that turn is not the one being played")))
        step = Step(seated.match, self._world(caller.now))
        submission = submissions.clear(
            step, seated.seat, placed(caller, command, seated.match, seated.seat), caller.signed
        )
        where = step.match.setups if step.match.phase == "setup" else step.match.orders
        withdrawn = where[seated.seat]
        self._submit(seated, step, withdrawn)
        facts, attachments = self._withdrawn(seated, withdrawn)
        return Answer(
            "clear", facts | {"withdrawn": submission.text} | self._facts(seated), attachments, seated.place
        )

    def _diary(self, caller: Caller, command: Command) -> Answer:
        return self._history.diary(caller, command)

    def _status(self, caller: Caller, command: Command) -> Answer:
        if command.match is None:
            return self._history.status(caller)
        seated = self._table(caller, command)
        match, seat = seated.match, seated.seat
        standing = (match.orders if match.phase == "playing" else match.setups).get(seat)
        facts = {
            "standing": standing if standing and standing.standing else None,
            "stored": self._early.stored(match, seat),
            "rev_of_next": after.rev + 1 if (after := match.stored.get((seat, match.turn + 1))) else 1,
            "view": match.view(seat),
        }
        return Answer("status", facts | self._facts(seated), match=seated.place)

    def _preview(self, caller: Caller, command: Command) -> Answer:
        seated = self._table(caller, command)
        match = seated.match
        if match.position is None or match.phase != "playing":
            raise Refused(Fault("preview", None, Phrase("no turn is being played")))
        if command.arguments["turn"] != match.turn:
            raise Refused(
                Fault(
                    "preview",
                    f"turn {command.arguments['turn']}",
                    Phrase("turn {turn} is being played", turn=match.turn),
                )
            )
        orders = match.rules.order(match.position, seated.seat, command.block or "")
        return Answer("preview", {"orders": orders.text} | self._facts(seated), match=seated.place)

    def _report(self, caller: Caller, command: Command) -> Answer:
        seated = self._table(caller, command)
        match = seated.match
        latest = match.game if match.turns else len(match.games)
        game = command.arguments.get("game", latest)
        last = match.games[game - 1].turns if 1 <= game <= len(match.games) else len(match.turns)
        wanted = [command.arguments.get("turn", last)]
        if command.arguments.get("all"):
            wanted = list(range(1, last + 1))
        letter = self._clerk.old_turns(match, seated.row, seated.seat, game, wanted)
        if letter is None:
            raise Refused(Fault("report", None, Phrase("there is no report of that turn of game {game}", game=game)))
        return Answer("report", {"count": len(wanted)} | self._facts(seated), match=seated.place, letters=[letter])

    def _transcript(self, caller: Caller, command: Command) -> Answer:
        seated = self._table(caller, command)
        if not seated.match.seq:
            raise Refused(
                Fault("transcript", seated.match.id, Phrase("the transcript begins when everybody has accepted"))
            )
        content, name = self._clerk.bundle(seated.match, seated.row, seated.seat)
        attachments = [(name, "application/zip", content)]
        return Answer("transcript", {"file_name": name} | self._facts(seated), attachments, seated.place)

    def _press(self, caller: Caller, command: Command) -> Answer:
        seated = self._table(caller, command)
        if seated.match.phase in ("declined", "withdrawn"):
            raise Refused(Fault("press", None, Phrase("this match was {phase}", phase=PHASES[seated.match.phase])))
        text = (command.block or "").strip()
        if not text:
            raise Refused(Fault("press", None, Phrase("the message is empty")))
        by, everybody = seated.match.name(seated.seat), command.arguments.get("public", False)
        for row in seated.row.seats:
            if row.seat != seated.seat:
                facts = {"by": by, "text": text, "everybody": everybody}
                self._write_to(seated, row.seat, "press", Phrase("{by} writes to you", by=by), caller.now, **facts)
        self._archive.matches.note_press(seated.row.number, by, stamp(caller.now))
        if everybody:
            self._archive.publish(seated.row.number, seated.match, by, text, stamp(caller.now))
            self._clerk.tell_observers_press(seated.match, seated.row, by, text, caller.now)
        return Answer("press", self._facts(seated), match=seated.place)

    def _resign(self, caller: Caller, command: Command) -> Answer:
        seated = self._table(caller, command)
        match = seated.match
        whole, game = command.arguments.get("whole", False), command.arguments.get("game")
        if not whole and match.phase in RUNNING and game != match.game:
            wanted = either([f"`resign {match.id} game {match.game}`", f"`resign {match.id} match`"])
            raise Refused(Fault("resign", None, Phrase("say what you resign: {wanted}", wanted=wanted)))
        step = Step(match, self._world(caller.now))
        said = placed(caller, command, match, seated.seat)
        resigned.resign(step, seated.seat, said, caller.signed, whole_match=whole)
        by, level = match.name(seated.seat), caller.signed.level
        what = Phrase("the whole match") if whole else Phrase("game {game} of match", game=match.game)
        subject = Phrase("{by} resigned", by=by)
        for seat in match.seats:
            if seat != seated.seat:
                self._write_to(seated, seat, "resigned", subject, caller.now, by=by, what=what, level=level)
        self._commit(seated, step)
        return Answer("resign", {"what": what} | self._facts(seated), match=seated.place)


_KEY_FILES = (".pub", ".asc", ".pem", ".crt", ".cer", ".gpg", ".pgp")


def _attached_key(letter: Letter) -> bytes | None:
    """The public key that came as an attachment, such as `id_ed25519.pub` or `anna.asc`."""
    for part in letter.parts:
        named = part.filename is not None and part.filename.lower().endswith(_KEY_FILES)
        if b"-----BEGIN PGP SIGNATURE" in part.content[:200]:
            continue
        if named or part.content_type in {"application/pgp-keys", "application/x-x509-user-cert"}:
            return part.content
    return None
