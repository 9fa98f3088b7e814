"""The diary of a match: it has words for whatever is entered."""

from __future__ import annotations

from pbem.i18n import template_folder
from pbem.match import events


def test_the_diary_has_words_for_every_type_of_entry() -> None:
    diary = (template_folder() / "answers" / "diary.txt").read_text("utf-8")
    for kind in events.TYPES.values():
        assert (f'kind == "{kind.name}"' in diary) != kind.silent, kind.name
