"""The pages of a server as plain files: first page, composers, invitations, matches, tournaments.

This module brings a folder up to date: only files that changed are written, and outdated ones are removed if they are
ours. `desk/public.py` decides what may be told. Implements protocol.md, "Secrets" (public pages).
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
from typing import TYPE_CHECKING, Any

import msgspec
from markupsafe import Markup

from pbem.games import BUILT_IN, GAMES, titles
from pbem.i18n import ENGLISH, LANGUAGES
from pbem.pages import Home, composer, lesson_page, page, page_file, rules_page, served
from pbem.pages.match_page import OnSite, Witnessed, replay
from pbem.phrase import Phrase

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from pbem.match.view import MatchView
    from pbem.proof.bundle import Bundle


_LIST = "published.json"
"""The files that the last publishing left, each with its SHA-256."""
_OURS = re.compile(
    r"(?:[a-z-]+|[mt][1-9][0-9]*)(?:\.[a-z]{2,3}(?:-[A-Za-z0-9]+)*)?\.html"
    r"|t[1-9][0-9]*\.(?:jsonl|pbem-tournament\.zip)"
)


class Published(msgspec.Struct):
    """The changes that publishing made to a folder."""

    written: list[str] = msgspec.field(default_factory=list)
    kept: list[str] = msgspec.field(default_factory=list)
    removed: list[str] = msgspec.field(default_factory=list)


class Finished(msgspec.Struct, frozen=True):
    """A public match that is closed: its line on the server's page, and the data of its own page."""

    summary: Mapping[str, Any]
    bundle: Bundle | None
    """None where its transcript itself holds addresses, in certificates: then the match has no page."""
    forms: Mapping[str, str]
    """The signed forms of letters that hold nothing else, by the letters' names."""
    press: Sequence[Mapping[str, object]]
    """The players' messages to all: `game`, `turn`, `by` and `text` of each."""
    logged: Sequence[tuple[int, str]] = ()
    """An entry with the proof that witnesses saw it in the server's log, where there is one."""


class PublicTournament(msgspec.Struct, frozen=True):
    """A tournament: what everybody may know of it, and its files, none where its transcript holds addresses."""

    facts: Mapping[str, Any]
    files: Mapping[str, bytes]


def index(site: Mapping[str, Any], language: str = ENGLISH) -> str:
    """The first page of a server.

    It shows `server`, `address`, the `house` if there is one, and what `desk.public` says, with all `finished`.
    """
    invited = [{**match, "file": page_file(match["m"].match, language)} for match in site["invitations"]]
    played = [{**t, "file": page_file(t["id"], language)} for t in site.get("tournaments", ())]
    running = [{**match, "file": page_file(match["m"].match, language)} for match in site["running"]]
    lists = {"invitations": invited, "tournaments": played, "running": running}
    shown = {"house": "", **site, **_begun(), **lists}
    title = Phrase("{server}: games by e-mail", server=str(site["server"]))
    return page("index", title, (), shown=shown, language=language)


def invitation(site: Mapping[str, Any], match: Mapping[str, Any], language: str = ENGLISH) -> str:
    """The page of an invitation, to be passed on by its address if pages are served: `site["pages"]`."""
    m = match["m"]
    place = served(site["pages"], m.match).get(language, "")
    shown = {
        "server": site["server"],
        "address": site["address"],
        "index": page_file("index", language),
        "board": page_file(m.rules, language) if m.rules in BUILT_IN else "",
        "lesson": page_file(f"lesson-{m.rules}", language),
        "rules": page_file(f"rules-{m.rules}", language),
        "game": m.rules,
        "match": match,
        "files": _files(m.match),
        "place": place,
        "code": qr_code(place) if place else "",
    }
    answered = "sealed" not in match["lines"] and match["terms"].keys != "demanded"
    title = Phrase("{player} invites you to play {title}", player=match["by"].player, title=m.title)
    return page("invitation", title, ("invitation.js",) if answered else (), shown=shown, language=language)


