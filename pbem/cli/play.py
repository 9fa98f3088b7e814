"""`pbem play`: a player's matches in the terminal; one command a turn.

Thin: `pbem.player` decides which letters are believed, the games have the rules, and boards and events are those of
the letters. Each run first fetches letters, sends those that are ready, and reports both. Implements docs/playing.md.
"""

from __future__ import annotations

import os
import re
import sqlite3
import sys
import time
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from pbem.games import Refused, titles
from pbem.phrase import Span
from pbem.player import mail_in, mail_out, signing
from pbem.player.account import Account, BadAccount, places, split
from pbem.player.agent import Agent
from pbem.player.correspondence import Correspondence, Impossible, meant
from pbem.player.exchange import fetch, flush
from pbem.player.forms import Unfit
from pbem.player.memory import BadMemory, Memory
from pbem.player.sealed import BadNote, BadSecrets, Vault
from pbem.player.sealed_game import Contradiction
from pbem.player.standing import OVER

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from pbem.json_object import JsonObject
    from pbem.player.account import Places
    from pbem.player.browser import Handed
    from pbem.player.correspondence import Event, Judged
    from pbem.player.memory import Sent

__all__ = ["MATCH", "Table", "clean", "is_due", "play", "read_back", "show", "troubles"]

MATCH = re.compile(r"m[1-9][0-9]{0,8}")
_SOON, _LOOK = 0.1, 1.0  # seconds between two looks into the mailbox: at first, and at most
_AN_HOUR = 3600.0  # that a player may take over clicking
_LONGEST = 500  # characters of others within a line of ours
_SPINNER = "|/-\\"


class _Play(click.Group):
    """`pbem play m17 ...` is about that match; everything else is a command's name."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and MATCH.fullmatch(args[0].lower()):
            return "match", self.commands["match"], [args[0].lower(), *args[1:]]
        return super().resolve_command(ctx, args)

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        del ctx
        return ["[OPTIONS] [MATCH [ORDERS]... | COMMAND [ARGS]...]"]


class Table:
    """A player's table: the account, its letters, and the ways in and out. Each is opened when first needed."""

    def __init__(self, folders: Places, name: str, patience: float, secrets: Path | None = None) -> None:
        self.folders = folders
        self.name = name
        self.patience = patience
        self.secrets = secrets
        """Where the secrets of sealed matches are kept, if not beside the memory."""
        self.afterwards = ExitStack()
        self._account: Account | None = None
        self._correspondence: Correspondence | None = None
        self._agent: Agent | None = None
        self._source: mail_in.Source | None = None
        self._key: signing.Key | None = None
        self.unproved: set[str] = set()
        """Subjects of letters that cannot be judged before the server's key is known."""

    @property
    def account(self) -> Account:
        """The account."""
        if self._account is None:
            self._account = self.folders.load(self.name)
        return self._account

    @property
    def key(self) -> signing.Key:
        """The player's key; its private half is opened when something is signed."""
        if self._key is None:
            self._key = signing.read(Path(self.account.key).expanduser(), _passphrase)
        return self._key

    @property
    def letters(self) -> Correspondence:
        """The correspondence of the account."""
        if self._correspondence is None:
            memory = Memory(self.folders.memory(self.account.id))
            self.afterwards.callback(memory.close)
            sign = self._sign if self.account.key else None
            self._correspondence = Correspondence(self.account.party, memory, sign, os.urandom)
        return self._correspondence

    @property
    def agent(self) -> Agent:
        """The agent that plays sealed matches."""
        if self._agent is None:
            vault = Vault(self.secrets or self.folders.secrets(self.account.id))
            self._agent = Agent(self.letters, vault, os.urandom)
        return self._agent

    def _sign(self, text: bytes, namespace: str) -> str:
        return self.key.sign(text, namespace)

    def fetch(self) -> list[Event]:
        """Take in the letters that have come, and tell the player what matters."""
        if self._source is None:
            self._source = mail_in.source(self.account)
            self.afterwards.callback(self._source.close)
        events = list(fetch(self.letters, self._source, _now))
        events += self.agent.hear(events, _now())
        for event in events:
            _tell_event(event)
        self.unproved = {event.subject for event in events if event.kind == "unpinned"}
        _prove(self.letters, events)
        if (self.letters.confirm(_now()) is not None) | bool(self.agent.act(_now())):
            self.send()
        return events

    def send(self) -> bool:
        """Send all letters that are ready; returns whether none is left."""
        complete = True
        for sent, said, left in flush(self.letters, lambda sent: mail_out.send(self.account, sent)):
            if left:
                click.echo(f"{_about(sent)}: {_line(said)}.")
            else:
                complete = False
                click.echo(
                    f"Not sent yet: {_about(sent)}: {_line(said)}\nIt lies ready; the next `pbem play` tries again.",
                    err=True,
                )
        return complete

    def wait(self, until: Callable[[list[Event]], bool], what: str) -> bool:
        """Look for letters until the awaited one is there; returns whether it came in time."""
        end = time.monotonic() + self.patience
        turn, pause = 0, _SOON
        shown = sys.stderr.isatty()
        try:
            while True:
                if until(self.fetch()):
                    return True
                if time.monotonic() >= end:
                    return False
                if shown:
                    sys.stderr.write(f"\r{_SPINNER[turn % 4]} Waiting for {what} (Ctrl-C: go on without) ")
                    sys.stderr.flush()
                turn += 1
                time.sleep(min(pause, max(0.0, end - time.monotonic())))
                pause = min(2 * pause, _LOOK)
        except KeyboardInterrupt:
            return False
        finally:
            if shown:
                sys.stderr.write("\r\x1b[K")
                sys.stderr.flush()

    def settle(self, sent: Sent) -> None:
        """Send a letter, wait for the server's answer, and report it; exits with 1 if it was refused."""
        if self.send() and self.patience:
            self.wait(lambda _: _state(self.letters, sent) not in {"ready", "sent"}, "the server's answer")
        match _state(self.letters, sent):
            case "refused":
                sys.exit(1)
            case "ready" | "sent":
                click.echo("No answer yet; `pbem play` fetches it when it comes.")


