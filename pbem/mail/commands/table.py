"""The table of commands: each row holds all properties of one command, and no other module repeats them.

The reader, the desk, identity (which gets the words passed), proof, forms, help and pages read the row. The function
that `pbem.desk.wiring` names beside it does what the command does. No decisions. Implements protocol.md, "Commands".
"""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, Literal

import msgspec

from pbem import requests
from pbem.mail.commands import arguments
from pbem.mail.commands.arguments import RESERVED, SETTINGS, Slot
from pbem.phrase import Phrase

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pbem.mail.commands.arguments import Given
    from pbem.mail.commands.cursor import Words
    from pbem.requests import Request

_PLACES: Mapping[str | None, tuple[str, ...]] = {
    None: (),
    "challenge": (),
    "player": ("server", "player"),
    "terms": (),
    "step": ("server", "player", "prev"),
    "turn": ("server", "player", "prev", "rev"),
}
"""The header fields that a signed command must name, by the kind of its place."""


def _topic(words: Words, given: Given) -> Phrase | None:
    # Must be on the command's own line: any word could be a topic, so the next line's first word would be taken, too.
    if words.same_line():
        topic = words.bare().lower()
        words.take()
        if words.same_line() and f"{topic} {words.bare().lower()}" in COMMANDS:
            topic += f" {words.take().rstrip(',;.:').lower()}"
        given["topic"] = topic
    return None


def _sharing(words: Words, given: Given) -> Phrase | None:
    if words.low() != "for" or not words.same_line():
        return None
    words.take()
    names: set[str] = set()
    # Of a list that was broken, a part would share what all should.
    while words.same_line() or (words.is_wrapped() and words.low() not in _NO_NAMES and command_at(words) is None):
        names |= {name.lower() for name in words.take().rstrip(";.:").split(",") if name}
    given["sharing"] = tuple(sorted(names))
    return None if names else Phrase("after `for`, name those who would share")


_TOPIC = Slot("[topic]", _topic)
_SHARING = Slot("[for CARL ERIN]", _sharing)
_NO_NAMES = RESERVED | {"game", "turn"}


