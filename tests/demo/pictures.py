"""`make pictures`: the pictures of the README, from a match that the demo really plays, into docs/pictures.

The match is played by mail on a real server (`whole_match.py`). Chromium shows a letter of it, the composer with that
letter loaded, and the page of its bundle, which proves itself there; the terminal is drawn from what the demo
printed, and when. The bundle is left in docs/sample: README's readers check the very match that they see.

Look at each picture afterwards: it is for people, and no test can say whether they would understand it.
"""

from __future__ import annotations

import email
import email.policy
import hashlib
import html
import io
import json
import mailbox
import re
import subprocess
import sys
import tempfile
import textwrap
import time
import tomllib
from email.message import EmailMessage
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from browser.waiting import until
from PIL import Image

if TYPE_CHECKING:
    from collections.abc import Iterable

    from playwright.sync_api import Browser, Page

ROOT = Path(__file__).parents[2]
PICTURES = ROOT / "docs" / "pictures"
SAMPLE = ROOT / "docs" / "sample" / "m1-game-1.pbem.zip"
BADGES = PICTURES / "badges.svg"
SHOWN = PICTURES / "shown.json"
"""The fingerprint of what each picture showed when it was made."""

TEMPLATES = {
    "letter.png": ("letters/turn.html",),
    "composer-390.png": ("pages/composer.html", "pages/page.css"),
    "composer-1280.png": ("pages/composer.html", "pages/page.css"),
    "match.png": ("pages/replay.html", "pages/page.css"),
    "terminal.svg": ("player/match.txt",),
}
"""The templates and styles that a picture shows. Scripts do not count: most of their changes show nothing."""

GAME = "spaceships"
TURN = 3
"""The turn whose letter is shown: by then something was hit."""


def sources(picture: str) -> dict[str, str]:
    """The templates and styles that a picture shows, with all that they include, by their names."""
    waiting, known = list(TEMPLATES[picture]), dict[str, str]()
    while waiting:
        name = waiting.pop()
        if name not in known:
            known[name] = (ROOT / "templates" / name).read_text("utf-8")
            included = re.findall(r'{% (?:extends|include|from|import) (?:[\w.]+ ~ )?"([^"]+)"', known[name])
            waiting += [f"{GAME}{other}" if other.startswith("/") else other for other in included]
    return known


def fingerprint(picture: str) -> str:
    """The SHA-256 of the templates and styles that a picture shows."""
    return hashlib.sha256(json.dumps(sorted(sources(picture).items())).encode()).hexdigest()


# The match


class Line(NamedTuple):
    """A line that the demo printed, and the seconds until then."""

    at: float
    text: str