def _state(letters: Correspondence, sent: Sent) -> str:
    found = letters.memory.by_message_id(sent.message_id)
    return found.state if found else "ready"


def _now() -> datetime:
    return datetime.now(UTC)


def _passphrase(prompt: str) -> str:
    return str(click.prompt(prompt, hide_input=True, err=True))


@contextmanager
def troubles() -> Iterator[None]:
    """Report in one sentence a trouble that is not a fault of the program."""
    try:
        yield
    except Refused as refused:
        _refused([fault.message for fault in refused.faults])
    except Contradiction as error:
        raise click.ClickException(f"What was told cannot be: {clean(str(error))}") from error
    except (
        *(BadAccount, BadMemory, BadNote, BadSecrets, Impossible, Unfit),
        *(signing.CannotSign, mail_in.NoMail),
    ) as error:
        raise click.ClickException(clean(str(error))) from error
    except sqlite3.Error as error:
        raise click.ClickException(
            f"What is remembered cannot be read or written: {error}. Nothing is lost: the same again goes on."
        ) from error


def _refused(faults: Sequence[str]) -> NoReturn:
    click.echo("Not legal; nothing was signed or sent:", err=True)
    for fault in faults:
        click.echo(f"  - {_line(fault)}", err=True)
    sys.exit(1)


@click.group(cls=_Play, invoke_without_command=True)
@click.option("--account", default="", metavar="NAME@SERVER", help="Which account, if there are several.")
@click.option(
    "--wait", "patience", type=float, default=None, metavar="SECONDS", help="How long to wait for an answer."
)
@click.pass_context
def play(ctx: click.Context, account: str, patience: float | None) -> None:
    """Play by mail from the terminal.

    \b
    pbem play                     list my matches: whose move it is, and until when
    pbem play m17                 show the boards of m17
    pbem play m17 Gx3 bRv1Rv3     judge these orders, read them back, sign and send them
    pbem play m17 --open          compose them by clicking in the browser instead

    Everything is signed with your SSH key. To begin: pbem play register --help
    """  # noqa: D301 - click wants the very character
    ctx.obj = Table(places(os.environ), account, 20.0 if patience is None else patience)
    ctx.call_on_close(ctx.obj.afterwards.close)
    if ctx.invoked_subcommand is None:
        with troubles():
            _list(ctx.obj)


_table = click.make_pass_decorator(Table)
_yes = click.option("--yes", is_flag=True, help="Do not ask before signing.")


# Registering.