def under_way(site: Mapping[str, Any], match: Mapping[str, Any], language: str = ENGLISH) -> str:
    """The page of a public match that is played: who plays, and how it stands; no board."""
    m = match["m"]
    shown = {
        "server": site["server"],
        "address": site["address"],
        "index": page_file("index", language),
        "rules": page_file(f"rules-{m.rules}", language),
        "tournament": page_file(m.tournament, language) if m.tournament else "",
        "game": m.rules,
        "match": match,
        "files": _files(m.match),
    }
    return page("running", _titled(m), (), shown=shown, language=language)


def _titled(m: MatchView) -> Phrase:
    """The title of a match's page."""
    names = ", ".join(map(str, m.names.values()))
    return Phrase("{title}: {names} ({match})", title=m.title, names=names, match=m.match)


def qr_code(address: str) -> Markup:
    """An address as a QR code, dark on light in any scheme, as phones want it: an SVG of no fixed size."""
    import segno

    drawn = segno.make_qr(address).svg_inline(light="#fff", omitsize=True, svgclass="code", lineclass=None)
    return Markup(drawn)  # noqa: S704 - modules alone: the address is in no text of it


def tournament(
    site: Mapping[str, Any], found: PublicTournament, matches: Mapping[str, str], language: str = ENGLISH
) -> str:
    """The page of a tournament; `matches` are the pages of its matches, by the matches' names."""
    t = found.facts
    shown = {
        "server": site["server"],
        "address": site["address"],
        "index": page_file("index", language),
        "t": t,
        "game": t["game_name"],
        "rules": page_file(f"rules-{t['game_name']}", language),
        "matches": matches,
        "carried": sorted(found.files),
        "files": _files(t["id"]),
    }
    title = Phrase("A tournament of {title} ({tournament})", title=t["title"], tournament=t["id"])
    return page("tournament", title, (), shown=shown, language=language)


def _begun() -> dict[str, object]:
    """The games on a first page: their titles, the pages of ours, and the page itself, by language."""
    of_games = [f"{kind}-{game}" for kind, games in (("lesson", BUILT_IN), ("rules", GAMES)) for game in games]
    files = {name: _files(name) for name in ("index", *BUILT_IN, *of_games)}
    return {"games": titles(), "languages": files}


def _files(name: str) -> list[tuple[str, str, str | None]]:
    """A page in all languages: the tag, the file, and what the language calls itself."""
    from babel import Locale

    return [(tag, page_file(name, tag), Locale.parse(tag).get_language_name(tag)) for tag in LANGUAGES]


def pages(
    site: Mapping[str, Any],
    finished: Iterable[Finished],
    witnesses: Sequence[str] = (),
    tournaments: Sequence[PublicTournament] = (),
) -> Iterator[tuple[str, str | bytes]]:
    """All files of the folder by name; the index lists tournaments, and the summaries of finished matches.

    `witnesses` are the keys of those whom the server names as its own.
    """
    summaries: list[tuple[Mapping[str, Any], dict[str, str]]] = []
    home = Home(str(site["server"]), str(site["address"]), str(site["delimiter"]))
    yield from composers(home)
    for invited in site["invitations"]:
        for tag in LANGUAGES:
            yield page_file(invited["m"].match, tag), invitation(site, invited, tag)
    for match in site["running"]:
        for tag in LANGUAGES:
            yield page_file(match["m"].match, tag), under_way(site, match, tag)
    for ended in finished:
        files = _files(ended.summary["m"].match) if ended.bundle is not None else []
        summaries.append((ended.summary, {tag: file for tag, file, _ in files}))
        if ended.bundle is not None:
            yield from _replays(site, ended, ended.bundle, files, witnesses)
    for found in tournaments:
        yield from found.files.items()
    yield from _lists(site, summaries, tournaments)


def _replays(
    site: Mapping[str, Any],
    match: Finished,
    bundle: Bundle,
    files: Sequence[tuple[str, str, str | None]],
    witnesses: Sequence[str],
) -> Iterator[tuple[str, str | bytes]]:
    """The pages of a finished match."""
    for tag, file, _ in files:
        text = replay(
            bundle,
            press=match.press,
            forms=match.forms,
            witnessed=Witnessed(match.logged, witnesses),
            on_site=OnSite(str(site["server"]), files),
            language=tag,
        )
        yield file, text


