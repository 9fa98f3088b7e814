"""`pbem serve` where the operator serves no pages: those to compose on lie beside the store."""

from __future__ import annotations

from pathlib import Path

from pbem.cli.serve import write_composers
from pbem.config.file import load
from pbem.games import GAMES
from pbem.i18n import LANGUAGES
from pbem.pages import page_file


def configured(folder: Path) -> Path:
    path = folder / "pbem.toml"
    path.write_text('server = "play.example"\nstore = "store/pbem.sqlite"\n[smtp]\nlisten = "127.0.0.1:0"\n')
    return path


def test_the_pages_lie_beside_the_store(tmp_path: Path) -> None:
    config = load(configured(tmp_path))
    assert isinstance(config.store, Path)
    folder = config.store.parent / "pages"
    write_composers(config, folder)
    pages = ("index", *GAMES, *(f"{kind}-{game}" for kind in ("lesson", "rules") for game in GAMES))
    names = {page_file(name, language) for name in pages for language in LANGUAGES}
    assert {path.name for path in folder.glob("*.html")} == names
    assert "pbem@play.example" in (folder / "spaceships.html").read_text()
    first = (folder / "index.html").read_text()
    assert 'href="mailto:pbem@play.example?subject=register%20NAME&amp;body=register%20NAME%0D%0A"' in first
    assert 'href="rules-shoot-em-up.html"' in first
    stamps = {path.name: path.stat().st_mtime_ns for path in folder.iterdir()}
    write_composers(config, folder)
    assert {path.name: path.stat().st_mtime_ns for path in folder.glob("*.html")}.items() <= stamps.items()


def test_a_folder_of_somebody_elses_is_left_alone_and_the_server_runs(tmp_path: Path) -> None:
    config = load(configured(tmp_path))
    folder = tmp_path / "pages"
    folder.mkdir()
    (folder / "theirs.txt").write_text("theirs")
    write_composers(config, folder)
    assert [path.name for path in folder.iterdir()] == ["theirs.txt"]
