"""Letters about the open list carry the address of an invitation's page, where the server serves pages."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import pytest

if TYPE_CHECKING:
    from in_a_box.referee import Referee

PAGES = "https://play.example/pbem/"


@pytest.mark.parametrize(("language", "page"), [("en", "m1.html"), ("de", "m1.de.html")])
def test_an_invitation_is_passed_on_by_the_address_of_its_page(referee: Referee, language: str, page: str) -> None:
    referee.config = msgspec.structs.replace(referee.config, pages=PAGES)
    referee.open_desk()
    ann = referee.registered("ann")
    referee.send(ann, f"set language {language}\n")
    referee.send(ann, "new spaceships\nend\n")
    assert f"\n    {PAGES}{page}\n" in ann.text
    referee.send(ann, "list open\n")
    assert f"\n       {PAGES}{page}\n" in ann.text
