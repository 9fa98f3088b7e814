"""Dishonest people of a week: an opponent who lies by mail, and a reader on the way who drops and delays letters.

The lies are those of docs/threats.md that a letter can tell. Most may have no effect at all; some are the liar's own
affair, such as a second set of orders, and then the match must hold all the same.
"""

from __future__ import annotations

import re
from datetime import timedelta
from hashlib import sha256
from typing import TYPE_CHECKING, NamedTuple

from world.correspondent import SERVER, TO
from world.promises import items_of, name_of

from pbem.identity import ssh
from pbem.player.correspondence.outgoing import composed
from simulation.false_agents import FalseAgent
from simulation.players import Player
from simulation.story import span

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from random import Random

    from pbem.player.memory import SentForm
    from pbem.player.secret_vault import SecretVault
    from simulation.players import Habits
    from simulation.world import World

OFTEN = 0.5
"""The probability of a lie in each letter that the liar writes."""
REPLY = re.compile(rb"(?m)^Reply-To: (\S+)")
PLACE = re.compile(r"(?m)^(?:prev|rev) .*\n")
CODE = "0123-4567-89ab-cdef-0123-4567-89ab-cdef"
"""No player's recovery code."""


class Lie(NamedTuple):
    """A letter that lies."""

    kind: str
    raw: bytes
    to: str = TO
    own: bool = False
    """Whether the liar may do that: it concerns nobody but the liar's own seat."""


