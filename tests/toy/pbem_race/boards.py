"""The track of the race, drawn: thirty fields in a curve, and a piece of each seat."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from pbem.boards.drawn import DrawnBoard, mark
from pbem.phrase import Phrase

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

FIELD = Markup('<circle cx="{x}" cy="{y}" r="14" fill="{fill}" stroke="#a8a29e"/>')
NUMBER = Markup('<text x="{x}" y="{y}" font-size="11" text-anchor="middle" dominant-baseline="central">{at}</text>')
TRACK = Markup(
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 400 130" font-family="sans-serif">'
    '<rect width="400" height="130" fill="#fbfbfa"/>{fields}{pieces}</svg>'
)


def _place(at: int) -> tuple[int, int]:
    """The middle of a field: the track winds in three rows of ten, from the start below."""
    row, column = divmod(min(at, 30), 10)
    return 40 + 35 * (column if row % 2 == 0 else 9 - column), 110 - 30 * row


def boards(view: Mapping[str, Any]) -> list[DrawnBoard]:
    scores = view["scores"]
    fields = Markup("").join(
        Markup("").join(
            (FIELD.format(x=x, y=y, fill="#bbf7d0" if at == 30 else "#f1efec"), NUMBER.format(x=x, y=y, at=at))
        )
        for at, (x, y) in enumerate(map(_place, range(31)))
    )
    pieces = Markup("").join(
        mark(seat, x, y - 8 * (seat == 1) + 8 * (seat == 2), 8)
        for seat, (x, y) in enumerate(map(_place, scores), start=1)
    )
    words = Phrase("A track of thirty fields: seat 1 is on field {first}, seat 2 on field {second}.", **_at(scores))
    return [DrawnBoard(0, TRACK.format(fields=fields, pieces=pieces), words)]


def _at(scores: Sequence[int]) -> dict[str, int]:
    return dict(zip(("first", "second"), scores, strict=True))


def truth(views: Mapping[int, Mapping[str, Any]], seat: int) -> list[DrawnBoard]:
    return boards(views[seat])


def blank() -> list[DrawnBoard]:
    return boards({"scores": [0, 0]})


def happened(reports: Sequence[Mapping[str, Any]]) -> None:
    del reports
