"""The filter `wordwrap` of our templates gives what jinja2's own gives."""

from __future__ import annotations

import pytest
from jinja2.filters import do_wordwrap

from pbem.letters.render import Templates


@pytest.mark.parametrize("text", ["", "Gx3 ", "  indented", "a\n\nb  \n ", "Rw1 Rw2 Rw3 Rw4", "a\nRw1 Rw2 Rw-5"])
@pytest.mark.parametrize("wrapstring", ["\n", "\n> "])
def test_wordwrap_of_lines_that_fit_is_that_of_jinja2(text: str, wrapstring: str) -> None:
    environment = Templates().environment
    wrapped = environment.filters["wordwrap"](environment, text, 14, False, wrapstring, False)
    assert wrapped == do_wordwrap(environment, text, 14, False, wrapstring, False)
