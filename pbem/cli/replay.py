"""`pbem replay`: game records in, what happened in them out, for people or as JSON.

Here live the reading of files, the exit status and the printing; `match/record` does all the judging. Imports
nothing of mail, database or cryptography. Implements record-format.md, "`pbem replay FILE... [--json]`".
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from pbem.cli.ending import Status
from pbem.match.record import Illegal, NotARecord, read
from pbem.match.record import replay as played
from pbem.phrase import harmless

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pbem.match.record import Record, Replay


LARGEST: Final = 16 << 20
"""Bytes of a file; a game of a thousand turns has less than one mebibyte."""


@click.command()
@click.argument("files", nargs=-1, required=True, metavar="FILE...", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object for each file, each on one line.")
def replay(files: tuple[Path, ...], *, as_json: bool) -> None:
    """Replay game records (.pbem.toml) by the rules, and print what happened.

    Exit status 0: all are legal, and their results, if stated, agree. 1: one is not; turn, seat and order are named.
    2: one cannot be read as a record. With several files, the highest status counts. 4: it could not be done.
    """
    worst = Status.WELL
    for file in files:
        status, found, account = _judge(file)
        worst = max(worst, status)
        if as_json:
            click.echo(json.dumps(found))
        else:
            for line in account:
                click.echo(harmless(line))
    sys.exit(worst)


def _judge(file: Path) -> tuple[Status, dict[str, object], Iterator[str]]:
    """Exit status, JSON object and text for people, for one file."""
    try:
        record = read(_text(file))
        replayed = played(record)
    except NotARecord as error:
        return Status.UNREADABLE, _error(None, 0, None, None, str(error)), iter([f"{file}: {error}"])
    except Illegal as illegal:
        refused = _error(illegal.game, illegal.turn, illegal.seat, illegal.order, illegal.message)
        where = f"turn {illegal.turn}" if illegal.turn else "before turn 1"
        where += "" if illegal.seat is None else f", seat {illegal.seat}"
        where += "" if illegal.order is None else f", `{' '.join(illegal.order.split())}`"
        return Status.REFUSED, refused, iter([f"{file}: refused, {where}: {illegal.message}"])
    turns = [{"turn": number, "reports": list(reports)} for number, reports in enumerate(replayed.turns, start=1)]
    found: dict[str, object] = {"game": record.game, "turns": turns, "result": replayed.result}
    return Status.WELL, found, _story(file, record, replayed)


def _text(file: Path) -> str:
    try:
        with file.open("rb") as source:
            data = source.read(LARGEST + 1)
    except OSError as error:
        raise NotARecord(f"cannot be read: {error.strerror}") from error
    except ValueError as error:  # a NUL in the name
        raise NotARecord(f"cannot be read: {error}") from error
    if len(data) > LARGEST:
        raise NotARecord("too large for a record")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise NotARecord("not UTF-8") from error


def _error(game: str | None, turn: int, seat: int | None, order: str | None, message: str) -> dict[str, object]:
    return {"game": game, "error": {"turn": turn, "seat": seat, "order": order, "message": message}}


def _story(file: Path, record: Record, replayed: Replay) -> Iterator[str]:
    names = {seat: name or f"seat {seat}" for seat, (name, _) in enumerate(record.seats, start=1)}
    yield f"{file}: {record.game}, {' against '.join(names.values())}"
    for number, (turn, reports) in enumerate(zip(record.turns, replayed.turns, strict=True), start=1):
        yield f"Turn {number}"
        for seat, orders in sorted(turn.orders.items()):
            yield f"  {names[seat]}: {' '.join(orders.split()) or 'no orders'}"
        for report in reports:
            # One report in a line: whose, what kind, then its other fields, whatever the game.
            rest = dict(report)
            head = [names[rest.pop("seat")]] if "seat" in rest else []
            head.append(str(rest.pop("kind", "")))
            yield f"    {' '.join([*head, *(_field(key, value) for key, value in rest.items())])}"
    result = replayed.result
    scores = ", ".join(f"{names[seat]} {score}" for seat, score in enumerate(result["scores"], start=1))
    if not result["over"]:
        yield f"Not over. {scores}"
    else:
        shared = " and ".join(names[seat] for seat in result.get("winners", ()))
        winner = (
            f"{names[result['winner']]} wins" if result["winner"] else f"{shared} share it" if shared else "A draw"
        )
        yield f"{winner} ({result['reason']}). {scores}"


def _field(key: str, value: object) -> str:
    if isinstance(value, bool):
        return key if value else f"not {key}"
    if key in ("cell", "square", "result"):
        return str(value)
    return f"{key}: {_value(value)}"


def _value(value: object) -> str:
    if isinstance(value, dict):
        named = any(key.isupper() for key in value)  # by names, such as ships' letters: else they go without saying
        each = [f"{key} {_value(inner)}" if named else _value(inner) for key, inner in value.items()]
        return (", " if named else " ").join(each) or "nothing"
    if isinstance(value, (list, tuple)):
        return ", ".join(map(_value, value)) if any(isinstance(x, dict) for x in value) else " ".join(map(str, value))
    if isinstance(value, bool):
        return "destroyed" if value else "undamaged"
    return "nothing" if value is None else str(value)
