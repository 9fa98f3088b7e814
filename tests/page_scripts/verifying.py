"""The page's verifier, in an engine without a browser: its checks of a bundle."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec.structs import replace
from page_scripts.javascript import Scripts

from pbem.desk.public import signed_form
from pbem.pages.match_page import checking, packed
from pbem.proof import bundle

if TYPE_CHECKING:
    from pbem.proof.bundle import Bundle

RUN = """async (packed) => {
    const found = [];
    for await (const check of VERIFY.run(packed)) found.push(check);
    return found;
}"""

PUBLIC = RUN.replace("async (packed)", "async ([packed, forms])").replace("run(packed)", "run(packed, forms)")
"""The same of a bundle without letters, and of their signed forms."""


def checks(verifier: Scripts, found: Bundle) -> list[dict[str, Any]]:
    """The page's checks of the bundle in it."""
    terms = found.entries[0].body.get("terms", {})
    if terms.get("sealed") and terms["game"] != "spaceships":
        verifier = Scripts(*checking(terms["game"], sealed=True))
    said: list[dict[str, Any]] = verifier.evaluate(RUN, packed(bundle.write(found)))
    return said


def fails(verifier: Scripts, found: Bundle) -> str | None:
    """The failing check, the last one."""
    said = checks(verifier, found)
    assert False not in [one["holds"] for one in said[:-1]]
    return said[-1]["said"] if said[-1]["holds"] is False else None


def published(verifier: Scripts, found: Bundle) -> list[str]:
    """The checks that fail or stay open on a public page, which has signed forms in place of letters."""
    forms, players = {}, found.entries[0].body["players"]
    for path, letter in found.papers.items():
        if path.startswith("letters/game-"):
            name = path.removeprefix("letters/").removesuffix(".eml")
            forms[name] = signed_form(letter, "play.example", players[name[-1]]["keys"])
    assert None not in forms.values()
    papers = {path: paper for path, paper in found.papers.items() if not path.startswith("letters/")}
    said = verifier.evaluate(PUBLIC, [packed(bundle.write(replace(found, papers=papers))), forms])
    return [one["said"] for one in said if one["holds"] is not True]
