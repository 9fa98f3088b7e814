"""The requests of letters: what each command asks for, as a type; and the form that ties a request to its place.

The reader of letters makes them, once; desk, proof, events of matches and players' programs take them as they are, so
that nobody understands a letter in a way of their own. A leaf: no reading, no judging. Implements protocol.md,
"Commands" and "Identity".
"""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, Generic, Literal, NamedTuple, TypeVar

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterator

DEFAULT = 0
"""The number of the turn in default orders: they are for whichever turn is missed."""


class Request(msgspec.Struct, frozen=True, tag=True):
    """The request of a command. If the command has faults, it holds what could be read."""


class InMatch(Request, frozen=True):
    """A request about a match."""

    match: str | None = None
    """The name of the match in lower case, such as `m17`."""


# For everybody.


class AskHelp(Request, frozen=True):
    """`help`."""

    topic: str | None = None


class ListGames(Request, frozen=True):
    """`games`."""


class MailRules(Request, frozen=True):
    """`rules`: those of a game, by its name in lower case."""

    rules: str = ""


class MailSheet(InMatch, frozen=True):
    """`sheet`: an empty one of a game, or that of a match."""

    rules: str = ""


class ListMatches(Request, frozen=True):
    """`list`."""

    which: Literal["open", "mine"] | None = None


class ShowStandings(Request, frozen=True):
    """`standings`."""


# About an account.


class Register(Request, frozen=True):
    """`register`: a player's name in lower case, and a public key line; without one, a match of the open list."""

    name: str = ""
    match: str | None = None
    key: str | None = None


class Confirm(Request, frozen=True):
    """`confirm`: what the form said that is sent back."""

    name: str = ""
    challenge: str | None = None
    fingerprint: str | None = None
    proof: str | None = None


class WhoAmI(Request, frozen=True):
    """`whoami`."""


class AddKey(Request, frozen=True):
    """`key add`: a public key line, the pieces that a mail program made of it joined; or an attached one's name."""

    key: str | None = None
    fingerprint: str | None = None


class RevokeKey(Request, frozen=True):
    """`key revoke`: a fingerprint or the beginning of one, as written but for the blanks in it."""

    fingerprint: str = ""


class KeepKeys(Request, frozen=True):
    """`key keep`."""


class Recover(Request, frozen=True):
    """`recover`: the code, or what was given for one: lower case, without blanks and hyphens."""

    code: str | None = None
    key: str | None = None


class AddAddress(Request, frozen=True):
    """`address add`."""

    address: str = ""


class Choose(Request, frozen=True):
    """`set`: the name and the value of a setting."""

    name: str = ""
    value: str = ""


class Notify(Request, frozen=True):
    """`set notify`: a topic's URL, the code that was posted there, or `off`."""

    value: str = ""


class TakeVacation(Request, frozen=True):
    """`vacation`: its first and its last day, as `2026-12-20`; or that it is over."""

    first: str = ""
    last: str = ""
    off: bool = False


class Block(Request, frozen=True):
    """`block`."""

    name: str = ""


class Unblock(Request, frozen=True):
    """`unblock`."""

    name: str = ""


# About a match that has not begun.


class Propose(Request, frozen=True):
    """`new`: a game, opponents by name or address, and the `option: value` lines, names in lower case."""

    rules: str = ""
    players: tuple[str, ...] = ()
    options: dict[str, str] = {}


class Accept(InMatch, frozen=True):
    """`accept`: the hash of the agreed rules, lower case."""

    hash: str | None = None


class Decline(InMatch, frozen=True):
    """`decline`."""


class Join(InMatch, frozen=True):
    """`join`."""


class Withdraw(InMatch, frozen=True):
    """`withdraw`."""


# About a tournament.


class AnnounceTournament(Request, frozen=True):
    """`tournament new`: a game, and the `option: value` lines, names in lower case."""

    rules: str = ""
    options: dict[str, str] = {}


class InTournament(Request, frozen=True):
    """A request about a tournament."""

    tournament: str | None = None
    """The name of the tournament in lower case, such as `t3`."""


class ShowTournament(InTournament, frozen=True):
    """`tournament`."""


class Enter(InTournament, frozen=True):
    """`enter`: the hash of the terms, lower case, and perhaps a team."""

    hash: str | None = None
    team: str | None = None


class Leave(InTournament, frozen=True):
    """`leave`."""


class ChallengePlayer(InTournament, frozen=True):
    """`challenge`: a player of a ladder by name."""

    name: str = ""