class CommandSpec(msgspec.Struct, frozen=True):
    """One row of the table of commands."""

    name: str
    request: type[Request]
    """The type of its request, which the reader fills in from the command's words and its block."""
    help: Phrase
    """One sentence: what the command does."""
    slots: tuple[Slot, ...] = ()
    body: Literal["text", "sections", "options", "press", "fields"] | None = None
    """The form of the block up to `end`; None: the command has no block."""
    place: Literal["challenge", "player", "terms", "step", "turn"] | None = None
    """The place that the signed words must name, so that nobody can use them elsewhere.

    `challenge`: the challenge from our letter. `player`: server and player. `terms`: the hash of the terms, which
    stands for both. `step` and `turn`: server, player, game or turn, and head; for `turn` also the revision, because
    a later one may replace it. None: the command changes nothing, and need not be signed.
    """
    shown: Literal["never", "later", "at once"] = "never"
    """The time at which the other players are shown its letter: with the game, or as soon as it takes effect."""
    alone: bool = False
    """True if it must be the only command in its letter."""
    level: Literal["anyone", "mailbox", "key"] = "mailbox"
    """The lowest level of proof of identity at which it is obeyed."""
    opens: str | None = None
    """The pattern of the words behind the name, in any case; without a match, the line is prose."""
    bulky: bool = False
    """True if its answer is long, a drawing or an archive: one letter may ask for only a few of those."""
    secret: bool = False
    """True if the answer must not quote the command: it echoes only the name."""
    open: bool = False
    """True if its answer is never encrypted: it tells nothing of a match, and is needed where keys are lost."""
    a_day: int | None = None
    """The limit per player and day, for a command that causes large letters, or letters to others."""
    newcomer: bool = False
    """True if it is answered even if the letter's key or address is not the player's yet."""
    by_subject: bool = False
    """True if a subject line may also give it, if the text has no command."""
    by_nothing: bool = False
    """True if it also answers a player's letter that has no command at all."""
    unvouched: int | None = None
    """Rank among the commands for unverified senders: only the lowest in a letter is answered. None: it never is."""
    asks_without: str | None = None
    """The field of its request without which it changes nothing, and only asks for what is to be sent."""
    by_reply: Literal["register"] | None = None
    """The purpose of the reply address by which it takes effect without an account."""
    withdraws: tuple[str, ...] = ()
    """The commands whose submissions it withdraws."""
    published: bool = False
    """True if a letter that holds only its form says nothing that the record of a public match does not say, too."""
    topic: Literal["keys", "sealed"] | None = None
    """The help page that explains it together with others; None: it has a page of its own."""

    def begins(self, follows: str) -> bool:
        """True if the name, followed by these two words, begins the command, and is not just a word in prose."""
        return self.opens is None or re.match(self.opens, follows, re.I) is not None

    @property
    def signed(self) -> bool:
        """True if it changes something, so that it must be signed, or at level `mailbox` answer a letter of ours."""
        return self.place is not None

    @property
    def once(self) -> bool:
        """True if the same signed words are obeyed only once.

        A challenge can be used only once anyway; of setups and orders, the highest revision counts.
        """
        return self.place not in {None, "challenge"} and not self.stands

    @property
    def sentence(self) -> bool:
        """True if it takes effect at once, at one place of a match, or withdraws a submission for one."""
        return self.place == "turn" and not self.block

    @property
    def block(self) -> bool:
        """True if the command has a block, which goes up to `end`."""
        return self.body is not None

    @property
    def has_fields(self) -> bool:
        """True if it may contain the header fields of the signed forms."""
        return self.block or self.signed

    @property
    def fields(self) -> tuple[str, ...]:
        """The header fields that name its place."""
        return _PLACES[self.place]

    @property
    def stands(self) -> bool:
        """True if its submission counts until a higher revision replaces it, or a command withdraws it."""
        return self.place == "turn" and self.block

    @property
    def only_asks(self) -> bool:
        """True if it only asks: it changes nothing, its letter is shown to nobody, and nothing in it is secret."""
        return not (self.changes or self.secret) and self.shown == "never"

    @property
    def changes(self) -> bool:
        """True if it changes anything, and so uses up the reply address that let it count."""
        return self.signed or self.by_reply is not None

    @property
    def for_players(self) -> bool:
        """True if only players get an answer to it."""
        return self.level != "anyone" and not self.newcomer

    def asks(self, request: Request) -> bool:
        """True if such a request of a command that may change something only asks."""
        return self.asks_without is not None and getattr(request, self.asks_without) is None

    @property
    def private(self) -> bool:
        """True if its content must not be shown to others yet."""
        return self.secret or self.body == "text"

    @property
    def usage(self) -> str:
        """The line that help shows."""
        words = [self.name, *(slot.usage for slot in self.slots), *(["… end"] if self.block else [])]
        return " ".join(words)


# Patterns for `opens`, matched against the two words behind the name; compiled when a letter first has the name.
_A_MATCH = r"(m?[0-9]\S*|turn|game)( |$)"
_A_TOURNAMENT = r"t[0-9]\S*( |$)"
_A_GAME = r"[a-z][a-z0-9_-]*[,;.:]?( with| server| player| prev| rev| \S+:| end\S?)?$"
_A_BLOCK = (
    r"[a-z][a-z0-9_-]*( (server|player|end|#\S*|help|games|whoami|standings|rules|sheet|register|confirm|key|recover"
    r"|address|set|vacation|new|list|accept|decline|join|withdraw|setup|seal|step|reveal|orders|clear|status|preview"
    r"|report|transcript|diary|press|observe|unobserve|block|unblock|resign|draw|annul|extend|claim|substitute"
    r"|tournament|enter|leave|challenge|rule))?$"
)
"""A name, and then the end, a field, a comment or another command: not `block the way`."""
_A_SETTING = rf"({'|'.join(SETTINGS)})( |$)"
_A_VACATION = r"([0-9]|off\b)"
_A_CHALLENGE = r"\S+ (server|challenge|end)$|(server|challenge|end)( |$)|\S*$"

_A_RECOVERY = r"((?=\S{8})\S*[0-9]|[0-9a-f]{4}\b|-----BEGIN|end\b|$)"

