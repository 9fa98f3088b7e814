"""A language that nobody speaks, made of all messages: what stands in English in its letters is in no catalogue."""

from __future__ import annotations

import html
import re
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from in_a_box.outside import MARBLES, enabled
from in_a_box.referee import Referee, body, form_in, placed
from judges.messages import pseudo_language, pseudo_last_line

from pbem.games.outside import template_folders
from pbem.letters.render import Templates
from pbem.match.changed import replace

if TYPE_CHECKING:
    from collections.abc import Iterator
    from email.message import EmailMessage
    from pathlib import Path

TAG = "eo"
"""Esperanto's: of every language its dates and lists come from Unicode's tables, so it must be one."""

TYPED = re.compile(
    r"^>.*|^new \w+ with .*|^[a-z]+: \w+$"
    r"|^ *(?:(?:accept|claim|confirm|draw|orders|setup|server|player|prev|rev|sha256|head|signature|key) .*)$"
    r"|^(?:final|end|(?:game|turn) [0-9]+)$|^ {4}(?:ssh-keygen|pbem) .*|`[^`]*`"
    r"|^  (?:composer|encrypted|format|language|mail|program|reminders|timezone) .*"
    r"|^  [a-z]+ (?=⟦|[a-z0-9:]+$)|[0-9a-f]{16,}|\S+@\S+"
    r"|\S+\.(?:txt|json|zip|sha256|sig)\b|play\.example|Europe/Berlin|(?:ssh )?SHA256:\S+|(?<=⟦Ŕé: )orders",
    re.MULTILINE,
)
"""What is the same in every language: what was typed, forms, lines of a shell, names of files, hashes, addresses."""

NAMES = {
    *{"ann", "bob", "Marbles", "guess", "hide", "pbem", "UTC"},  # of people, of the game and its commands
    *{"kaj", "lundo", "mardo", "merkredo", "vendredo", "sabato", "Marto", "tagoj", "tago"},
}
"""What is a name, and what Unicode's tables say."""


@pytest.fixture
def referee(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Referee]:
    monkeypatch.setattr("in_a_box.referee.WHOLE", (pseudo_last_line("and send them:\n") + "\n",))
    pseudo_language(tmp_path / "templates", TAG, MARBLES)
    with enabled(tmp_path / "site"):
        referee = Referee(tmp_path, templates=Templates(*template_folders(), tmp_path / "templates"))
        yield referee
        referee.close()


def in_english(letter: EmailMessage) -> list[str]:
    """The English words of a letter: in the language of these tests every word has its marks."""
    texts = [str(letter["Subject"]), body(letter)]
    page = letter.get_body(("html",))
    if page is not None:
        bare = re.sub(r"<pre.*?</pre>|<code>.*?</code>|<[^>]*>", " ", page.get_content(), flags=re.DOTALL)
        texts.append(html.unescape(bare))
    left = " ".join(TYPED.sub(" ", text) for text in texts)
    return [word for word in re.findall(r"[^\W\d_]{2,}", left) if word.isascii() and word not in NAMES]


def test_every_word_of_a_match_comes_from_a_catalogue(referee: Referee) -> None:
    ann, bob = referee.agreed("kind: scored\ngames: 2\npace: 2d\ngrace: 1d\nmiss: wait", game="marbles")
    referee.config = replace(referee.config, language=TAG)
    referee.open_desk()
    before = len(ann.letters), len(bob.letters)
    referee.send(ann, ann.filled("setup", "hide 3"))
    referee.send(bob, bob.filled("setup", "hide 4"))
    referee.send(ann, ann.filled("orders", "guess 5").replace("turn 1", "turn 9"))
    referee.send(ann, ann.filled("orders", "final\nguess 5"))
    # Not `help`: it is full of what is typed; tests/letters/test_catalogues.py reads its templates.
    for words in (
        "status",
        "status m1",
        "diary m1",
        "report m1 all",
        "whoami",
        "list mine",
        "list open",
        "standings",
        "nonsense m1",
    ):
        referee.send(bob, words + "\n", sign=False)
    referee.wait(timedelta(days=1, hours=1))
    referee.send(ann, "extend m1 3d\n")
    referee.send(ann, "press m1\n2 + 2 = 4\nend\n")
    referee.send(bob, f"set timezone Europe/Berlin\n{placed(bob)}")
    referee.send(bob, "vacation 2026-03-10 to 2026-03-12\n")
    referee.send(bob, "draw m1 offer\n")
    referee.send(ann, form_in(ann.text, "draw"))
    referee.send(bob, bob.filled("setup", "hide 2"))
    referee.wait(timedelta(days=4))
    referee.send(bob, "resign m1 match\n")
    letters = [*ann.letters[before[0] :], *bob.letters[before[1] :]]
    assert len(letters) > 10
    found = [(str(letter["Subject"]), in_english(letter)) for letter in letters]
    assert [(subject, words) for subject, words in found if words] == []