@play.command()
@click.argument("account", metavar="NAME@SERVER")
@click.option("--address", required=True, help="Your mail address, to which the server writes.")
@click.option("--to", "server_address", default="", help="The server's address, if it is not pbem@SERVER.")
@click.option(
    "--key",
    default="~/.ssh/id_ed25519",
    show_default=True,
    help="Your SSH key: a private key, or the .pub of a key in an agent.",
)
@click.option("--new-key", is_flag=True, help="Make that key; it must not exist yet.")
@click.option("--no-key", is_flag=True, help="Play without a key: your mail provider must sign what you send (DKIM).")
@click.option(
    "--in",
    "mail_in_",
    default="maildir:~/Maildir",
    show_default=True,
    metavar="URL",
    help="Where your letters arrive: maildir:PATH, mbox:PATH, imaps://USER@HOST or lmtp://127.0.0.1:PORT.",
)
@click.option(
    "--out",
    "mail_out_",
    default="sendmail:",
    show_default=True,
    metavar="URL",
    help="Where letters go: smtps://USER@HOST, submission://USER@HOST, smtp://HOST:PORT, sendmail: or drafts:FOLDER.",
)
@click.option("--password-file", default="", help="A file with the mailbox's password, readable by you alone.")
@click.option("--password-command", default="", help="A command that prints that password.")
@click.option("--token-command", default="", help="A command that prints an access token instead (XOAUTH2).")
@click.option(
    "--server-key", default="", metavar="HEX", help="The server's Ed25519 key, if you know it: 64 hex digits."
)
@_table
def register(  # noqa: PLR0913, PLR0917 - what makes an account
    table: Table,
    account: str,
    address: str,
    server_address: str,
    key: str,
    new_key: bool,
    no_key: bool,
    mail_in_: str,
    mail_out_: str,
    password_file: str,
    password_command: str,
    token_command: str,
    server_key: str,
) -> None:
    """Open an account, and prove to the server that the key is yours.

    NAME is what you will be called there, SERVER the server's name: `pbem play register anna@play.example --address
    anna@home.example` writes to pbem@play.example. If it was interrupted, the same command continues.
    """
    with troubles():
        name, server = split(account)
        if no_key and new_key:
            raise click.UsageError("--no-key, or --new-key")
        made = Account(
            name,
            server,
            server_address or f"pbem@{server}",
            address,
            "" if no_key else key,
            mail_in_,
            mail_out_,
            password_file,
            password_command,
            token_command,
        )
        if server_key and not re.fullmatch("[0-9a-f]{64}", server_key):
            raise click.UsageError("--server-key: 64 hex digits")
        if new_key:
            signing.make(Path(key).expanduser(), address)
        ours = None if no_key else signing.read(Path(key).expanduser(), _passphrase)
        if place := mail_in.begin(made):
            click.echo(f"Maildir  {place}, made: have the letters to {address} delivered there")
        mail_in.source(made).close()
        file = table.folders.save(made)
        table.name = made.id
        click.echo(f"Account  {file}\nKey      {ours.fingerprint if ours else 'none'}")
        if server_key:
            table.letters.memory.know("server_key", server_key)
        _introduce(table, ours)


def _introduce(table: Table, ours: signing.Key | None) -> None:
    """The dialogue that opens the account, as far as the server has answered."""
    letters = table.letters
    if letters.memory.fact("account") is None:
        if ours is None:
            letters.register_mailbox(_now())
        else:
            letters.register(ours.public, ours.fingerprint, _now())
        table.send()
        table.wait(lambda _: letters.memory.fact("account") is not None, "the server's answers")
    if letters.memory.fact("account") is None:
        click.echo("The server has not answered yet; `pbem play` goes on when it does.")
        for subject in sorted(table.unproved):
            click.echo(f"This letter, which nothing proves yet, may say why: “{_line(subject)}”")
    else:
        account = table.account
        click.echo(
            f"You are {account.name} on {account.server}. Find somebody: pbem play new GAME OPPONENT,"
            " or pbem play ask list open"
        )


# Listing and showing.


def _list(table: Table) -> None:
    table.fetch()
    table.send()
    letters = table.letters
    account = table.account
    click.echo(f"{account.id}" + ("" if letters.memory.fact("account") else "  (not registered yet)"))
    rows = letters.matches
    _rows(table, rows)
    if not rows:
        click.echo("  No matches. pbem play new GAME OPPONENT proposes one; pbem play ask list open shows who waits.")
    for alarm in letters.memory.alarms():
        click.echo(f"ALARM {alarm.time} {alarm.match}: {_line(alarm.said)}", err=True)


def _rows(table: Table, standings: Sequence[JsonObject]) -> None:
    for standing in standings:
        click.echo(f"  {standing['match']:5} {_title(table.letters, standing):34} {_whose(table, standing)}".rstrip())


def _title(letters: Correspondence, standing: JsonObject) -> str:
    title, programs = titles().get(standing["rules"], standing["rules"]), letters.programs
    others = [
        f"{name} (a program)" if name in programs else name or "(free)"
        for seat, name in enumerate(standing["players"], start=1)
        if seat != standing["seat"]
    ]
    return _line(f"{title} with {', '.join(others)}" if others else str(title))


def is_due(table: Table, standing: JsonObject) -> bool:
    """Whether a match waits for this player to decide on a setup or orders."""
    if standing.get("sealed"):
        return table.agent.asks(standing["match"])
    return bool(standing["asked"]) and table.letters.pending(standing["match"]) is None


