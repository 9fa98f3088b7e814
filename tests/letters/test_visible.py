"""Others' characters in our letters: what would be hidden is seen, and what looks alike can be told apart."""

from __future__ import annotations

import pytest

from pbem.games import Fault
from pbem.letters.safe_text import escaped, visible
from pbem.phrase import Phrase


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("plain\nlines\n", "plain\nlines\n"),
        ("Zo\xeb \u2014 \u0416\n", "Zo\xeb \u2014 \u0416\n"),
        ("a\tb\xa0c\nd\x07\u202ee", "a b c\nd\\x07\\u202ee"),
    ],
)
def test_nothing_is_hidden(text: str, seen: str) -> None:
    assert visible(text) == seen


def test_what_looks_alike_can_be_told_apart_and_names_stay_as_they_are() -> None:
    says = Phrase(
        "{who} and {other} of {number}", who="Zo\xeb\xd7\xb5", other=Phrase("{name}", name="\u0410nn"), number=3
    )
    fault = escaped(Fault("12", "R\u04431", says))
    assert (fault.rule, fault.token) == ("12", "R\\u04431")
    assert fault.message == "Zo\xeb\\xd7\\xb5 and \\u0410nn of 3"
    assert escaped(Fault("12", None, says)).token is None