class Rule(InTournament, frozen=True):
    """`rule`: `annul` a match, have a `substitute` play on for another, or `close`; the options hold the reason."""

    what: Literal["annul", "substitute", "close"] | None = None
    match: str | None = None
    name: str | None = None
    leaver: str | None = None
    options: dict[str, str] = {}


# Submissions for a turn or a game.


class SubmitSetup(InMatch, frozen=True):
    """`setup`."""

    text: str = ""


class SubmitOrders(InMatch, frozen=True):
    """`orders`."""

    text: str = ""
    final: bool = False

    @property
    def untouched(self) -> bool:
        """True if the form came back empty: a player who means to order nothing says `final`, or so in a comment."""
        return not (self.final or self.text.strip())


class Preview(InMatch, frozen=True):
    """`preview`."""

    text: str = ""
    final: bool = False


class Clear(InMatch, frozen=True):
    """`clear`."""


class Section(NamedTuple):
    """One section of a letter of a sealed match: `commitment`, `open`, `answers` and so on."""

    name: str
    words: tuple[str, ...]
    """Its arguments; hashes in lower case."""
    text: str
    """Its lines, ended as they came: mail programs break lines anew. Of a note the base64, joined."""


class Sections(InMatch, frozen=True):
    """The sections of a letter of a sealed match, in its order."""

    sections: tuple[Section, ...] = ()


class Seal(Sections, frozen=True):
    """`seal`."""


class TakeSteps(Sections, frozen=True):
    """`step`."""


class Reveal(Sections, frozen=True):
    """`reveal`."""


# Sentences, which take effect at once.


class Agree(InMatch, frozen=True):
    """An offer, or the answer to one: `offer`, `accept` or `decline`."""

    word: str = ""


class Draw(Agree, frozen=True):
    """`draw`, perhaps of some of those who remain."""

    sharing: tuple[str, ...] = ()
    """The players who would share it, by the alphabet; none: all who remain."""


class Annul(Agree, frozen=True):
    """`annul`."""


class Resign(InMatch, frozen=True):
    """`resign`: a game by its number, or the whole match."""

    game: int | None = None
    whole: bool = False


class Extend(InMatch, frozen=True):
    """`extend`: a gift of time."""

    seconds: int = 0


class Claim(InMatch, frozen=True):
    """`claim`."""


class Substitute(InMatch, frozen=True):
    """`substitute`: who is to take whose seat, names in lower case; a newcomer adds the hash of the agreed rules."""

    name: str = ""
    leaver: str = ""
    hash: str | None = None


# About a match that is under way.


class ShowStatus(InMatch, frozen=True):
    """`status`."""


class MailReports(InMatch, frozen=True):
    """`report`: of a game and a turn, or of all turns."""

    game: int | None = None
    turn: int | None = None
    all: bool = False


class ShowDiary(InMatch, frozen=True):
    """`diary`."""


class MailTranscript(InMatch, frozen=True):
    """`transcript`."""


class SendPress(InMatch, frozen=True):
    """`press`: a message to the other players and perhaps to observers, or `to` some players alone."""

    text: str = ""
    public: bool = False
    to: tuple[str, ...] = ()


class Observe(InMatch, frozen=True):
    """`observe`."""


class Unobserve(InMatch, frozen=True):
    """`unobserve`."""


def _leaves(kind: type[Request]) -> Iterator[type[Request]]:
    below = kind.__subclasses__()
    yield from (leaf for one in below for leaf in _leaves(one)) if below else (kind,)


if TYPE_CHECKING:
    AnyRequest = Request
else:
    AnyRequest = reduce(or_, _leaves(Request))
"""One of the requests above: msgspec decodes nothing else from what the sandbox answers."""

Requested = TypeVar("Requested", bound=AnyRequest)
Requested_co = TypeVar("Requested_co", bound=AnyRequest, covariant=True)


class SignedForm(msgspec.Struct, Generic[Requested_co], frozen=True):
    """A request, and the header of its form: what ties the words to one place and moment."""

    request: Requested_co
    server: str | None = None
    player: str | None = None
    prev: str | None = None
    rev: int | None = None
    game: int | None = None
    """If the request itself names none, the game or turn in its words or in its header."""
    turn: int | None = None
    """`DEFAULT`: whichever is missed."""


AnyForm = SignedForm[AnyRequest]

PLACE = ("server", "player", "prev", "rev", "game", "turn")
"""The parts of a form that tie it to a place."""