def play(folder: Path) -> list[Line]:
    """Let the demo play in a folder; raises CalledProcessError if it fails."""
    start = time.monotonic()
    command = [sys.executable, "-u", "-m", "demo", "--keep", str(folder)]
    with subprocess.Popen(command, cwd=ROOT / "tests", stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        # No reader sees the folder: it is where `make demo` has it.
        lines = [
            Line(time.monotonic() - start, line.rstrip("\n").replace(str(folder), "demo-output"))
            for line in process.stdout
        ]
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    return lines


def letter_of(folder: Path, turn: int) -> EmailMessage:
    """The letter to Ann that reports a turn."""
    for kept in mailbox.Maildir(folder / "ann"):
        letter = email.message_from_bytes(kept.as_bytes(), policy=email.policy.default)
        if str(letter["Subject"]).endswith(f"game 1, turn {turn}"):
            assert isinstance(letter, EmailMessage)
            return letter
    raise LookupError(f"no letter about turn {turn}")


def orders_of(lines: Iterable[Line], turn: int) -> str:
    """The orders that Ann gave for a turn, as she typed them."""
    typed = [found[1] for line in lines if (found := re.match(r"ann\$ pbem play m1 '(.*)' --final", line.text))]
    return typed[turn - 1]


# The browser


def page_of(folder: Path, *words: str) -> Path:
    """The page that a command prints, as a file in a folder."""
    page = folder / f"{words[0]}.html"
    with page.open("wb") as written:
        subprocess.run([Path(sys.executable).with_name("pbem"), *words], stdout=written, check=True)
    return page


def show_letter(tab: Page, letter: EmailMessage) -> None:
    """The boards in the HTML part of a letter, and what follows from them: the picture ends where the form begins."""
    part = letter.get_body(("html",))
    assert part is not None
    tab.set_viewport_size({"width": 860, "height": 900})
    tab.set_content(str(part.get_content()))
    keep("letter.png", between(tab, "h2:text('Your space')", "h2:text('Your form')"))


def show_composer(tab: Page, page: Path, letter: EmailMessage, orders: str, width: int) -> None:
    """The composer with a letter loaded, and orders that it finds legal."""
    tab.set_viewport_size({"width": width, "height": 844 if width < 500 else 900})
    tab.goto(page.as_uri())
    if not tab.locator("#load").evaluate("(load) => load.open"):
        tab.locator("#load > summary").click()
    tab.locator("#pasted").fill(letter.as_string())
    tab.locator("#bring").click()
    tab.wait_for_selector("#work:not([hidden])")
    tab.locator("#notation").fill(orders)
    until(tab, "document.getElementById('verdict').textContent.includes('egal orders')")
    tab.locator("#notation").blur()
    tab.locator("#controls").evaluate("(controls) => controls.scrollIntoView()")
    keep(f"composer-{width}.png", tab.screenshot())


def show_match(tab: Page, page: Path) -> None:
    """The boards of a match, which proved itself, in the turn that decided it; nothing moves."""
    tab.emulate_media(reduced_motion="reduce")
    tab.set_viewport_size({"width": 1000, "height": 900})
    tab.goto(page.as_uri())
    tab.wait_for_selector("#badge.good")
    tab.locator("#decisive").click()
    tab.wait_for_selector("svg.scene")
    tab.evaluate("scrollTo(0, 0)")
    keep("match.png", tab.locator(".stage").first.screenshot())


def keep(name: str, shot: bytes) -> None:
    """Write a picture with 256 colours: nobody sees the difference, and it takes a third of the room."""
    Image.open(io.BytesIO(shot)).convert("RGB").quantize(256).save(PICTURES / name, optimize=True)


def between(tab: Page, start: str, end: str) -> bytes:
    """A picture of what is between two headings, in the whole width."""
    top, bottom = (
        tab.locator(heading).evaluate("(heading) => heading.getBoundingClientRect().top + scrollY")
        for heading in (start, end)
    )
    assert tab.viewport_size is not None
    clip = {"x": 0, "y": top - 8, "width": tab.viewport_size["width"], "height": bottom - top}
    shot: bytes = tab.screenshot(full_page=True, clip=clip)
    return shot


# The terminal

COLUMNS, ROWS = 96, 30
CHARACTER, LEADING = 7.8, 17
SECONDS = 20.0
"""The length of the film; it begins again after a rest."""
REST = 4.0
AT_ONCE = 10
"""Lines that appear together; a longer answer rolls by."""


class Row(NamedTuple):
    """A row of the terminal, and whether somebody typed it."""

    text: str
    typed: bool


def draw_terminal(lines: list[Line]) -> str:
    """An SVG that shows the first seconds of the demo, up to the first report.

    Where the machine was slow the film is faster: it takes the same seconds, in the same proportions.
    """
    end = next(at for at, line in enumerate(lines) if line.text.startswith("Stopwatch"))
    recorded = lines[: end + 1]
    speed = min(1.0, (SECONDS - REST) / (recorded[-1].at - recorded[0].at))
    steps: list[tuple[float, list[Row]]] = []
    for line in recorded:
        at = (line.at - recorded[0].at) * speed
        indent = re.match(r" *", line.text)
        assert indent is not None
        rows = textwrap.wrap(
            line.text, COLUMNS, drop_whitespace=False, subsequent_indent=indent[0] + "    ", break_on_hyphens=False
        ) or [""]
        if not steps or at > steps[-1][0] + 0.05 or len(steps[-1][1]) >= AT_ONCE:
            steps.append((max(at, steps[-1][0] + 0.15 if steps else 0.0), []))
        steps[-1][1].extend(Row(row, typed=bool(re.match(r"\w+\$ ", line.text))) for row in rows)
    return _film(steps)


def _film(steps: list[tuple[float, list[Row]]]) -> str:
    """The lines, each step with the second at which it appears; what no longer fits moves out at the top."""
    total = max(SECONDS, steps[-1][0]) + REST
    width, height = round(COLUMNS * CHARACTER) + 24, ROWS * LEADING + 24
    styles, texts, moves, row = [], [], [], 0
    for number, (at, rows) in enumerate(steps):
        percent = f"{100 * at / total:.2f}"
        # Without animations (a reader may refuse them) everything is there, at its end.
        styles.append(f"@keyframes s{number}{{0%{{opacity:0}}{percent}%,to{{opacity:1}}}}")
        styles.append(f".s{number}{{animation:s{number} {total:.1f}s step-end infinite}}")
        for text, typed in rows:
            shown = f'<tspan class="typed">{html.escape(text)}</tspan>' if typed else html.escape(text)
            texts.append(f'<text class="s{number}" y="{(row + 1) * LEADING}">{shown}</text>')
            row += 1
        moves.append(f"{percent}%{{transform:translateY({-max(0, row - ROWS) * LEADING}px)}}")
    last = -max(0, row - ROWS) * LEADING
    style = "".join(styles) + f"@keyframes roll{{{''.join(moves)}to{{transform:translateY({last}px)}}}}"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        'role="img" aria-label="The first commands of the demo, and what they answer">\n'
        "<style>text{font:13px ui-monospace,Menlo,Consolas,'DejaVu Sans Mono',monospace;fill:#d8dee9;white-space:pre}"
        f".typed{{fill:#a3d977;font-weight:bold}}.roll{{transform:translateY({last}px);"
        f"animation:roll {total:.1f}s step-end infinite}}{style}"
        "@media (prefers-reduced-motion:reduce){*{animation:none!important}}</style>\n"
        f'<rect width="{width}" height="{height}" rx="8" fill="#1d2228"/>\n'
        f'<clipPath id="window"><rect y="4.5" width="{width}" height="{ROWS * LEADING}"/></clipPath>\n'
        '<g transform="translate(12 10)" clip-path="url(#window)"><g class="roll">\n'
        + "\n".join(texts)
        + "\n</g></g>\n</svg>\n"
    )


