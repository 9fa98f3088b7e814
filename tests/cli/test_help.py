"""Every command, and every command of a command, is documented and explains itself."""

from __future__ import annotations

from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from pbem.cli import main
from pbem.cli.command_table import COMMANDS, help_text
from pbem.cli.group import group

PROJECT = Path(__file__).parents[2]
DOCUMENTS = "".join(
    (PROJECT / name).read_text("utf-8") for name in ("docs/commands.md", "docs/operating.md", "docs/playing.md")
)


def names() -> list[tuple[str, ...]]:
    context = click.Context(group)
    found: list[tuple[str, ...]] = []
    for name in COMMANDS:
        command = group.get_command(context, name)
        assert command is not None
        subcommands = command.commands if isinstance(command, click.Group) else {}
        found += [(name, inner) for inner, row in subcommands.items() if not row.hidden] or [(name,)]
    return found


@pytest.mark.parametrize("words", names(), ids=" ".join)
def test_a_command_is_documented(words: tuple[str, ...]) -> None:
    assert f"pbem {' '.join(words)}" in DOCUMENTS


@pytest.mark.parametrize("words", names(), ids=" ".join)
def test_a_command_and_its_options_explain_themselves(words: tuple[str, ...]) -> None:
    shown = CliRunner().invoke(group, [*words, "--help"])
    assert shown.exit_code == 0
    command: click.Command = group
    for word in words:
        assert isinstance(command, click.Group)
        found = command.get_command(click.Context(command), word)
        assert found is not None
        command = found
    assert command.help
    for option in command.params:
        if isinstance(option, click.Option):
            assert option.help, option.name


def test_the_help_is_the_same_with_click_and_fits_a_terminal() -> None:
    shown = CliRunner().invoke(group, ["--help"]).stdout
    assert shown == f"{help_text()}\n"
    assert max(map(len, shown.splitlines())) <= 79


def test_whoever_asks_for_help_without_dashes_gets_it(capsys: pytest.CaptureFixture[str]) -> None:
    main(["help"])
    assert capsys.readouterr().out == f"{help_text()}\n"