class Liar(Player):
    """A player who plays as a program does, and lies besides."""

    def __init__(self, world: World, name: str, habits: Habits, folder: Path) -> None:
        super().__init__(world, name, habits, folder)
        self.dice = world.random(f"lies of {name}")
        self.more = world.random(f"claims of {name}")
        self.lies: list[Lie] = []
        self._heard: list[bytes] = []
        """The letters of others that the liar got to see."""

    def _agent(self, vault: SecretVault) -> FalseAgent:
        self.agent = FalseAgent(self, vault)
        return self.agent

    def may_be_late(self, match: str) -> bool:
        return super().may_be_late(match) or bool(self.letters.matches.standing(match).sealed)

    def note_lie(self, kind: str, raw: bytes) -> None:
        """A lie is told."""
        self.world.note(f"{self.name} lies ({kind}):", raw=raw)
        self.world.figures.told += 1

    def hear(self, raw: bytes) -> None:
        """Somebody else's letter is seen, on its way or in a bundle."""
        self._heard.append(raw)

    def _bring(self, sent: SentForm) -> None:
        super()._bring(sent)
        if self.world.hurried:
            return
        if self.dice.random() < OFTEN:
            ways = self._twice, self._altered, self._dated, self._seat, self._elsewhere, self._unsigned, self._address
            self._tell(self.dice.choice(ways)(sent), self.dice)
        if self.more.random() < OFTEN:
            claims = self._account, self._account, self._ruling, self._substitute
            self._tell(self.more.choice(claims)(sent), self.more)

    def _tell(self, lie: Lie | None, dice: Random) -> None:
        if lie is not None:
            self.lies.append(lie)
            self.note_lie(lie.kind, lie.raw)
            delay = dice.choice((0.0, dice.random() * self.world.week.leisure))
            self.world.post.post(self.address, lie.to, lie.raw, delay)

    # The lies. Each is made of a letter that was sent just now, and signed with the liar's own key, if at all.

    def _twice(self, sent: SentForm) -> Lie | None:
        """Two setups, or two sets of orders, of one revision or of the next."""
        if sent.command not in {"setup", "orders"}:
            return None
        lines = sent.form.splitlines()
        begin = next(at for at, line in enumerate(lines) if line.startswith("rev ")) + 1
        played = [line for line in lines[begin:-1] if line != "final"]
        self.dice.shuffle(played)
        other = "\n".join([*lines[:begin], *played[1:], "end", ""])
        other = self.dice.choice((other, _next(other)))
        return self._lie("two sets of orders or setups", other, own=True)

    def _altered(self, sent: SentForm) -> Lie | None:
        """Signed words of the liar's or of somebody else's with something in them changed."""
        raw = self.dice.choice([*self._heard, sent.raw])
        head, _, body = raw.partition(b"\r\n\r\n")
        text, mark, signature = body.partition(b"-----BEGIN")
        places = [at for at, octet in enumerate(text) if 0x30 <= octet < 0x7B and chr(octet).isalnum()]
        if not mark or not places:
            return None
        at = self.dice.choice(places)
        other = text[:at] + (b"7" if text[at : at + 1] != b"7" else b"8") + text[at + 1 :]
        named = re.sub(rb"(?im)^Message-ID: <", b"Message-ID: <lie.%d." % self.dice.randrange(10**9), head, count=1)
        return Lie("altered signed words", named + b"\r\n\r\n" + other + mark + signature)

    def _dated(self, sent: SentForm) -> Lie | None:
        """A letter that says that it was written long ago, or will be."""
        if sent.command not in {"setup", "orders"}:
            return None
        # What is nearer may be a clock that is wrong, or a mail server that was long silent.
        days = self.dice.choice((-400, -30, -12, 8, 400))
        return self._lie("a date that cannot be", _next(sent.form), days=days)

    def _seat(self, sent: SentForm) -> Lie | None:
        """Orders, or a sentence, for somebody else's seat, in the own name or in the other's."""
        other = self._other()
        if not sent.match or not other:
            return None
        form = re.sub(r"(?m)^player \S+$", f"player {other}", sent.form)
        if form == sent.form:
            return None
        sender = self.dice.choice((self.address, f"{other}@mail.example"))
        return self._lie("for another's seat", form, sender=sender)

    def _elsewhere(self, sent: SentForm) -> Lie | None:
        """Words of one match in another, with everything else as it was signed there."""
        matches = {standing.match for standing in self.letters.matches.standings} - {sent.match} | {"m77"}
        if sent.command not in {"setup", "orders"}:
            return None
        other = self.dice.choice(sorted(matches))
        return self._lie("words of another match", sent.form.replace(f" {sent.match} ", f" {other} "))

    def _unsigned(self, sent: SentForm) -> Lie | None:
        """Words in the opponent's name that nobody signed."""
        other = self._other()
        if not sent.match or not other:
            return None
        text = self.dice.choice((f"resign {sent.match} game 1", f"draw {sent.match} offer", sent.form))
        return self._lie("unsigned words", f"{text}\n", sender=f"{other}@mail.example", sign=False)

    def _address(self, _sent: SentForm) -> Lie | None:
        """Words of the liar's to a reply address that is somebody else's."""
        keyless = self.world.undecided.address
        shown = [
            found for taken in self.world.taken if taken.recipient == keyless for found in REPLY.findall(taken.raw)
        ]
        if not shown:
            return None
        words = f"set timezone {self.dice.choice(('Europe/Paris', 'Asia/Seoul'))}\n"
        sender = self.dice.choice((self.address, keyless))
        return self._lie("to another's reply address", words, sender=sender, to=shown[-1].decode(), sign=False)

    def _account(self, _sent: SentForm) -> Lie | None:
        """Words about somebody else's account: its keys, its mail, its days off, its place in a tournament."""
        other = self.more.choice([one for one in self.world.players.values() if one is not self])
        own, known = ssh.public(self.key), ssh.parse(ssh.public(other.key)).fingerprint
        words = self.more.choice(
            (
                *(f"key add\n{own}", f"key revoke {known}", "key keep", f"recover\n{own}", f"recover {CODE}\n{own}"),
                *(f"address add {self.name}2@mail.example", "set language de", "set notify off", "set encrypted yes"),
                *(
                    "vacation 2026-03-03 to 2026-03-09",
                    f"block {self.name}",
                    "stop",
                    "leave t1",
                    f"enter t1 {'0' * 64}",
                ),
            )
        )
        sender = self.more.choice((self.address, other.address))
        form = f"{words}\nserver {SERVER}\nplayer {other.name}\n"
        return self._lie("about another's account", form, sender=sender, sign=self.more.random() < 0.5)

    def _ruling(self, _sent: SentForm) -> Lie | None:
        """The organiser's words about a match of the liar's own, which only the operator may annul."""
        played = [one.match for one in self.letters.matches.standings if one.tournament is not None]
        if not played:
            return None
        words = f"rule t1 annul {self.more.choice(played)}\nreason: by error\nend"
        other = self.more.choice(sorted(self.world.names))
        form = f"{words}\nserver {SERVER}\nplayer {other}\n"
        return self._lie("the organiser's words", form, sender=f"{other}@mail.example")

    def _substitute(self, sent: SentForm) -> Lie | None:
        """Somebody is named for the opponent's seat, by the liar, or as if by the opponent, who does not leave it."""
        other = self._other(self.more)
        places = "".join(PLACE.findall(sent.form))
        if not sent.match or not other or not places:
            return None
        by = self.more.choice((self.name, other))
        named = self.more.choice([name for name in self.world.players if name not in {self.name, other}] or ["dan"])
        form = f"substitute {sent.match} {named} for {other}\nserver {SERVER}\nplayer {by}\n{places}"
        return self._lie("another for the opponent's seat", form, own=by == self.name)

    def _other(self, dice: Random | None = None) -> str:
        """An opponent."""
        names = {name for standing in self.letters.matches.standings for name in standing.players if name} - {
            self.name
        }
        return (dice or self.dice).choice(sorted(names)) if names else ""

    def _lie(
        self,
        kind: str,
        text: str,
        *,
        own: bool = False,
        sender: str = "",
        to: str = TO,
        days: int = 0,
        sign: bool = True,
    ) -> Lie:
        """A letter with these words."""
        signed = text + self._sign(text.encode(), "pbem@play.example") if sign else text
        now = self.world.now() + timedelta(days=days)
        name = f"<lie.{self.dice.randrange(10**12)}@mail.example>"
        letter = composed(sender or self.address, to, "x", name, now)
        letter.set_content(signed)
        return Lie(kind, letter.as_bytes(), to, own)


