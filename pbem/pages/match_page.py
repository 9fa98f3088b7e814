"""The page of a match: its finished games to step through, and its bundle to be checked in the browser.

This module decides which parts of a bundle go into the page. The page's script draws and proves all of it from the
bundle's own bytes, with `templates/pages/replay/` and `verify.js`, so that nothing is drawn that is not proved.
Of a game of another package, the rules draw each turn, and nothing runs in the page. Nothing of a game that is not
revealed gets in. Implements protocol.md, "Transcript" and "Secrets".
"""

from __future__ import annotations

import base64
import re
from typing import TYPE_CHECKING, NamedTuple

from pbem.games import BUILT_IN, GAMES, part_of, parts, rules
from pbem.games.outside import PACKAGES, Package, is_agreed, not_enabled
from pbem.i18n import ENGLISH
from pbem.letters.safe_text import visible
from pbem.match import record
from pbem.match.events import BEGIN, OPEN
from pbem.pages import deflated, numbered_rulings, page, page_file, ruled, told
from pbem.phrase import Phrase
from pbem.proof import bundle
from pbem.proof.bundle import Bundle

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pbem.games import Report
    from pbem.match.record import Record


_OF_A_GAME = re.compile(r"[a-z]+/(?:replies-)?game-([0-9]+)[-.]")
_OF_AN_ENTRY = re.compile(r"[a-z]+/[a-z]+-([0-9]+)(?:-seat-|\.txt)")
_AT_ONCE = "letters/keys-"
"""Letters that opponents get at once, whatever game runs."""
_OF_THE_AGREEMENT = re.compile(r"[a-z]+/agreed-seat-")


class Witnessed(NamedTuple):
    """A match as witnesses saw it in its server's log (docs/witnesses.md)."""

    logged: Sequence[tuple[int, str]] = ()
    """Entries by their numbers, with the proof that the log has them."""
    keys: Sequence[str] = ()
    """The keys of those whose cosignatures the reader may look for there."""


NOBODY = Witnessed()


class OnSite(NamedTuple):
    """The place of a page on the site of a server."""

    home: str = ""
    """The name of the first page; "" for a page that is alone."""
    files: Sequence[tuple[str, str, str | None]] = ()
    """This page in each language: its tag, the file, and what the language calls itself."""


ALONE = OnSite()


def replay(
    found: Bundle,
    *,
    press: Sequence[Mapping[str, object]] = (),
    forms: Mapping[str, str] | None = None,
    witnessed: Witnessed = NOBODY,
    on_site: OnSite = ALONE,
    seat: int = 0,
    language: str = ENGLISH,
) -> str:
    """The page of a bundle; raises KeyError and TypeError for a transcript that does not begin properly.

    Raises ValueError if its game is of a package that is not enabled.

    `press` is what players wrote to all: `game`, `turn`, `by` and `text` of each. `forms` are the signed
    forms of letters, by the letters' names, for a bundle without letters. `seat` is the reader's own, 0 if none is.
    """
    agreed = found.entries[0].body
    game, sealed = str(agreed["terms"]["game"]), bool(agreed["terms"].get("sealed"))
    if game not in GAMES:
        raise ValueError(not_enabled(game))
    title = Phrase(
        "{title}: {names} ({match} at {server})",
        title=rules(game).title,
        names=", ".join(visible(agreed["players"][seat]["name"]) for seat in sorted(agreed["players"])),
        match=visible(agreed["match"]),
        server=visible(agreed["server"]),
    )
    shown: dict[str, object] = {
        "game": game,
        "game_title": rules(game).title,
        "rules": page_file(f"rules-{game}", language) if on_site.home else "",
        "home": on_site.home,
        "index": page_file("index", language),
        "files": on_site.files,
    }
    if game not in BUILT_IN:
        shown |= _turn_by_turn(found, press, seat or 1)
        return page("turns", title, (), shown=shown, allowed=_DRAWN, language=language)
    scripts = (*checking(game, sealed=sealed), "board.js", "scene.js", "witness.js", f"replay/{game}.js", "replay.js")
    data = {
        "title": rules(game).title,
        "seat": seat,
        "sealed": sealed,
        "bundle": packed(bundle.write(revealed(found))),
        "decisive": {str(number): turn for number, turn in decisive_turns(found).items()},
        "press": [dict(one) for one in press],
        "forms": dict(forms) if forms is not None else None,
        "logged": [{"seq": seq, "proof": proof} for seq, proof in witnessed.logged],
        "witnesses": list(witnessed.keys),
    }
    shown |= {
        "rulings": numbered_rulings(game, language),
        "public": forms is not None,
        "named": bool(witnessed.keys),
        "sealed": sealed,
    }
    return page("replay", title, scripts, shown=shown, data=data, language=language)


_DRAWN = "style-src-attr 'unsafe-inline'; img-src data:; "
"""The policy of boards that are drawn as in letters."""


