"""How a player begins: an account is opened, or a game with the house of the trial server at home.

Both go on where they were interrupted. Implements docs/playing.md.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from pbem.mail_providers import provider_of
from pbem.phrase import Phrase
from pbem.player import mail_in, signing, trial_server
from pbem.player.account_file import Account
from pbem.player.correspondence.standings import Impossible
from pbem.player.opponent import SEED_OCTETS, Chance, is_played, strategy
from pbem.player.results import PlayResult, ToldLine, line_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pbem.mail_providers import MailProvider
    from pbem.match.view import MatchView
    from pbem.player.play_table import PlayTable
    from pbem.player.results import Say


class AccountWritten(PlayResult, frozen=True):
    """An account in its file, with the fingerprint of its key, if any, and its Maildir, if that was made."""

    account: Account
    file: Path
    key: str
    maildir: Path | None

    def told(self, _: Say) -> Iterator[ToldLine]:
        """Where all of it is."""
        if self.maildir is not None:
            made = Phrase("Maildir  {place}, made: have the letters to {address} delivered there")
            yield ToldLine(made.given(place=self.maildir, address=self.account.address))
        yield ToldLine(Phrase("Account  {file}", file=self.file))
        yield ToldLine(Phrase("Key      {key}", key=self.key or Phrase("none")))


class Introduced(PlayResult, frozen=True):
    """An account, and whether the server has opened it; letters that nothing proves may say why not."""

    name: str
    server: str
    is_open: bool
    subjects: list[str]

    def told(self, say: Say) -> Iterator[ToldLine]:
        """How it goes on."""
        if self.is_open:
            yield ToldLine(Phrase("You are {name} on {server}.", name=self.name, server=self.server))
            yield ToldLine(Phrase("Find somebody: `pbem play new GAME OPPONENT`, or `pbem play ask list open`"))
            return
        yield ToldLine(Phrase("The server has not answered yet; `pbem play` goes on when it does."))
        why = Phrase("This letter, which nothing proves yet, may say why: “{subject}”")
        yield from (ToldLine(why.given(subject=line_of(subject, say))) for subject in self.subjects)


def fill_in_ways(settings: dict[str, str]) -> MailProvider | None:
    """Fill in how letters come and go where nothing says it; returns the provider whose hosts these are, if any."""
    provider = provider_of(settings["address"])
    if settings["mail_in"] or settings["mail_out"] or provider is None:
        settings["mail_in"] = settings["mail_in"] or "maildir:~/Maildir"
        settings["mail_out"] = settings["mail_out"] or "sendmail:"
        return None
    settings["mail_in"], settings["mail_out"] = provider.ways(settings["address"])
    return provider


def open_account(table: PlayTable, made: Account, *, new_key: bool, server_key: str = "") -> Introduced:
    """Write an account, if its key and its mailbox can be used, and begin the dialogue that opens it."""
    path = Path(made.key).expanduser()
    if new_key:
        signing.make(path, made.address)
    ours = signing.read(path, table.front.passphrase, table.front.touch) if made.key else None
    maildir = mail_in.begin(made)
    mail_in.source(made).close()
    changed = made.id in table.folders.accounts and table.folders.load(made.id) != made
    file = table.folders.save(made)
    table.name = made.id
    table.front.show(AccountWritten(made, file, ours.fingerprint if ours else "", maildir))
    if server_key:
        table.letters.inbox.pin_key(server_key)
    return introduce(table, ours, anew=changed)


def introduce(table: PlayTable, ours: signing.SigningKey | None, *, anew: bool = False) -> Introduced:
    """The dialogue that opens the account, as far as the server has answered.

    `anew`: ask again at once, as the account was written otherwise before. So does whoever has an account: a server
    that was restored may have forgotten it, and says so.
    """
    letters, account = table.letters, table.account

    def is_open() -> bool:
        return letters.memory.account().name is not None

    anew = anew or is_open()
    if ours is None:
        asked = letters.registration.register_mailbox(table.now(), anew=anew)
    else:
        asked = letters.registration.register(ours.public, ours.fingerprint, table.now(), anew=anew)
    table.send()
    table.wait(lambda: is_open() and table.state(asked) not in {"ready", "sent"}, "the server's answers")
    return Introduced(account.name, account.server, is_open(), sorted(table.unproved))


# A game at home.

_NAME, _ADDRESS = "guest", "guest@home.localhost"
ACCOUNT = f"{_NAME}@{trial_server.SERVER}"
"""The account of whoever only tries."""
_LEVEL = 1
"""The level of the fleet that is placed for a newcomer."""
PATIENCE = 60.0
"""The first start of a server and its house takes longer than an answer."""


def begin_to_play(table: PlayTable, game: str) -> MatchView:
    """The newest match of a game at home that is not over, or a new one; a fleet is placed for it."""
    if table.name not in table.folders.accounts:
        _save_account(table)
    programs = trial_server.offer(game)
    mail_in.begin(table.account)
    if table.letters.memory.account().name is None and not (introduced := introduce(table, table.key)).is_open:
        table.front.show(introduced)
    table.fetch()

    def running() -> MatchView | None:
        phases = {"proposed", "setup", "playing"}
        found = [one for one in table.letters.matches.standings if one.rules == game and one.phase in phases]
        return found[-1] if found else None

    def has_begun() -> bool:
        return (match := running()) is not None and match.phase != "proposed"

    if running() is None:
        table.wait(lambda: all(map(trial_server.is_there, programs)), "the house")
        proposal = f"new {game} with {' '.join(programs)}"
        table.settle(table.letters.tell(proposal, table.now(), match="", text="pace: none"))
    if not has_begun():
        table.wait(lambda: has_begun() and (match := running()) is not None and match.asked, "the house")
    standing = running()
    if standing is None or standing.phase == "proposed":
        raise Impossible("The house has not answered yet; the same command goes on when it has.")
    if standing.phase == "setup" and standing.asked:
        table.settle(table.letters.set_up(standing.match, setup_at_random(table, standing), table.now()))
    return standing


def setup_at_random(table: PlayTable, standing: MatchView) -> str:
    """A setup for the next game of a match, as a program would make it; raises `Impossible`."""
    options = table.letters.judge.options(standing.match)
    if not is_played(standing.rules):
        raise Impossible("No program here knows how to set up {game}.", game=standing.rules)
    try:
        return strategy(standing.rules).setup(_LEVEL, Chance(os.urandom(SEED_OCTETS)), options, standing.seat)
    except ValueError as error:
        raise Impossible("No setup was found for the options of {match}.", match=standing.match) from error


def see_the_move(table: PlayTable, before: MatchView) -> MatchView:
    """Wait until it is one's move again or the game is over; returns how the match stands then.

    At home the server runs no longer than the command, and the house answers quickly.
    """

    def standing() -> MatchView:
        return table.letters.matches.standing(before.match)

    def has_moved() -> bool:
        now = standing()
        moved = (now.phase, now.game, now.turn) != (before.phase, before.game, before.turn)
        return moved and (now.asked or now.phase != "playing")

    table.wait(has_moved, "your move")
    return standing()


def _save_account(table: PlayTable) -> None:
    """Write the account of a newcomer at home, with a key of its own."""
    trial_server.begin()
    host, port = trial_server.listens_at()
    key = table.folders.config / f"{table.name}_ed25519"
    if not key.exists():
        signing.make(key, _ADDRESS)
    table.folders.save(
        Account(
            name=_NAME,
            server=trial_server.SERVER,
            server_address=trial_server.ADDRESS,
            address=_ADDRESS,
            key=str(key),
            mail_in=f"maildir:{trial_server.letters(_ADDRESS)}",
            mail_out=f"smtp://{host}:{port}",
        )
    )