def _next(form: str) -> str:
    """A form as the next revision."""
    return re.sub(r"(?m)^rev (\d+)$", lambda found: f"rev {int(found[1]) + 1}", form)


class Reader:
    """Somebody on the way of players' letters, who delays some, and takes others away for good.

    The provider of their writer had accepted them. Their writers look for an answer, and write again.
    """

    def __init__(self, world: World) -> None:
        self._world = world
        self._draw = world.random("reader")

    def bring(self, player: Player, sent: SentForm) -> None:
        """Have a letter delivered, later, or never: by itself this makes nobody late."""
        world = self._world
        if world.hurried or self._draw.random() >= world.week.held:
            player._hand_in(sent.to, sent.raw)
            return
        delay = world.week.leisure * self._draw.random() / 2
        if self._draw.random() < 0.5:
            world.note(f"a letter of {player.name} is delayed for {span(delay)}:", raw=sent.raw)
            player._hand_in(sent.to, sent.raw, delay)
        else:
            world.note(f"a letter of {player.name} is lost:", raw=sent.raw)
            world.loop.call_later(delay, self._look, player, sent)

    def _look(self, player: Player, sent: SentForm) -> None:
        """A player reads the mail, and writes again what got no answer."""
        player.look()
        known = player.memory.by_message_id(sent.message_id)
        if known is not None and known.state == "sent":
            self._world.note(f"{player.name} got no answer, and writes again:", raw=sent.raw)
            self.bring(player, sent)


def obeyed(world: World) -> Iterator[str]:
    """No lie has an effect, except on the liar's own seat."""
    done = {
        item.get("answers"): taken.recipient
        for taken in world.taken
        for item in items_of(taken.raw)
        if item.get("outcome") == "done"
    }
    for liar in world.players.values():
        for lie in liar.lies if isinstance(liar, Liar) else ():
            if not lie.own and sha256(name_of(lie.raw)).hexdigest() in done:
                yield f"a lie was obeyed: {lie.kind}: {name_of(lie.raw).decode()} of {liar.name}"
    for (match, _), proved in world.proved.items():
        taken = [entry for entry in (proved.bundle.entries if proved.bundle else ()) if entry.type == "substituted"]
        if len(taken) > sum(part.has_left(name, match) for part in world.parts for name in world.players):
            yield f"{match}: a seat changed hands by a lie"
