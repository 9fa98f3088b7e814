"""`pbem verify`: proves a match from its bundle alone, and compares kept letters with it; or proves a tournament.

Thin: the proof is in `pbem.proof.verification`, the comparison with letters in `pbem.proof.compare`, the proof of
tournaments in `pbem.proof.tournament_proof`.
docs/verification.md describes what `--json` prints.
"""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click
import msgspec

from pbem.cli.ending import Status, unreadable
from pbem.mail.message import Unreadable, read_letter
from pbem.match.transcript import sha256_hex, written_seconds
from pbem.phrase import harmless
from pbem.proof.bundle import LIMITS, NotABundle, is_tournament, load
from pbem.proof.compare.finding import CONVICTS
from pbem.proof.verification import Check, Proved
from pbem.proof.verification import verify as checks
from pbem.verifier_key import COSIGNATURE, VerifierKey

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from pbem.identity import Key
    from pbem.proof.compare.finding import Finding, JudgedLetter, Standing
    from pbem.proof.tournament_proof import TournamentCheck


_KEY = re.compile(r"[0-9a-fA-F]{64}")

_DOUBTFUL: frozenset[Standing] = frozenset({"broken", "open"})
_NOTHING: frozenset[Standing] = frozenset({"silent", "later"})

_WITHOUT_A_VERDICT = {"limits": Status.UNREADABLE, "version": Status.NOT_DONE}
"""The last checks after which nothing is known of a file, with their exit statuses."""

_RESULTS = {True: "ok  ", False: "FAIL", None: "OPEN"}

_SUMS: dict[Standing, str] = {
    "silent": "say nothing about this match",
    "agrees": "agree with the bundle",
    "later": "are later than the bundle",
    "open": "leave something open",
    "broken": "are damaged, and prove nothing",
    "contradicts": "contradict the bundle",
    "two stories": "prove that the server told two stories",
}
"""The end of the sentence that counts the letters of each standing."""


def _server_key(_: click.Context, __: click.Parameter, value: str | None) -> str | None:
    """Check the form of the option: a mistyped key would make an honest server look false."""
    if value is not None and not _KEY.fullmatch(value):
        raise click.BadParameter("a server's key has 64 hex digits")
    return value and value.lower()