def _whose(table: Table, standing: JsonObject) -> str:
    """Whose move it is in a match, and until when."""
    letters = table.letters
    match, phase = standing["match"], standing["phase"]
    if phase == "proposed":
        return (
            f"proposed: pbem play accept {match}"
            if not standing["accepted"]
            else "proposed; others have not agreed yet"
        )
    if phase == "open":
        return "on the open list"
    if phase not in {"setup", "playing"}:
        return _ending(standing)
    what = f"turn {standing['turn']}" if phase == "playing" else f"setup of game {standing['game']}"
    said = "your move" if standing["asked"] else "waiting for the others"
    if standing.get("sealed"):
        revealing = "reveal" in table.agent.owes(standing)
        if revealing and table.agent.asks(match):
            return f"The server asks for your secrets. {DOUBTFUL} Then: pbem play reveal {match}"
        said = "your move" if table.agent.asks(match) else said.replace("your move", "yours is on its way")
    elif standing["asked"] and (sent := letters.pending(match)) is not None:
        said = {"ready": "yours is not sent yet", "bounced": "yours came back: send it again"}.get(
            sent.state, "yours is on its way"
        )
    offers = "".join(f"; {what} offered" for what in standing["offers"])
    paused = "; paused" if standing["paused"] else ""
    return f"{what}: {said}{_until(standing['deadline'])}{offers}{paused}"


def _until(deadline: str | None) -> str:
    if not deadline:
        return ""
    end = datetime.fromisoformat(deadline)
    left = int((end - _now()).total_seconds())
    return f", until {end.astimezone():%a %d %b %H:%M}" + (f" ({Span(left)} left)" if left > 0 else " (over)")


def _ending(standing: JsonObject) -> str:
    outcome = standing["outcome"] or {}
    if standing["phase"] != "closed" or not outcome:
        return str(standing["phase"])
    winner = outcome.get("winner")
    who = (
        "a draw"
        if not winner
        else "you won"
        if winner == standing["seat"]
        else f"{standing['players'][winner - 1]} won"
    )
    scores = " : ".join(
        str(sum(column)) for column in zip(*(ended["scores"] for ended in standing["ended"]), strict=False)
    )
    return f"closed: {who}" + (f", {scores}" if scores else "")


@play.command(hidden=True)
@click.argument("match")
@click.argument("orders", nargs=-1)
@click.option("--final", is_flag=True, help="You will not change these orders: the turn need not wait.")
@click.option("--nothing", is_flag=True, help="Order nothing this turn, where the rules allow it.")
@click.option(
    "--from", "file", type=click.File("r"), help="Read the orders, or the setup, from a file; - is the keyboard."
)
@click.option("--open", "browser", is_flag=True, help="Compose the orders, or the setup, by clicking in the browser.")
@_yes
@_table
def match(  # noqa: PLR0913, PLR0917 - options of a command
    table: Table,
    match: str,
    orders: tuple[str, ...],
    final: bool,
    nothing: bool,
    file: Any,
    browser: bool,
    yes: bool,
) -> None:
    """Show a match, or order its turn."""
    with troubles():
        table.fetch()
        table.send()
        standing = table.letters.standing(match)
        texts = (
            [" ".join(orders), "\n".join(orders)] if orders else [file.read()] if file else [""] if nothing else []
        )
        if browser:
            clicked = _clicked(table, standing)
            texts, final = [clicked.text], final or clicked.final
        if not texts:
            show(table, standing)
        elif standing["phase"] == "setup":
            _set_up(table, match, "\n".join(orders) or texts[0], yes=yes)
        else:
            _order(table, standing, texts, final=final, yes=yes)


def _order(table: Table, standing: JsonObject, texts: Sequence[str], *, final: bool, yes: bool) -> None:
    name = standing["match"]
    text = read_back(table, standing, texts)
    _ask(table, yes, standing)
    sealed = bool(standing.get("sealed"))
    table.settle(
        table.agent.order(name, text, _now()) if sealed else table.letters.order(name, text, _now(), final=final)
    )


def read_back(table: Table, standing: JsonObject, texts: Sequence[str]) -> str:
    """Read back the first legal one of these texts, and return it; raises `Refused`, `Impossible`."""
    from pbem.boards import words

    letters, name = table.letters, standing["match"]
    sealed = bool(standing.get("sealed"))
    judge = table.agent.judge_orders if sealed else letters.judge_orders
    text, judged = _judged(standing["rules"], lambda text: judge(name, text), texts)
    click.echo(f"{name}, turn {table.agent.shown(name).turn if sealed else standing['turn']}: you order")
    for phrase in words(standing["rules"]).said(judged.text) or ["nothing"]:
        click.echo(f"  {phrase}")
    if judged.unused:
        click.echo(f"Unused: {', '.join(judged.unused)}.")
    return text


