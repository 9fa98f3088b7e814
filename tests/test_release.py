"""A release: built twice, listed, signed, and checked by a stranger who has its files and a list of signers alone."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from data.material import of_checkout

pytestmark = [of_checkout, pytest.mark.long]  # a release is built twice, and installed
ROOT = Path(__file__).parents[1]


def tool(*words: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(words, env=os.environ | environment, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The release of HEAD in `dist`, the keys of two, and `signers`, which names one of them."""
    folder = tmp_path_factory.mktemp("release")
    for name in ("key", "other"):
        tool("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / name)
    (folder / "signers").write_text(f"releaser {(folder / 'key.pub').read_text()}")
    built = tool(ROOT / ".ci" / "build-twice", folder / "dist", BIN=str(Path(sys.executable).parent))
    assert built.returncode == 0, built.stderr
    sign(folder / "dist", folder / "key")
    return folder


@pytest.fixture
def dist(work: Path, tmp_path: Path) -> Path:
    return shutil.copytree(work / "dist", tmp_path / "dist")


def sign(dist: Path, key: Path, purpose: str = "pbem-release") -> None:
    (dist / "SHA256SUMS.sig").unlink(missing_ok=True)
    tool("ssh-keygen", "-q", "-Y", "sign", "-f", key, "-n", purpose, dist / "SHA256SUMS")


def check(work: Path, dist: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return tool(ROOT / ".ci" / "release-check", work / "signers", dist, PYTHON=sys.executable, **environment)


def test_make_signs_as_here() -> None:
    assert '-Y sign -f "$(KEY)" -n pbem-release dist/SHA256SUMS\n' in (ROOT / "Makefile").read_text("utf-8")


def test_a_release_is_a_wheel_a_source_package_and_their_signed_list(work: Path) -> None:
    names = {path.name for path in (work / "dist").iterdir()}
    (wheel,) = [name for name in names if name.endswith("-py3-none-any.whl")]
    source = wheel.replace("-py3-none-any.whl", ".tar.gz")
    assert names == {wheel, source, "SHA256SUMS", "SHA256SUMS.sig"}


def test_an_old_release_is_not_written_over(work: Path) -> None:
    built = tool(ROOT / ".ci" / "build-twice", work / "dist")
    assert built.returncode == 2
    assert "not empty" in built.stderr


@pytest.fixture
def offline(tmp_path: Path) -> dict[str, str]:
    """The libraries lie where Python finds them here, so that a wheel is installed without an index."""
    libraries = tmp_path / "libraries"
    libraries.mkdir()
    for path in Path(pytest.__file__).parents[1].iterdir():
        if "pbem" not in path.name and path.suffix != ".pth":
            (libraries / path.name).symlink_to(path)
    return {"PIP_NO_INDEX": "1", "PIP_NO_DEPS": "1", "PYTHONPATH": str(libraries)}


def test_a_stranger_installs_it_and_verifies_the_sample(work: Path, dist: Path, offline: dict[str, str]) -> None:
    done = check(work, dist, **offline)
    assert done.returncode == 0, done.stdout + done.stderr
    assert 'Good "pbem-release" signature' in done.stdout
    assert f"pbem, version {next(dist.glob('*.whl')).name.split('-')[1]}" in done.stdout
    assert "Everything holds." in done.stdout


def test_the_recipe_in_the_documents_says_the_same(work: Path, dist: Path, offline: dict[str, str]) -> None:
    shutil.copy(work / "signers", dist)
    recipe = (ROOT / "docs" / "package.md").read_text("utf-8").split("## Check a release\n")[1]
    commands = "\n".join(line.strip() for line in recipe.splitlines() if line.startswith("    "))
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    done = tool("bash", "-ec", f"cd {dist}\n{commands}", PATH=path, **offline)
    assert done.returncode == 0, done.stdout + done.stderr
    assert 'Good "pbem-release" signature' in done.stdout
    assert done.stdout.count(": OK\n") == 2
    assert done.stdout.endswith("Everything holds.\n")


def test_a_changed_file_is_not_installed(work: Path, dist: Path) -> None:
    (wheel,) = dist.glob("*.whl")
    with wheel.open("ab") as file:
        file.write(b"\0")
    done = check(work, dist)
    assert done.returncode == 1
    assert "FAILED" in done.stdout
    assert "version" not in done.stdout


def test_a_list_that_another_signed_is_not_believed(work: Path, dist: Path) -> None:
    sign(dist, work / "other")
    done = check(work, dist)
    assert done.returncode == 1
    assert "signed by nobody in" in done.stderr
    assert "OK" not in done.stdout


def test_a_list_that_was_changed_or_signed_for_something_else_is_not_believed(work: Path, dist: Path) -> None:
    sign(dist, work / "key", "file")
    assert check(work, dist).returncode != 0
    sign(dist, work / "key")
    with (dist / "SHA256SUMS").open("a") as file:
        file.write("\n")
    assert check(work, dist).returncode != 0


def test_a_file_beside_those_listed_is_not_installed(work: Path, dist: Path) -> None:
    shutil.copy(next(dist.glob("*.whl")), dist / "pbem-99.0-py3-none-any.whl")
    with (dist / "pbem-99.0-py3-none-any.whl").open("ab") as file:
        file.write(b"\0")
    done = check(work, dist)
    assert done.returncode == 1
    assert "pbem-99.0-py3-none-any.whl is not in SHA256SUMS" in done.stderr
