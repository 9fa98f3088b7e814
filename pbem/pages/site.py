"""The pages of a server as plain files: first page, composers, invitations, matches, previews of links, feeds (Atom).

This module brings a folder up to date: only files that changed are written, and outdated ones are removed if they are
ours. `desk/public.py` decides what may be told. The same news give the same octets: ids and times are the
transcripts'. Implements protocol.md, "Secrets" (public pages); RFC 4287 (Atom) and RFC 4151 (`tag:`).
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
from typing import TYPE_CHECKING, Any, NamedTuple
from xml.etree import ElementTree

import msgspec
from markupsafe import Markup

from pbem.boards.picture import card
from pbem.games import BUILT_IN, GAMES, part_of, parts, rules, titles
from pbem.i18n import ENGLISH, LANGUAGES, catalogue, say, template_folder
from pbem.pages import Home, composer, feed_file, lesson_page, page, page_file, rules_page, served
from pbem.pages.match_page import Link, OnSite, Witnessed, decisive_turns, replay
from pbem.phrase import Phrase
from pbem.tournament.tournament_entries import result_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from pbem.games.squares import Board
    from pbem.json_object import JsonObject
    from pbem.match.view import MatchView
    from pbem.proof.bundle import Bundle


_LIST = "published.json"
"""The files that the last publishing left, each with its SHA-256."""
_OURS = re.compile(
    r"(?:[a-z-]+|[mt][1-9][0-9]*)(?:\.[a-z]{2,3}(?:-[A-Za-z0-9]+)*)?\.(?:html|png|xml)"
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
    news: Sequence[News] = ()


class PublicTournament(msgspec.Struct, frozen=True):
    """A tournament: what everybody may know of it, and its files, none where its transcript holds addresses."""

    facts: Mapping[str, Any]
    files: Mapping[str, bytes]
    news: Sequence[News] = ()


def index(site: Mapping[str, Any], language: str = ENGLISH) -> str:
    """The first page of a server.

    It shows `server`, `address`, the `house` if there is one, and what `desk.public` says, with all `finished`.
    """
    invited = [{**match, "file": page_file(match["m"].match, language)} for match in site["invitations"]]
    played = [{**t, "file": page_file(t["id"], language)} for t in site.get("tournaments", ())]
    running = [{**match, "file": page_file(match["m"].match, language)} for match in site["running"]]
    lists = {"invitations": invited, "tournaments": played, "running": running}
    shown = {"house": "", **site, **_begun(), **lists, "feed": feed_file(FEED, language)}
    return page("index", str(site["server"]), (), shown=shown, language=language)


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
    """The page of a public match that is played: who plays, how it stands, and its news; no board."""
    m = match["m"]
    shown = {
        "server": site["server"],
        "address": site["address"],
        "index": page_file("index", language),
        "rules": page_file(f"rules-{m.rules}", language),
        "tournament": page_file(m.tournament, language) if m.tournament else "",
        "game": m.rules,
        "match": match,
        "news": sorted(match["news"], key=lambda one: -one.seq)[:MOST],
        "files": _files(m.match),
        "feed": feed_file(m.match, language),
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
        "feed": feed_file(t["id"], language),
    }
    return page("tournament", f"{t['title']}, {t['id']}", (), shown=shown, language=language)


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
    news = [one for match in (*site["invitations"], *site["running"]) for one in match["news"]]
    home = Home(str(site["server"]), str(site["address"]), str(site["delimiter"]))
    yield from composers(home)
    for invited in site["invitations"]:
        for tag in LANGUAGES:
            yield page_file(invited["m"].match, tag), invitation(site, invited, tag)
    for match in site["running"]:
        for tag in LANGUAGES:
            yield page_file(match["m"].match, tag), under_way(site, match, tag)
    for ended in finished:
        news += ended.news
        files = _files(ended.summary["m"].match) if ended.bundle is not None else []
        summaries.append((ended.summary, {tag: file for tag, file, _ in files}))
        yield from _replays(site, ended, files, witnesses)
    for found in tournaments:
        news += found.news
        yield from found.files.items()
    with_page = [match["m"].match for match in (*site["invitations"], *site["running"])]
    with_page += [summary["m"].match for summary, files in summaries if files]
    yield from feeds(site, news, {*with_page, *(found.facts["id"] for found in tournaments)})
    yield from _lists(site, summaries, tournaments)


def _replays(
    site: Mapping[str, Any], match: Finished, files: Sequence[tuple[str, str, str | None]], witnesses: Sequence[str]
) -> Iterator[tuple[str, str | bytes]]:
    """The pages of a finished match, and their pictures."""
    for tag, file, _ in files:
        assert match.bundle is not None
        link, picture = None, picture_file(match.summary["m"].match, tag)
        if about := link_preview(match.bundle, tag):
            yield picture, about.picture
            addresses = (site["pages"] + file, site["pages"] + picture) if site["pages"] else ("", "")
            link = Link(about.title, about.line, *addresses)
        text = replay(
            match.bundle,
            press=match.press,
            forms=match.forms,
            witnessed=Witnessed(match.logged, witnesses),
            on_site=OnSite(str(site["server"]), files, link),
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


def composer_folder(home: Home) -> Iterator[tuple[str, str]]:
    """A folder of only the composers and a first page, for a server that publishes nothing else."""
    yield from composers(home)
    shown = {"address": home.address, **_begun()}
    for language in LANGUAGES:
        yield page_file("index", language), page("composers", home.server, (), shown=shown, language=language)


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


class LinkPreview(NamedTuple):
    """A link as a site shows it: a title, a line, and a PNG."""

    title: str
    line: str
    picture: bytes


def picture_file(name: str, language: str) -> str:
    """The name under which a picture is served, as `page_file`."""
    return page_file(name, language).removesuffix("html") + "png"


def link_preview(found: Bundle, language: str) -> LinkPreview | None:
    """Title, line and picture of a match that is closed; None if none of its games was revealed."""
    decided = decisive_turns(found)
    result = result_of(found.entries)
    if not decided or result is None:
        return None
    number, last = max(decided.items())
    known = catalogue((template_folder(),), language)

    def words(phrase: Phrase) -> str:
        return str(say(phrase, known))

    agreed = found.entries[0].body
    turn = Phrase("The decisive turn: {turn}", turn=last.turn) if last.turn else Phrase("before the first turn")
    game = [words(Phrase("game {game}", game=number))] if number > 1 else []
    line = [rules(last.record.game).title, *game, words(turn), f"{agreed['match']}, {agreed['server']}"]
    title = f"{', '.join(result['players'])}: {words(_won(result, words(Phrase(' to '))))}"
    names = {seat: name for seat, (name, _) in enumerate(last.record.seats, start=1)}
    judge = rules(last.record.game)
    views: dict[int, Mapping[str, object]] = {}
    for seat in range(1, len(last.record.seats) + 1):
        told = [[said for report in turn if (said := judge.show(report, seat))] for turn in last.reports]
        views[seat] = parts.view(judge, last.state, seat, told)
    boards: list[Board] = part_of(last.record.game, "boards").truth(views, 1)
    return LinkPreview(title, " · ".join(line), card(title, " · ".join(line), boards, names))


def _won(result: JsonObject, to: str) -> Phrase:
    """The winner and the scores, the winner's first."""
    winner, scores = result["winner"], list(result["scores"])
    if not winner:
        return Phrase("Nobody won, {scores}", scores=to.join(map(str, scores)))
    first = scores.pop(winner - 1)
    return Phrase(
        "{winner} won, {scores}", winner=result["players"][winner - 1], scores=to.join(map(str, [first, *scores]))
    )