def _judged(rules: str, judge: Callable[[str], Judged], texts: Sequence[str]) -> tuple[str, Judged]:
    """The first legal text: words may be in one line, or each in its own; otherwise the fewest faults are told."""
    refusals = []
    for text in texts:
        try:
            return text, judge(text)
        except Refused as refused:
            refusals.append(refused)
    for text in texts:
        _did_you_mean(rules, judge, text)
    raise min(refusals, key=lambda refused: len(refused.faults))


def _did_you_mean(rules: str, judge: Callable[[str], Judged], text: str) -> None:
    """Say what was probably meant, if that is legal."""
    if likely := meant(rules, judge, text):
        lines = likely.strip().splitlines()
        click.echo(f"Did you mean: {' '.join(lines[0].split())}" if len(lines) == 1 else "Did you mean:", err=True)
        for line in lines if len(lines) > 1 else ():
            click.echo(f"  {line}", err=True)


@play.command()
@click.argument("match")
@click.argument("lines", nargs=-1)
@click.option("--from", "file", type=click.File("r"), help="Read the setup from a file; - is the keyboard.")
@_yes
@_table
def setup(table: Table, match: str, lines: tuple[str, ...], file: Any, yes: bool) -> None:
    """Send the secret setup of a game: each argument is a line of it, such as "DS Rv1-Ow2"."""
    with troubles():
        table.fetch()
        if not (lines or file):
            show(table, table.letters.standing(match))
            return
        _set_up(table, match, "\n".join(lines) if lines else file.read(), yes=yes)


def _set_up(table: Table, match: str, text: str, *, yes: bool) -> None:
    letters, standing = table.letters, table.letters.standing(match)
    try:
        judged = letters.judge_setup(match, text)
    except Refused:
        _did_you_mean(standing["rules"], lambda text: letters.judge_setup(match, text), text)
        raise
    click.echo(f"{match}, game {standing['game']}: your setup")
    for line in judged.text.splitlines():
        click.echo(f"  {line}")
    _ask(table, yes, standing)
    if not standing.get("sealed"):
        table.settle(letters.set_up(match, text, _now()))
        return
    new = table.agent.vault.code() is None
    sent = table.agent.set_up(match, text, _now())
    if new:
        click.echo(_SIX_WORDS.format(words=table.agent.words))
    table.settle(sent)


_SIX_WORDS = """\
Your six words, to be kept somewhere else than on this machine:

    {words}

Setup and orders of sealed matches stay here, and the server keeps a copy that these words alone open. If this
machine is lost, another goes on with them: pbem play words WORD WORD ..."""


@play.command()
@click.argument("words", nargs=-1)
@_table
def words(table: Table, words: tuple[str, ...]) -> None:
    """Print the six words that open the notes of your sealed matches, or set those of another machine."""
    with troubles():
        if words:
            table.agent.use_words(" ".join(words))
        click.echo(table.agent.words)


def _ask(table: Table, yes: bool, shown: JsonObject | None = None) -> None:
    """Ask once; then the match must be as it was shown: another `pbem play` may have fetched meanwhile."""
    if not yes:
        click.confirm("Sign and send?" if table.account.key else "Send?", default=True, abort=True)
    if shown is not None:
        now = table.letters.standing(shown["match"])
        if any(now[what] != shown[what] for what in ("phase", "game", "turn", "hash")):
            raise Impossible(
                f"A letter about {shown['match']} came while you looked; nothing was signed. Look again."
            )


def show(table: Table, standing: JsonObject) -> None:
    """The boards of a match, or what it waits for."""
    try:
        _show_letters(table, standing)
    except (BadSecrets, Contradiction, Impossible, sqlite3.Error):
        raise
    except Exception as error:  # the server may have sent anything
        said = (
            f"What came about {standing['match']} cannot be shown. `pbem play letter {standing['match']}` prints it."
        )
        raise Impossible(said) from error


