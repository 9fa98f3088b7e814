"""The example of a setup in the letters, which everybody has read: whoever sends it hides nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pbem.games import Refused, part_of, rules

if TYPE_CHECKING:
    from pbem.games import Options


def is_the_example(game: str, options: Options, seat: int, text: str) -> bool:
    """True if a legal setup, in canonical text, is the example that the letters show to its seat."""
    example = getattr(part_of(game, "words"), "example", None)
    if example is None:  # of some games all setups are shown anyway
        return False
    try:
        return rules(game).setup(options, seat, example(options.changed, seat)).text == text
    except Refused:
        return False