# Kinds of commands that have most properties in common.
_of_keys = partial(CommandSpec, level="key", place="player", topic="keys", open=True)
_of_match = partial(CommandSpec, opens=_A_MATCH, place="player")
_in_turn = partial(CommandSpec, opens=_A_MATCH, place="turn", shown="later", published=True)
_in_tournament = partial(CommandSpec, opens=_A_TOURNAMENT, place="player", shown="at once", published=True)
_sealed = partial(
    CommandSpec, body="sections", opens=_A_MATCH, shown="at once", alone=True, level="key", topic="sealed"
)

COMMANDS: dict[str, CommandSpec] = {
    spec.name: spec
    for spec in (
        CommandSpec(
            "help",
            requests.AskHelp,
            Phrase("Show how to begin and list all commands, or explain one, or a game."),
            (_TOPIC,),
            level="anyone",
            newcomer=True,
            by_subject=True,
            unvouched=3,
            open=True,
        ),
        CommandSpec(
            "games", requests.ListGames, Phrase("List the games played here."), level="anyone", newcomer=True
        ),
        CommandSpec(
            "rules",
            requests.MailRules,
            Phrase("Mail the rules of a game."),
            (arguments.RULES,),
            level="anyone",
            bulky=True,
            newcomer=True,
            unvouched=2,
        ),
        CommandSpec(
            "sheet",
            requests.MailSheet,
            Phrase(
                "Mail a record sheet to print: an empty one of a game, or one of your match with all that you know."
            ),
            (arguments.RULES_OR_MATCH,),
            level="anyone",
            bulky=True,
        ),
        CommandSpec(
            "register",
            requests.Register,
            Phrase(
                "Open an account for your address: paste your SSH public key after it, and send the answer back"
                " signed."
            ),
            (arguments.OWN_NAME, arguments.OPTIONAL_MATCH, arguments.KEY),
            level="anyone",
            unvouched=1,
            by_reply="register",
        ),
        CommandSpec(
            "confirm",
            requests.Confirm,
            Phrase("Prove that a key is yours: send the form that an answer brought, signed with that key."),
            (arguments.NAME,),
            body="fields",
            place="challenge",
            level="key",
            opens=_A_CHALLENGE,
            shown="at once",
            alone=True,
            newcomer=True,
        ),
        CommandSpec("whoami", requests.WhoAmI, Phrase("Show your account, its addresses and keys.")),
        _of_keys(
            "key add",
            requests.AddKey,
            Phrase("Add a key: sign this with a key that you use here, and its answer with the new one."),
            (arguments.KEY_OR_FINGERPRINT,),
            shown="at once",
            alone=True,
        ),
        _of_keys(
            "key revoke",
            requests.RevokeKey,
            Phrase("Revoke one of your keys for ever: name its fingerprint, and sign with any of your keys."),
            (arguments.FINGERPRINT,),
            shown="at once",
            alone=True,
        ),
        _of_keys(
            "key keep",
            requests.KeepKeys,
            Phrase("Keep your keys: stop a recovery that somebody requested in your name."),
        ),
        CommandSpec(
            "recover",
            requests.Recover,
            Phrase("Replace lost keys with a new one: by your recovery code, or without it after a delay."),
            (arguments.CODE, arguments.KEY),
            opens=_A_RECOVERY,
            secret=True,
            topic="keys",
            open=True,
        ),
        CommandSpec(
            "address add",
            requests.AddAddress,
            Phrase("Add an address to write from: we mail it a form to send back signed."),
            (arguments.ADDRESS,),
            level="key",
            place="player",
            topic="keys",
        ),
        CommandSpec(
            "set",
            requests.Choose,
            Phrase(
                "Choose time zone, language, digests, reminders, encryption, and reports: HTML (both), pictures,"
                " text, or words."
            ),
            (arguments.SETTING,),
            opens=_A_SETTING,
            place="player",
            open=True,
        ),
        CommandSpec(
            "set notify",
            requests.Notify,
            Phrase("Have your phone told, too, when something is due: name a topic of ntfy, then its code; or off."),
            (arguments.NOTIFY,),
            a_day=20,
            place="player",
            secret=True,
        ),
        CommandSpec(
            "vacation",
            requests.TakeVacation,
            Phrase("Stop your clocks in all your matches, from the first day to the last; off: you are back."),
            (arguments.DAYS,),
            a_day=20,
            opens=_A_VACATION,
            place="player",
        ),
        CommandSpec(
            "new",
            requests.Propose,
            Phrase(
                "Propose a match to players, or to addresses that are then invited; without names, on the open list."
            ),
            (arguments.RULES, arguments.PLAYERS),
            body="options",
            a_day=30,
            opens=_A_GAME,
            place="player",
            shown="at once",
            published=True,
        ),
        CommandSpec(
            "list",
            requests.ListMatches,
            Phrase("List the open proposals, or your own matches."),
            (arguments.WHICH,),
            level="anyone",
        ),
        CommandSpec(
            "accept",
            requests.Accept,
            Phrase("Accept a proposed match; the hash is that of its agreed rules."),
            (arguments.MATCH, arguments.HASH),
            place="terms",
            shown="at once",
            published=True,
        ),
        CommandSpec(
            "decline", requests.Decline, Phrase("Decline a proposed match."), (arguments.MATCH,), place="player"
        ),
        _of_match("join", requests.Join, Phrase("Take a seat in a match on the open list."), (arguments.MATCH,)),
        _of_match("withdraw", requests.Withdraw, Phrase("Withdraw your proposal."), (arguments.MATCH,)),
        CommandSpec(
            "tournament new",
            requests.AnnounceTournament,
            Phrase("Announce a tournament: the same game for all, and how the players meet."),
            (arguments.RULES,),
            body="options",
            a_day=5,
            place="player",
            shown="at once",
            published=True,
        ),
        CommandSpec(
            "tournament",
            requests.ShowTournament,
            Phrase("Show a tournament: its terms, its table and your games."),
            (arguments.TOURNAMENT,),
            bulky=True,
            a_day=20,
            level="anyone",
            opens=_A_TOURNAMENT,
        ),
        _in_tournament(
            "enter",
            requests.Enter,
            Phrase("Enter a tournament, and so accept all your matches in it; the hash is that of its terms."),
            (arguments.TOURNAMENT, arguments.HASH, arguments.TEAM),
            a_day=20,
            asks_without="hash",
        ),
        _in_tournament("leave", requests.Leave, Phrase("Leave a tournament."), (arguments.TOURNAMENT,), a_day=20),
        _in_tournament(
            "challenge",
            requests.ChallengePlayer,
            Phrase("Challenge a player above you in a ladder; if you win, you take the place."),
            (arguments.TOURNAMENT, arguments.NAME),
            a_day=10,
        ),
        _in_tournament(
            "rule",
            requests.Rule,
            Phrase("Rule on a match, a place or the end of a tournament of yours, with the line `reason:`."),
            (arguments.TOURNAMENT, arguments.RULING),
            body="options",
            a_day=20,
        ),
        _in_turn(
            "setup",
            requests.SubmitSetup,
            Phrase("Submit your secret setup of the next game; it replaces an earlier one."),
            (arguments.MATCH, arguments.GAME),
            body="text",
        ),
        _in_turn(
            "orders",
            requests.SubmitOrders,
            Phrase(
                "Submit all your orders for this turn or a later one, or default orders; they replace earlier ones."
            ),
            (arguments.MATCH, arguments.TURN_OR_DEFAULT, arguments.FINAL),
            body="text",
        ),
        _sealed(
            "seal",
            requests.Seal,
            Phrase("Commit to your setup of the next game of a sealed match, by a hash; `pbem agent` writes it."),
            (arguments.MATCH, arguments.GAME),
            place="turn",
        ),
        _sealed(
            "step",
            requests.TakeSteps,
            Phrase("Play on in a sealed match: commit to orders, reveal them, answer; `pbem agent` writes it."),
            (arguments.MATCH, arguments.GAME, arguments.STEP_TURN),
            place="step",
        ),
        _sealed(
            "reveal",
            requests.Reveal,
            Phrase("Reveal your setup and all orders once a game of a sealed match is over; `pbem agent` writes it."),
            (arguments.MATCH, arguments.GAME),
            place="step",
        ),
        CommandSpec(
            "clear",
            requests.Clear,
            Phrase(
                "Withdraw your orders for this turn or a later one, default ones, or a setup before the game begins."
            ),
            (arguments.MATCH, arguments.WHAT_STANDS),
            place="turn",
            shown="later",
            withdraws=("setup", "orders"),
        ),
        CommandSpec(
            "status",
            requests.ShowStatus,
            Phrase(
                "Show what you have submitted and what is due in a match; without a match, all of yours on one page."
            ),
            (arguments.OPTIONAL_MATCH,),
            by_nothing=True,
        ),
        CommandSpec(
            "preview",
            requests.Preview,
            Phrase("Check orders without submitting them."),
            (arguments.MATCH, arguments.TURN, arguments.FINAL),
            body="text",
            opens=_A_MATCH,
            shown="later",
        ),
        CommandSpec(
            "report",
            requests.MailReports,
            Phrase("Send reports again: the last one, one turn's, or all."),
            (arguments.MATCH, arguments.GAME, arguments.TURN_OR_ALL),
            bulky=True,
        ),
        CommandSpec(
            "diary",
            requests.ShowDiary,
            Phrase("Show what happened in a match, and when."),
            (arguments.MATCH,),
            opens=_A_MATCH,
        ),
        CommandSpec(
            "transcript",
            requests.MailTranscript,
            Phrase("Send the transcript of a match."),
            (arguments.MATCH,),
            bulky=True,
            a_day=5,
        ),
        _of_match(
            "press",
            requests.SendPress,
            Phrase(
                "Send a message of up to 4,000 characters to the other players, observers too (`public`),"
                " or only to some."
            ),
            (arguments.MATCH, arguments.READERS),
            body="press",
            a_day=50,
        ),
        _of_match(
            "observe",
            requests.Observe,
            Phrase("Watch a public match: get what everybody may know of it."),
            (arguments.MATCH,),
        ),
        _of_match("unobserve", requests.Unobserve, Phrase("Stop watching a match."), (arguments.MATCH,)),
        CommandSpec(
            "block",
            requests.Block,
            Phrase("Stop all proposals, messages and offers of a seat from a player; nobody is told."),
            (arguments.NAME,),
            opens=_A_BLOCK,
            place="player",
        ),
        CommandSpec(
            "unblock",
            requests.Unblock,
            Phrase("Get letters from a player again."),
            (arguments.NAME,),
            opens=_A_BLOCK,
            place="player",
        ),
        CommandSpec(
            "standings",
            requests.ShowStandings,
            Phrase("Show who has played how many matches, and the ratings."),
            level="anyone",
        ),
        CommandSpec(
            "resign",
            requests.Resign,
            Phrase("Resign the game, or the whole match."),
            (arguments.MATCH, arguments.GAME_OR_WHOLE),
            place="turn",
            shown="later",
            published=True,
        ),
        _in_turn(
            "draw",
            requests.Draw,
            Phrase("Offer a draw of all who remain, or of those named, or answer; all must agree in the same turn."),
            (arguments.MATCH, arguments.WORD, _SHARING),
            a_day=20,
        ),
        _in_turn(
            "annul",
            requests.Annul,
            Phrase("Offer to annul the whole match, so that it does not count, or answer such an offer."),
            (arguments.MATCH, arguments.WORD),
            a_day=20,
        ),
        _in_turn(
            "extend",
            requests.Extend,
            Phrase("Give your opponent more time for what is due now."),
            (arguments.MATCH, arguments.TIME),
            a_day=20,
        ),
        _in_turn(
            "claim",
            requests.Claim,
            Phrase(
                "Claim the game from an opponent who missed the deadline and the grace period, or end a match that"
                " nobody else can."
            ),
            (arguments.MATCH,),
        ),
        CommandSpec(
            "substitute",
            requests.Substitute,
            Phrase(
                "Give the seat of a player who leaves or is gone to somebody new; all must agree, the newcomer"
                " with a hash."
            ),
            (arguments.MATCH, arguments.NEWCOMER, arguments.LEAVER, arguments.HASH),
            a_day=20,
            opens=_A_MATCH,
            place="turn",
            shown="later",
        ),
    )
}

_ROWS = {spec.request: spec for spec in COMMANDS.values()}


def command_at(words: Words) -> CommandSpec | None:
    """The row of the command that begins at the cursor; None if none does."""
    spec = COMMANDS.get(f"{words.low()} {words.low(1)}") or COMMANDS.get(words.low())
    if spec is None:
        return None
    follows = " ".join(word for ahead in (1, 2) if (word := words.word(ahead)))
    return spec if spec.begins(follows) else None


def row_of(request: Request) -> CommandSpec:
    """The row of the command that makes this request."""
    return _ROWS[type(request)]