def _show_letters(table: Table, standing: JsonObject) -> None:
    from pbem.letters.render import Templates

    letters = table.letters
    name, rules, seat = standing["match"], standing["rules"], standing["seat"]
    names = {number: player or "(free)" for number, player in enumerate(standing["players"], start=1)}
    click.echo(f"{_title(letters, standing)}, {name}: {_whose(table, standing)}")
    click.echo(f"You are {names[seat]}, seat {seat}.\n")
    if standing["phase"] == "setup":
        asked = letters.setup_asked(name)
        text = Templates().render("player/setup.txt", rules=rules, seat=seat, options=asked["options"])
        click.echo(clean(text.rstrip("\n")))
        click.echo(f"\nSend it: pbem play setup {name} LINE LINE ..., or --from FILE, or pbem play {name} --open")
    elif standing.get("sealed") and standing["phase"] in {"playing", "closed"}:
        shown = table.agent.shown(name)
        view = dict(shown.view) | ({} if shown.asked else {"entitled": None})
        told = shown.reports[-1] if shown.reports else None
        text = Templates().render("player/match.txt", rules=rules, seat=seat, names=names, reports=told, view=view)
        click.echo(clean(text.rstrip("\n")))
    elif (position := letters.position(name)) is not None and standing["phase"] in {"playing", "closed"}:
        reports = letters.memory.latest(name, "reports")
        same = reports is not None and reports["game"] == position["game"]
        told = reports["reports"] if reports and same else None
        over = standing["phase"] == "closed"  # after a resignation the last position still has something to order
        view = position["view"] | ({"entitled": None} if over else {})
        text = Templates().render("player/match.txt", rules=rules, seat=seat, names=names, reports=told, view=view)
        click.echo(clean(text.rstrip("\n")))
    elif standing["agreement"]:
        click.echo(clean(Templates().render("letters/terms.txt", m=_terms(letters, standing, names))))
    if (sent := letters.pending(name) if standing["phase"] in {"setup", "playing"} else None) is not None:
        click.echo(f"\nYours ({_STATES[sent.state]}):\n\n{_indented(sent.form)}")


def _terms(letters: Correspondence, standing: JsonObject, names: Mapping[int, str]) -> dict[str, object]:
    """What the letters' own template says about terms."""
    terms = letters.terms(standing["match"])
    return {
        "id": standing["match"],
        "title": titles()[terms.game],
        "terms": terms,
        "kind": terms.kind,
        "names": names,
        "levels": dict.fromkeys(names, ""),
        "programs": [seat for seat, name in names.items() if name in letters.programs],
        "phase": standing["phase"],
        "rules_hash": standing["hash"],
        **{name: _span(getattr(terms, name)) for name in ("pace", "bank", "grace")},
        "settling": _span(terms.settle),
    }


def _span(seconds: int) -> str:
    return Span(seconds) if seconds else "none"


_STATES = {
    "ready": "not sent yet",
    "sent": "sent, not answered yet",
    "done": "it stands",
    "bounced": "it came back",
}


def _clicked(table: Table, standing: JsonObject) -> Handed:
    """The orders composed in the browser, from the files that the letters brought."""
    from pbem.pages import Home, composer, fragment
    from pbem.pages.handover import handover
    from pbem.player.browser import Port

    letters, name = table.letters, standing["match"]
    if standing["phase"] == "setup":
        asked = letters.setup_asked(name)
    elif standing.get("sealed"):
        shown = table.agent.shown(name)
        asked = (letters.sealed_position(name) or {}) | {"turn": shown.turn, "view": shown.view, "asked": shown.asked}
    else:
        asked = letters.position_asked(name)
    # Of a sealed match the page is asked for the setup or the orders alone: what is done with them is the agent's.
    asked = {key: value for key, value in asked.items() if key != "sealed"}
    home = Home(table.account.server, table.account.server_address)
    port = Port(os.urandom)
    try:
        title = _title(letters, standing)
        port.serve(handover(title, f"composer#{fragment(asked)}"), composer(standing["rules"], home))
        click.echo(f"{name}: click it together at\n\n    {port.url}\n")
        click.launch(port.url)
        handed = port.wait(_AN_HOUR)
    except KeyboardInterrupt:
        handed = None
    finally:
        port.stop()
    if handed is None:
        raise click.ClickException("Nothing was handed over.")
    return handed


# What is said beside orders.


@play.command()
@click.argument("game", type=click.Choice(list(titles())))
@click.argument("words", nargs=-1, metavar="[OPPONENT]... [OPTION: VALUE]...")
@_yes
@_table
def new(table: Table, game: str, words: tuple[str, ...], yes: bool) -> None:
    """Propose a match: to players by name or address, or on the open list; options such as "pace: 3d"."""
    opponents = [word for word in words if ":" not in word]
    options = "\n".join(word for word in words if ":" in word)
    head = f"new {game}" + (f" with {' '.join(opponents)}" if opponents else "")
    with troubles():
        table.fetch()
    known = {standing["match"] for standing in table.letters.matches}
    _tell(table, head, yes, text=options)
    _rows(table, [standing for standing in table.letters.matches if standing["match"] not in known])


@play.command()
@click.argument("match")
@_yes
@_table
def accept(table: Table, match: str, yes: bool) -> None:
    """Agree to a proposed match, by the hash of the terms that you were mailed."""
    with troubles():
        table.fetch()
        standing = table.letters.standing(match)
        show(table, standing)
        _ask(table, yes, standing)
        table.settle(table.letters.accept(match, _now()))