# The badges


def badges() -> str:
    """An SVG of what a reader asks first: version, Pythons and licence, as pyproject.toml has them."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    pythons = [found[1] for name in project["classifiers"] if (found := re.fullmatch(r".* :: (3\.\d+)", name))]
    facts = {"version": project["version"], "Python": f"{pythons[0]} to {pythons[-1]}", "licence": project["license"]}
    drawn, left = [], 0
    for name, value in facts.items():
        for text, colour in ((name, "#4a525c"), (value, "#2f6f4f")):
            width = round(7 * len(text)) + 14
            drawn.append(
                f'<rect x="{left}" width="{width}" height="20" fill="{colour}"/>'
                f'<text x="{left + width / 2:g}" y="14">{html.escape(text)}</text>'
            )
            left += width
        left += 6
    said = ", ".join(f"{name} {value}" for name, value in facts.items())
    style = "text{font:12px Verdana,'DejaVu Sans',sans-serif;fill:#fff;text-anchor:middle}"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{left - 6}" height="20" role="img" aria-label="{said}">\n'
        f"<style>{style}</style>\n" + "\n".join(drawn) + "\n</svg>\n"
    )


def make(folder: Path, lines: list[Line], browser: Browser) -> None:
    """All pictures, from what the demo left in a folder."""
    letter, orders = letter_of(folder, TURN), orders_of(lines, TURN + 1)
    SAMPLE.write_bytes((folder / SAMPLE.name).read_bytes())
    composer, match = (
        page_of(folder, "page", GAME, "--config", str(folder / "pbem.toml")),
        page_of(folder, "publish", str(SAMPLE)),
    )
    tab = browser.new_context(offline=True, color_scheme="light").new_page()
    show_letter(tab, letter)
    for width in (390, 1280):
        show_composer(tab, composer, letter, orders, width)
    show_match(tab, match)
    (PICTURES / "terminal.svg").write_text(draw_terminal(lines), "utf-8")
    BADGES.write_text(badges(), "utf-8")
    shown = {picture: fingerprint(picture) for picture in TEMPLATES}
    SHOWN.write_text(json.dumps(shown, indent=1) + "\n", "utf-8")
    for path in sorted(PICTURES.iterdir()):
        print(f"{path.relative_to(ROOT)}  {path.stat().st_size:,} octets")


def main() -> None:
    from browser.conftest import CHROMIUM  # noqa: PLC0415 - the fast test needs none
    from playwright.sync_api import sync_playwright  # noqa: PLC0415 - the fast test needs none

    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        folder = Path(name) / "demo-output"
        lines = play(folder)
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        make(folder, lines, browser)
        browser.close()


if __name__ == "__main__":
    main()