def _lists(
    site: Mapping[str, Any],
    summaries: Sequence[tuple[Mapping[str, Any], dict[str, str]]],
    tournaments: Sequence[PublicTournament],
) -> Iterator[tuple[str, str]]:
    """The pages of tournaments, and the index, in each language."""
    for tag in LANGUAGES:
        own = {summary["m"].match: files[tag] for summary, files in summaries if tag in files}
        own |= {match["m"].match: page_file(match["m"].match, tag) for match in site["running"]}
        for found in tournaments:
            yield page_file(found.facts["id"], tag), tournament(site, found, own, tag)
        finished_here = [{**summary, "file": files.get(tag, "")} for summary, files in summaries]
        listed = {"finished": finished_here, "tournaments": [found.facts for found in tournaments]}
        yield page_file("index", tag), index({**site, **listed}, tag)


def composers(home: Home) -> Iterator[tuple[str, str]]:
    """Composers, lessons and rules, by their files, in each language: pages know our games, and all have rules."""
    for language in LANGUAGES:
        for game in BUILT_IN:
            name = f"lesson-{game}"
            yield page_file(game, language), composer(game, home, language)
            yield page_file(name, language), lesson_page(game, home.server, _files(name), language)
        for game in GAMES:
            yield (
                page_file(f"rules-{game}", language),
                rules_page(game, home.server, _files(f"rules-{game}"), language),
            )


def publish(folder: Path, files: Iterable[tuple[str, str | bytes]]) -> Published:
    """Bring a folder up to date, the index last; raises OSError, also for a folder with others' files.

    A reader meets each file whole, the old one or the new one. The same files again change nothing.
    """
    folder.mkdir(parents=True, exist_ok=True)
    if _read(folder / _LIST) is None:
        if any(folder.iterdir()):
            raise OSError(errno.ENOTEMPTY, "it holds files that are not ours; name an empty folder")
        _put(folder / _LIST, b"{}\n")
    before, done, now = _listed(folder), Published(), dict[str, str]()
    for name, text in files:
        assert _OURS.fullmatch(name), name
        content = text if isinstance(text, bytes) else text.encode()
        now[name] = hashlib.sha256(content).hexdigest()
        (done.written if _put(folder / name, content) else done.kept).append(name)
    for name in sorted(before - now.keys()):
        (folder / name).unlink(missing_ok=True)
        done.removed.append(name)
    _put(folder / _LIST, (json.dumps(now, indent=1, sort_keys=True) + "\n").encode())
    return done


def _listed(folder: Path) -> set[str]:
    """The files that we wrote and may remove; none if the list cannot be read."""
    try:
        found = json.loads(_read(folder / _LIST) or b"{}")
    except (OSError, ValueError):
        return set()
    return {name for name in found if _OURS.fullmatch(name)} if isinstance(found, dict) else set()


def _put(path: Path, content: bytes) -> bool:
    """Write a whole file beside its place and rename it there, unless it is there already; whether it was not.

    No symlink is followed: somebody else may have put it into the folder, and it may lead elsewhere.
    """
    if _read(path) == content:
        return False
    draft = path.with_name(f".{path.name}.draft")
    draft.unlink(missing_ok=True)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    with os.fdopen(os.open(draft, flags, 0o600), "wb") as file:
        file.write(content)
        file.flush()
        os.fchmod(file.fileno(), 0o644)  # a web server reads it, whatever our umask is
        os.fsync(file.fileno())
    draft.replace(path)
    return True


def _read(path: Path) -> bytes | None:
    """The content of a file in the folder; None if there is none, or only a symlink."""
    try:
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC), "rb") as file:
            return file.read()
    except FileNotFoundError:
        return None
    except OSError as error:
        if error.errno == errno.ELOOP:
            return None
        raise