def _simple(name: str, help_: str) -> None:
    """A command about a match that is signed as it stands."""

    @play.command(name, help=help_)
    @click.argument("match")
    @_yes
    @_table
    def command(table: Table, match: str, yes: bool) -> None:
        _tell(table, f"{name} {match}", yes, match=match)


for _name, _help in (
    ("join", "Take a seat in a match on the open list."),
    ("decline", "Decline a proposed match."),
    ("withdraw", "Withdraw your proposal."),
):
    _simple(_name, _help)


@play.command()
@click.argument("match")
@click.argument("text", nargs=-1, required=True)
@click.option("--public", is_flag=True, help="For observers, too.")
@_yes
@_table
def press(table: Table, match: str, text: tuple[str, ...], public: bool, yes: bool) -> None:
    """Write to the other players of a match."""
    _tell(table, f"press {match}" + (" public" if public else ""), yes, match=match, text=" ".join(text))


def _tell(table: Table, words: str, yes: bool, *, match: str = "", text: str = "") -> None:
    with troubles():
        table.fetch()
        click.echo("\n".join(filter(None, [words, text])))
        _ask(table, yes)
        table.settle(table.letters.tell(words, _now(), match=match, text=text))


def _sentence(name: str, help_: str, argument: str = "") -> None:
    """A sentence about a running match, with a word after it or without."""

    @play.command(name, help=help_)
    @click.argument("match")
    @click.argument("word", nargs=1 if argument else -1, metavar=argument or "")
    @_yes
    @_table
    def command(table: Table, match: str, word: str | tuple[str, ...], yes: bool) -> None:
        if isinstance(word, tuple) and word:
            raise click.UsageError(f"{name} wants nothing behind {match}")
        with troubles():
            table.fetch()
            words = f"{name} {match} {word if isinstance(word, str) else ''}".strip()
            standing = table.letters.standing(match)
            click.echo(f"{_title(table.letters, standing)}: {words}")
            _ask(table, yes, standing)
            table.settle(table.letters.say(match, words, _now()))


for _name, _help, _argument in (
    ("claim", "Claim the game from a player who missed the deadline and the grace period.", ""),
    ("draw", "Offer a draw, or answer such an offer.", "offer|accept|decline"),
    ("annul", "Offer to annul the match, or answer such an offer.", "offer|accept|decline"),
    ("extend", "Give your opponent more time, such as 3d.", "TIME"),
    ("clear", "Withdraw your orders for this turn, or your setup.", ""),
):
    _sentence(_name, _help, _argument)


@play.command()
@click.argument("match")
@_yes
@_table
def reveal(table: Table, match: str, yes: bool) -> None:
    """Reveal your secrets after a sealed game that did not end by its rules: after a resignation, say."""
    with troubles():
        table.fetch()
        standing = table.letters.standing(match)
        click.echo(f"{_title(table.letters, standing)}: {DOUBTFUL}")
        _ask(table, yes, standing)
        table.settle(table.agent.reveal(match, _now()))


DOUBTFUL = (
    "By what was told, the game goes on. Reveal your secrets only if it ended in another way, such as a resignation."
)
"""What is to be thought of where the server alone says that a sealed game is over."""


@play.command()
@click.argument("match")
@click.option("--whole", is_flag=True, help="The whole match, not only this game.")
@_yes
@_table
def resign(table: Table, match: str, whole: bool, yes: bool) -> None:
    """Resign the game, or the whole match."""
    with troubles():
        table.fetch()
        standing = table.letters.standing(match)
        words = f"resign {match} " + ("match" if whole else f"game {standing['game']}")
        click.echo(f"{_title(table.letters, standing)}: {words}")
        _ask(table, yes, standing)
        table.settle(table.letters.say(match, words, _now()))


@play.command()
@click.argument("words", nargs=-1, required=True)
@_table
def ask(table: Table, words: tuple[str, ...]) -> None:
    """Ask the server something that needs no signature, such as `list open`, and print its answer."""
    with troubles():
        table.fetch()
        sent = table.letters.ask(" ".join(words), _now())
        table.send()
        if table.wait(lambda _: _state(table.letters, sent) == "done", "the answer"):
            click.echo(clean(table.letters.memory.last_text()))
        else:
            click.echo("No answer yet.")