@click.command()
@click.argument("bundle", type=click.Path(exists=True, path_type=Path))
@click.argument("more", nargs=-1, type=click.Path(exists=True, path_type=Path), metavar="[LETTER]...")
@click.option(
    "--against",
    multiple=True,
    metavar="LETTER",
    type=click.Path(exists=True, path_type=Path),
    help="A letter that you kept: a file, an mbox, a Maildir, or a folder of them. Any number of them may follow.",
)
@click.option(
    "--opponent",
    "opened",
    multiple=True,
    metavar="SEED",
    help="The seed of a program that played, or a file with the letter that opened it: did it see only its letters?",
)
@click.option(
    "--keys",
    "known",
    multiple=True,
    metavar="NAME=FILE",
    help="A player's public keys as you know them: .keys of a forge, authorized_keys, allowed_signers; - is a pipe.",
)
@click.option(
    "--witness",
    "witnesses",
    multiple=True,
    metavar="KEY",
    help="A witness of the server's log that you believe: name+hash+key. Needs the letters of --against.",
)
@click.option(
    "--server-key",
    metavar="HEX",
    callback=_server_key,
    help="The server's Ed25519 key as you know it, 64 hex digits.",
)
@click.option(
    "--bundles",
    metavar="DIR",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="The folder with the bundles of a tournament's matches: is each result that of its match?",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document: docs/verification.md.")
def verify(  # noqa: PLR0913, PLR0917 - options of a command
    bundle: Path,
    more: tuple[Path, ...],
    against: tuple[Path, ...],
    opened: tuple[str, ...],
    known: tuple[str, ...],
    witnesses: tuple[str, ...],
    server_key: str | None,
    bundles: Path | None,
    *,
    as_json: bool,
) -> None:
    """Verify a match or a tournament from its BUNDLE, without a server or a network.

    Checks the chain, the server's signatures, every player's signature, that each commitment opens, that every setup
    and order was legal, and that every turn replays to the very reports that were mailed. Each check gets a line; it
    stops at the first that fails, naming the entry and the reason.

    With --against, it then compares letters that a player kept with the bundle. This convicts a server that told two
    stories.

    With --opponent, it plays again the seat of the program that committed to this seed, from the reports that were
    mailed to it. This convicts a program that saw more.

    With --keys, it says of each key by which a player's letters counted whether it is one of those in your file.

    With --witness, the letters also show what others saw of the server's log: up to which entry, and when at the
    latest.

    Of a tournament, checks the chain, the signatures, the letters of entry, the lot, the pairings and the table; with
    --bundles also each match and its result, and with --against and --witness its place in the server's log.
    OPEN is what the files do not say, WORD what rests on a bare word.

    \b
    Exit status:
      0  everything holds, and every letter about the match agrees
      1  the bundle does not hold, a letter contradicts it,
         or a program saw more than its letters
      2  a file cannot be read, is larger than the limits, or was packed anew,
         or the command was written wrongly
      3  the bundle holds; but a letter is damaged or leaves something open,
         or none of the letters has anything to compare,
         or it cannot be said whether a program saw only its letters,
         or a key of a player is none of those that you know;
         or something is OPEN: rules that are not enabled, or of a tournament
      4  it could not be done: the file has a version that this pbem does not
         read, the disk is full, or nobody reads what it prints
    """  # noqa: D301 - click wants the very character
    if more and not against:
        raise click.UsageError("letters come after --against")
    if witnesses and not against:
        raise click.UsageError("what witnesses saw stands in letters: name some with --against")
    believed = witness_keys(witnesses)
    content = _loaded(bundle)
    asked = _Asked(bundle, content, server_key, [*against, *more], believed, as_json)
    if is_tournament(content):
        if opened or known:
            raise click.UsageError("these options are about a match, and this is a tournament")
        status = _tournament(asked, bundles)
    elif bundles:
        raise click.UsageError("--bundles is about a tournament, and this is a match")
    else:
        status = _match(asked, _seeds(opened), _known_keys(known))
    if status:
        sys.exit(status)


class _Asked(NamedTuple):
    """A bundle to be verified, and the key, letters and witnesses that it is compared with."""

    bundle: Path
    content: bytes
    server_key: str | None
    letters: Sequence[Path]
    witnesses: Sequence[VerifierKey]
    as_json: bool

    def print(self, found: Mapping[str, object]) -> None:
        """Print what was found as one document of JSON."""
        known = self.server_key is not None
        about = {"bundle": str(self.bundle), "sha256": sha256_hex(self.content), "server_key_known": known}
        click.echo(json.dumps({**about, **found}, indent=1, sort_keys=True))


def _match(asked: _Asked, seeds: Sequence[bytes], keys: Mapping[str, Sequence[Key]]) -> Status:
    """Verify a match, and print each finding at once; returns the exit status."""
    proved = Proved(keep_notices=bool(asked.letters or seeds))
    as_json, made = asked.as_json, list[Check]()
    for check in checks(asked.content, asked.server_key, proved):
        if not as_json:  # at once: a long match takes a while
            click.echo(f"{_RESULTS[check.holds]}  {check.what:<10} {check.found}")
        made.append(check)
    judged: list[JudgedLetter] = []
    seen: dict[str, tuple[int, int]] = {}
    played: list[Finding] = []
    owned: list[Finding] = []
    if holds := made[-1].holds:
        # Only whoever compares letters loads the modules that read them.
        if asked.letters:
            from pbem.proof.kept_letters import kept
            from pbem.proof.prove import against

            bench = against(proved, asked.witnesses)
            judged = [bench.judge(kept(source, raw)) for source, raw in kept_letters(asked.letters)]
            seen = bench.witnessed
        if seeds:
            from pbem.player.blind import replayed

            played = list(_printed("opponent", replayed(proved, seeds), as_json=as_json))
        if keys:
            from pbem.proof.known_keys import compared

            try:
                owned = list(_printed("keys", compared(proved.whole[0].entries, keys), as_json=as_json))
            except ValueError as error:
                raise click.UsageError(str(error)) from error
    findings = [*played, *owned]
    status = _status(made[-1], judged, findings, bool(asked.letters), len(seen) < len(asked.witnesses))
    if as_json:
        asked.print({"status": status, **_document(made, proved, judged, played, owned, seen)})
    elif holds:
        blind = not status and all(finding.standing == "agrees" for finding in findings)
        _print_witnesses(asked, seen, proved)
        _print_letters(judged, bool(asked.letters), blind)
    return status


def _tournament(asked: _Asked, folder: Path | None) -> Status:
    """Verify a tournament, and print each check at once; returns the exit status."""
    from pbem.proof.kept_letters import kept
    from pbem.proof.tournament_proof import compared, verify_tournament

    bundles = None if folder is None else (_loaded(path) for path in sorted(folder.rglob("*.zip")))
    made: list[TournamentCheck] = []

    def take(checks_: Iterable[TournamentCheck]) -> None:
        for check in checks_:
            made.append(check)
            if not asked.as_json:
                click.echo(harmless(f"{check.standing:<4}  {check.what:<10} {check.found}"))

    take(verify_tournament(asked.content, bundles, asked.server_key))
    if asked.letters and made[-1].what == "table":  # its own file holds
        letters = (kept(source, raw) for source, raw in kept_letters(asked.letters))
        take(compared(asked.content, letters, asked.witnesses))
    standings = {check.standing for check in made}
    status = Status.REFUSED if "FAIL" in standings else Status.OPEN if "OPEN" in standings else Status.WELL
    status = _WITHOUT_A_VERDICT.get(made[-1].what, status)
    if asked.as_json:
        told = {"pbem": "tournament verification 1", "status": status, "checks": msgspec.to_builtins(made)}
        asked.print(told)
    elif not status:
        click.echo("Everything holds.")
    return status


def _loaded(bundle: Path) -> bytes:
    try:
        return load(bundle)
    except NotABundle as error:
        raise unreadable(f"{bundle}: {error}") from error
    except OSError as error:
        raise unreadable(f"{bundle} cannot be read: {error.strerror}") from error


def _seeds(opened: Sequence[str]) -> list[bytes]:
    """The seeds of these options, each a seed itself or a file with letters that contain some."""
    if not opened:
        return []
    from pbem.player.blind import seeds

    all_seeds: list[bytes] = []
    for option in opened:
        own = seeds(option)
        for _, raw in () if own else kept_letters([Path(option)]):
            with suppress(Unreadable):
                own += seeds(read_letter(raw).text or "")
        if not own:
            raise click.UsageError(f"{option} holds no seed: 32 hex digits")
        all_seeds += own
    return all_seeds


def _printed(about: str, findings: Iterable[Finding], *, as_json: bool) -> Iterator[Finding]:
    """Print each finding at once."""
    for finding in findings:
        if not as_json:
            result = {"agrees": "ok  ", "open": "OPEN"}.get(finding.standing, "FAIL")
            click.echo(harmless(f"{result}  {about:<10} {finding.what}: {finding.found}"))
        yield finding


def _known_keys(options: Sequence[str]) -> dict[str, list[Key]]:
    """The keys of players, by name; a name may come with several files."""
    if not options:
        return {}
    from pbem.proof.known_keys import keys_in

    known: dict[str, list[Key]] = {}
    for option in options:
        name, given, file = option.partition("=")
        if not given:
            raise click.UsageError(f"{option}: write NAME=FILE, with the name of a player")
        try:
            with click.open_file(file, "rb") as source:
                octets = source.read(LIMITS.paper_octets + 1)
            if len(octets) > LIMITS.paper_octets:
                raise click.UsageError(f"{file} is no file of public keys: it is too long")
            known.setdefault(name, []).extend(keys_in(octets.decode("utf-8", "replace")))
        except OSError as error:
            raise click.UsageError(f"{file} cannot be read: {error.strerror}") from error
        except ValueError as error:
            raise click.UsageError(f"{file} is no file of public keys: {error}") from error
    return known


def witness_keys(texts: Sequence[str]) -> list[VerifierKey]:
    """The keys of witnesses, each once; raises click.UsageError. What is told of a witness is told by its name."""
    found: list[VerifierKey] = []
    for text in texts:
        try:
            key = VerifierKey.read(text)
        except ValueError as error:
            raise click.UsageError(f"{text}: {error}") from error
        if key.kind != COSIGNATURE:
            raise click.UsageError(f"{text}: that is the key of a log, not of a witness")
        if any(other.name == key.name for other in found if other != key):
            raise click.UsageError(
                f"{text}: another witness of this name was named before; ask for one after the other"
            )
        if key not in found:
            found.append(key)
    return found


def kept_letters(places: Sequence[Path]) -> Iterator[tuple[str, bytes]]:
    """The letters of these places, up to the limit; raises click.UsageError."""
    from pbem.mail.folders import letters

    count = octets = 0
    for place in places:
        try:
            for source, raw in letters(place, LIMITS.kept_octets):
                count, octets = count + 1, octets + len(raw)
                if count > LIMITS.letters or octets > LIMITS.all_kept_octets:
                    most = f"{LIMITS.letters:,} letters, or than {LIMITS.all_kept_octets:,} octets of them"
                    raise click.UsageError(f"{source}: more than {most}; give fewer at once")
                yield source, raw
        except OSError as error:
            raise click.UsageError(f"{error.filename or place} cannot be read: {error.strerror}") from error


def _status(
    last: Check, judged: Sequence[JudgedLetter], played: Sequence[Finding], asked: bool, unseen: bool
) -> Status:
    """The exit status; `unseen` if no letter shows what a named witness saw."""
    if last.what in _WITHOUT_A_VERDICT:
        return _WITHOUT_A_VERDICT[last.what]
    letters_ = {letter.standing for letter in judged}
    standings = letters_ | {finding.standing for finding in played}
    if last.holds is False or standings & CONVICTS:
        return Status.REFUSED
    if last.holds is None or standings & _DOUBTFUL or (asked and letters_ <= _NOTHING) or unseen:
        return Status.OPEN
    return Status.WELL


def _print_witnesses(asked: _Asked, seen: Mapping[str, tuple[int, int]], proved: Proved) -> None:
    last = len(proved.bundle.entries) if proved.bundle else 0
    for name in dict.fromkeys(key.name for key in asked.witnesses):
        if name in seen:
            seq, at = seen[name]
            by = f"by {written_seconds(at)} at the latest"
            click.echo(f"{name} saw entry {seq} of {last} in the server's log, {by}.")
        else:
            click.echo(f"{name}: no letter shows that it saw an entry of this match.")


def _print_letters(judged: Sequence[JudgedLetter], asked: bool, blind: bool) -> None:
    """Print the letters about the match, each with its findings, and a summary."""
    for letter in judged:
        if letter.standing != "silent":
            click.echo(harmless(f"{letter.standing}: {letter.kept.subject[:100]} {letter.kept.message_id or ''}"))
            for line in (letter.kept.source, *_lines(letter)):
                click.echo(f"    {harmless(line)}")
    counted = Counter(letter.standing for letter in judged)
    for standing, does in _SUMS.items():
        if counted[standing]:
            click.echo(f"Letters that {does}: {counted[standing]}")
    # The worst finding decides the last line, as it decides the exit status.
    worst = {letter.standing for letter in judged}
    if worst & CONVICTS:
        click.echo("The bundle is valid on its own, but the letters contradict it.")
    elif worst & _DOUBTFUL:
        click.echo("The bundle holds, and no letter contradicts it; look at what is damaged or left open.")
    elif asked and worst <= _NOTHING:
        click.echo("The bundle holds, but there was no letter to compare it with.")
    elif blind:
        click.echo("Everything holds.")


def _lines(letter: JudgedLetter) -> Iterator[str]:
    """Agreement on one line, anything else on separate lines."""
    agreed = [
        f"{finding.what} ({finding.found})" if finding.found else finding.what
        for finding in letter.findings
        if finding.standing == "agrees"
    ]
    if agreed:
        yield f"agrees: {'; '.join(agreed)}"
    for finding in letter.findings:
        if finding.standing != "agrees":
            yield f"{finding.standing}: {finding.what}: {finding.found}"


def _document(
    made: Sequence[Check],
    proved: Proved,
    judged: Sequence[JudgedLetter],
    played: Sequence[Finding],
    owned: Sequence[Finding],
    seen: Mapping[str, tuple[int, int]],
) -> dict[str, object]:
    match = proved.match
    return {
        "pbem": "verification 1",
        "witnessed": {name: {"seq": seq, "time": written_seconds(at)} for name, (seq, at) in seen.items()},
        "holds": made[-1].holds,
        "server": match.server if match else None,
        "server_key": proved.server_key,
        "match": match.id if match else None,
        "checks": msgspec.to_builtins(made),
        "result": dict(match.outcome) if match and match.outcome else None,
        "scores": list(match.totals) if match else None,
        "opponents": msgspec.to_builtins(played),
        "keys": msgspec.to_builtins(owned),
        "letters": [
            {
                "source": letter.kept.source,
                "message_id": letter.kept.message_id,
                "subject": letter.kept.subject,
                "standing": letter.standing,
                "findings": msgspec.to_builtins(letter.findings),
            }
            for letter in judged
        ],
    }