FEED = "feed"
"""The name of the feed of the whole server; that of a match or tournament has its name."""

MOST = 100
"""The most entries of a feed: readers keep what they have seen."""

_BEGIN = "1970-01-01T00:00:00Z"
"""The time of a feed in which there is nothing yet: the standard demands one."""


class News(msgspec.Struct, frozen=True):
    """Something that happened in a match or tournament."""

    about: str
    """The match or tournament."""
    seq: int
    """The entry of its transcript; 0: what was before."""
    time: str
    title: Phrase
    front: bool = True
    """True if the feed of the whole server has it, too."""


def feeds(site: Mapping[str, object], news: Iterable[News], own: Collection[str]) -> Iterator[tuple[str, bytes]]:
    """All feeds by their files; `own` are the matches and tournaments that have a page."""
    by_name: dict[str, list[News]] = {FEED: []}
    for one in news:
        by_name.setdefault(one.about, []).append(one)
        if one.front:
            by_name[FEED].append(one)
    for name, told in by_name.items():
        latest = sorted(told, key=lambda one: (one.time, int(one.about[1:]), one.seq), reverse=True)[:MOST]
        for language in LANGUAGES:
            yield feed_file(name, language), _feed(site, name, latest, own, language)


def _feed(
    site: Mapping[str, object], name: str, news: Collection[News], own: Collection[str], language: str
) -> bytes:
    server, pages = str(site["server"]), str(site["pages"])
    # RFC 4151 wants a date at which the name was the server's, so that its next owner makes other ids; 2026 is the
    # first of January. For a name that was assigned later this is not to the letter; but any date that we could find
    # in the store would tell of a private match, or change the ids with what is public. Ids collide only if an
    # earlier owner of the name ran a pbem, too, and at the same address.
    tag = f"tag:{server},2026:{'' if language == ENGLISH else f'{language}/'}"

    def page_of(about: str) -> str:
        return pages + page_file(about if about in own else "index", language)

    def add(to: ElementTree.Element, kind: str, text: str = "", **attributes: str) -> None:
        ElementTree.SubElement(to, kind, attributes).text = text or None

    top = ElementTree.Element("feed", {"xmlns": "http://www.w3.org/2005/Atom", "xml:lang": language})
    add(top, "id", f"{tag}{name}")
    add(top, "title", server if name == FEED else f"{name}, {server}")
    add(top, "updated", max((one.time for one in news), default=_BEGIN))
    author = ElementTree.SubElement(top, "author")
    add(author, "name", server)
    if pages:
        add(top, "link", rel="self", type="application/atom+xml", href=pages + feed_file(name, language))
    add(top, "link", rel="alternate", type="text/html", href=page_of(name))
    for one in news:
        entry = ElementTree.SubElement(top, "entry")
        add(entry, "id", f"{tag}{one.about}/{one.seq}")
        add(entry, "title", str(say(one.title, catalogue((template_folder(),), language))))
        add(entry, "updated", one.time)
        add(entry, "link", rel="alternate", type="text/html", href=page_of(one.about))
    ElementTree.indent(top, "")
    written: bytes = ElementTree.tostring(top, "utf-8", xml_declaration=True)
    return written + b"\n"
