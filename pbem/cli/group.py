"""The group of all commands, which looks them up in the table."""

from __future__ import annotations

import gc
from importlib import import_module
from typing import Any

import click
from click.shell_completion import CompletionItem

from pbem.cli.command_table import ABOUT, COMMANDS, help_text
from pbem.cli.ending import exiting


class _Commands(click.Group):
    """The group of all commands, each imported when it is needed."""

    # Each command is made and run within these two.

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        with exiting():
            return super().make_context(info_name, args, parent, **extra)

    def invoke(self, ctx: click.Context) -> Any:
        with exiting():
            return super().invoke(ctx)

    def list_commands(self, ctx: click.Context) -> list[str]:
        del ctx
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            from difflib import get_close_matches

            near = get_close_matches(cmd_name, COMMANDS, 1)
            meant = f"Did you mean `pbem {near[0]}`?" if near else "`pbem --help` lists them all."
            raise click.UsageError(f"No such command '{cmd_name}'. {meant}", ctx)
        if _UNUSABLE in ctx.meta and cmd_name != "verify":  # which says what it can without the rules
            raise click.UsageError(ctx.meta[_UNUSABLE])
        module_name, _ = COMMANDS[cmd_name]
        gc.disable()  # nothing of a module is garbage: to look for it takes a tenth of the time to import them all
        try:
            module = import_module(module_name)
        except ModuleNotFoundError as error:
            if (error.name or "").partition(".")[0] == "pbem":
                raise
            raise click.ClickException(
                f"`pbem {cmd_name}` needs the libraries of the server ({error.name} is not here): "
                "install pbem with them, as pbem[server]"
            ) from error
        finally:
            gc.freeze()  # nor will it be
            gc.enable()
        command: click.Command = getattr(module, cmd_name.replace("-", "_"))
        return command

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """The names of commands, without importing any; and this group's own options."""
        names = [
            CompletionItem(name, help=line) for name, (_, line) in COMMANDS.items() if name.startswith(incomplete)
        ]
        return names + click.Command.shell_complete(self, ctx, incomplete)

    def get_help(self, ctx: click.Context) -> str:
        del ctx
        return help_text()


_UNUSABLE = "pbem.games that cannot be enabled"


def _enable(ctx: click.Context, _: click.Parameter, names: tuple[str, ...]) -> None:
    """Enable games before a command is imported: most commands need none."""
    if not names:
        return
    from pbem.games.outside import UnusableGame, enable

    for name in names:
        try:
            enable([name])
        except UnusableGame as error:
            ctx.meta.setdefault(_UNUSABLE, str(error))


@click.group(cls=_Commands, help=ABOUT)
@click.version_option(package_name="pbem")
@click.option(
    "--game",
    metavar="NAME",
    multiple=True,
    envvar="PBEM_GAMES",
    callback=_enable,
    expose_value=False,
    help="Enable a game of another package. PBEM_GAMES has the names of those that are always enabled.",
)
def group() -> None:
    """`pbem`."""