@play.command()
@click.argument("match", required=False)
@_table
def wait(table: Table, match: str | None) -> None:
    """Wait until it is your move, in a match or in any, or the match is over; `pbem play --wait` says how long."""
    with troubles():
        letters = table.letters

        def due(_: object) -> bool:
            return any(
                is_due(table, one)
                or (one["phase"] == "proposed" and not one["accepted"])
                or (one["match"] == match and one["phase"] in OVER)
                for one in letters.matches
                if match in {None, one["match"]}
            )

        if not table.wait(due, "your move"):
            click.echo("It is not your move.")
            sys.exit(3)
        _list(table)


@play.command()
@click.argument("match")
@_table
def letter(table: Table, match: str) -> None:
    """Print the last letter about a match, as it came."""
    with troubles():
        table.fetch()
        found = table.letters.memory.text(match)
        if found is None:
            raise Impossible(f"No letter about {match} has come.")
        click.echo(clean(f"{found[0]}\n\n{found[1]}"))


@play.command()
@click.argument("match")
@_table
def verify(table: Table, match: str) -> None:
    """Verify a match's bundle again, and compare all its letters with it."""
    with troubles():
        table.fetch()
        if not _proved(table.letters, match):
            sys.exit(1)


def _prove(letters: Correspondence, events: Sequence[Event]) -> None:
    """Verify each match whose game has ended by these letters."""
    for name in dict.fromkeys(event.match for event in events if event.kind == "news"):
        ended = len(letters.standing(name)["ended"])
        if ended and letters.memory.bundle(name) and letters.memory.fact(f"proved {name}") != str(ended):
            _proved(letters, name)
            letters.memory.know(f"proved {name}", str(ended))


def _proved(letters: Correspondence, name: str) -> bool:
    from pbem.player.proving import prove

    proof = prove(letters.memory, name)
    if proof is None:
        raise Impossible(f"No bundle of {name} has come: it comes when a game has ended.")
    last = proof.checks[-1]
    if not last.holds:
        click.echo(f"{name}: the proof FAILS: {_line(last.found)}", err=True)
        return False
    for accused in proof.accusing:
        for finding in accused.findings:
            click.echo(f"{name}: {_line(accused.kept.subject)}: {finding.standing}: {_line(finding.found)}", err=True)
    if proof.accusing:
        click.echo(f"{name}: your letters say otherwise than the bundle.", err=True)
        return False
    agreeing = sum(letter.standing == "agrees" for letter in proof.letters)
    click.echo(f"{name}: verified: {len(proof.checks)} checks hold, and {agreeing} of your letters agree.")
    return True


# Words.


def _tell_event(event: Event) -> None:
    match event.kind:
        case "news":
            click.echo(f"Came: {_line(event.subject)}")
        case "answer" if event.said == "refused":
            assert event.sent is not None
            click.echo(f"Refused: {_about(event.sent)}:", err=True)
            for fault in event.faults:
                click.echo(f"  - {_line(fault)}", err=True)
        case "answer" if event.sent is not None and event.sent.command == "register":
            pass  # the challenge says so
        case "answer":
            assert event.sent is not None
            click.echo(f"Answered: {_about(event.sent)}: {_OUTCOMES.get(event.said, _line(event.said))}.")
        case "challenge":
            click.echo("The server asks your key to prove itself.")
        case "account":
            code = f". Your recovery code, to be kept somewhere else: {_line(event.said)}"
            click.echo(f"Registered{code if event.said else ', without a key'}")
        case "forged":
            click.echo(f"NOT BELIEVED: “{_line(event.subject)}”: {_line(event.said)}", err=True)
        case "doubled":
            click.echo(f"Came again, and changes nothing: {_line(event.subject)}")
        case "contradiction":
            click.echo(f"ALARM: “{_line(event.subject)}”: {_line(event.said)}", err=True)
        case "bounced":
            assert event.sent is not None
            click.echo(
                f"CAME BACK: {_about(event.sent)} did not reach the server. The same again sends it once more.",
                err=True,
            )
        case "foreign" | "unpinned" | "open":
            pass  # other mail, and what may be judged later


_OUTCOMES = {
    "done": "done",
    "asked": "something is asked first; read the letter",
    "again": "it had its effect before",
}


def _about(sent: Sent) -> str:
    """A letter of the player's in a few words."""
    if sent.command == "ask":
        return sent.form.strip()
    return " ".join(
        filter(None, [sent.command, sent.match, sent.place if sent.command in {"orders", "setup"} else ""])
    )


def _indented(text: str) -> str:
    return "".join(f"    {line}\n" for line in text.splitlines())


def _line(text: str) -> str:
    """Others' words within a line of ours: they stay within the line, and cannot begin one of their own."""
    return clean(text).replace("\n", "\\n")[:_LONGEST]


def clean(text: str) -> str:
    """Others' words: nothing in them can move the cursor."""
    return "".join(char if char.isprintable() or char == "\n" else ascii(char)[1:-1] for char in text)