def _turn_by_turn(found: Bundle, press: Sequence[Mapping[str, object]], seat: int) -> dict[str, object]:
    """The revealed games of a bundle for the template `turns.html`, each turn drawn by the rules that are here."""
    agreed, open_now = found.entries[0].body, revealed(found)
    game, match = str(agreed["terms"]["game"]), str(agreed["match"])
    names = {int(each): visible(player["name"]) for each, player in sorted(agreed["players"].items())}
    records = [record.read(open_now.papers[name].decode()) for name in open_now.papers if _RECORD.fullmatch(name)]
    package = Package.read(agreed["terms"]["rules_package"])
    return {
        "names": names,
        "seat": seat,
        "drawn": part_of(game, "boards") is not None,
        "games": [
            {"number": one.round or 1, "scores": _scores(one, names), "turns": list(_turns(one, names, press, seat))}
            for one in sorted(records, key=lambda one: one.round or 1)
        ],
        "bundle": base64.b64encode(bundle.write(open_now)).decode(),
        "file": f"{visible(match)}.pbem.zip",
        "package": PACKAGES[game],
        "agreed": is_agreed(game, package),
    }


def _scores(game: Record, names: Mapping[int, str]) -> dict[str, int]:
    return dict(zip(names.values(), game.result.scores if game.result else (), strict=False))


def _turns(
    game: Record, names: Mapping[int, str], press: Sequence[Mapping[str, object]], seat: int
) -> Iterator[dict[str, object]]:
    """Each turn of a game: what everybody could read of it then, and how things truly stood after it."""
    judge, drawer = rules(game.game), part_of(game.game, "boards")
    told: list[Sequence[Report]] = []
    for number, (_, reports, after) in enumerate(record.replayed(game)):
        if number == 0:
            continue
        told.append(reports)
        shown = [one for report in reports if (one := judge.show(report, None)) is not None]
        truth = parts.views(judge, after, len(names), told)
        place = {"game": game.round or 1, "turn": number}
        yield {
            "number": number,
            "orders": {names[each]: text for each, text in sorted(game.turns[number - 1].orders.items())},
            "reports": shown,
            "truth": truth,
            "boards": drawer.truth(truth, seat) if drawer else (),
            "happened": drawer.happened(shown) if drawer else None,
            "press": [said for said in press if place.items() <= said.items()],
        }


def checking(game: str, *, sealed: bool) -> tuple[str, ...]:
    """The scripts that check a bundle: those of a sealed match know the game, too, and fold its steps."""
    known = (*ruled(game), f"sealed/{game}.js", "fold.js") if sealed else told(game)
    return ("say.js", *known, "bundle.js", "ed25519.js", "sshsig.js", "verify.js")


def revealed(found: Bundle) -> Bundle:
    """The bundle with only the papers of revealed games, without those of the running game."""
    if found.entries[-1].type == "closed":
        return found
    ends = {entry.body.get("game") for entry in found.entries if entry.type in OPEN}
    begun = [entry for entry in found.entries if entry.type in BEGIN and entry.body.get("game") not in ends]
    runs_from = begun[0].seq if begun else len(found.entries) + 1

    def open_by_now(path: str) -> bool:
        if game := _OF_A_GAME.match(path):
            return int(game[1]) in {0, *ends}  # the replies to invitations are of game 0
        if entry := _OF_AN_ENTRY.match(path):
            return int(entry[1]) < runs_from or path.startswith(_AT_ONCE)
        return _OF_THE_AGREEMENT.match(path) is not None

    papers = {path: content for path, content in found.papers.items() if open_by_now(path)}
    return Bundle(found.entries, found.signatures, papers)


_RECORD = re.compile(r"records/game-([1-9][0-9]*)\.pbem\.toml")


def decisive_turns(found: Bundle) -> dict[int, int]:
    """The decisive turns of a bundle's revealed games, by game, without those whose records are not legal."""
    games = {int(path[1]): content for name, content in found.papers.items() if (path := _RECORD.fullmatch(name))}
    decided: dict[int, int] = {}
    for number, content in sorted(games.items()):
        try:
            read = record.read(content.decode())
            if read.game in BUILT_IN:
                decided[number] = decisive_turn(read)
        except ValueError:
            continue  # no record, or an illegal one: the page's proof tells of it
    return decided


def decisive_turn(game: Record) -> int:
    """The turn that cost the losers most beyond what it cost the winner, or all most where nobody won.

    0 if no turn cost anybody anything. Raises `Illegal` for a record that is not legal.
    """
    left, winner = part_of(game.game, "boards").materiel, game.result.winner if game.result else 0
    played = list(record.replayed(game))

    def swing(turn: int) -> int:
        before, _, after = played[turn]
        cost = [had - has for had, has in zip(left(before), left(after), strict=True)]
        return sum(-lost if seat == winner else lost for seat, lost in enumerate(cost, start=1))

    return max(range(len(played)), key=swing)


def packed(content: bytes) -> str:
    """Octets as a page carries them."""
    return base64.b64encode(deflated(content)).decode()
