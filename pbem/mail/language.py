"""A letter's language: which one is asked for, and how templates say things in it.

A template is one for all languages. What it says stands in `{% trans %}` and `_(...)`, as jinja2's own extension has
it, so that a catalogue can say it otherwise; see `pbem/i18n.py`. Implements protocol.md, "Commands" (`set language`).
"""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, Any

from jinja2 import nodes, pass_eval_context
from jinja2.ext import InternationalizationExtension
from markupsafe import Markup

from pbem.i18n import LANGUAGES, catalogue, say
from pbem.phrase import Phrase

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import datetime
    from pathlib import Path

    from jinja2 import Environment
    from jinja2.nodes import EvalContext
    from jinja2.parser import Parser

    from pbem.mail.message import Letter

__all__ = ["Messages", "asked_for", "teach"]

_RANGE = re.compile(r"\s*([A-Za-z]{1,8})(?:-[A-Za-z0-9-]+)?\s*(?:;\s*q\s*=\s*([01](?:\.[0-9]{0,3})?)\s*)?")


def asked_for(letter: Letter) -> str | None:
    """The language that a letter asks for, or is written in, by its headers (RFC 3282); None: none of ours.

    What it asks for goes before what it is written in, and of several the one that is preferred.
    """
    for header in ("accept-language", "content-language"):
        ranges = [_RANGE.fullmatch(one) for value in letter.values(header) for one in value[:500].split(",")]
        wanted = [(float(found[2] or 1), found[1].lower()) for found in ranges if found]
        for quality, language in sorted(wanted, key=lambda one: -one[0]):
            if quality and language in LANGUAGES:
                return language
    return None


_FACT = re.compile(r"%\((\w+)\)s")


class Messages(InternationalizationExtension):
    """jinja2's `{% trans %}`, said in a language when the template is compiled: a letter pays nothing for it."""

    def parse(self, parser: Parser) -> nodes.Node | list[nodes.Node]:
        """The block in the language's words, with its facts among them; where it has several forms, as it was."""
        made = super().parse(parser)
        *before, output = made if isinstance(made, list) else [made]
        assert isinstance(output, nodes.Output)
        (call,) = output.nodes
        assert isinstance(call, nodes.Call)
        assert isinstance(call.node, nodes.Name)
        if call.node.name != "gettext":
            return made
        (message,) = (argument.as_const() for argument in call.args)
        facts = {fact.key: fact.value for fact in call.kwargs}
        said: list[nodes.Expr] = []
        for at, part in enumerate(_FACT.split(self.environment.known.gettext(message))):  # type: ignore[attr-defined]
            said.append(facts[part] if at % 2 else nodes.TemplateData(part.replace("%%", "%")))
        return [*before, nodes.Output(said, lineno=output.lineno)]


def teach(environment: Environment, folders: tuple[Path, ...], language: str) -> None:
    """Let an environment with `Messages` speak a language: its messages, dates and lists.

    Facts in a message may be phrases, and `language` is its tag. `date` writes a time by a pattern of Unicode's LDML,
    `listed` names one thing after the other.
    """
    known = catalogue(folders, language)
    environment.extend(known=known)

    def filled(context: EvalContext, text: str, facts: Mapping[str, Any]) -> str:
        if any(isinstance(fact, Phrase) for fact in facts.values()):
            facts = {name: say(fact, known) for name, fact in facts.items()}
        if context.autoescape:
            text = Markup(text)  # noqa: S704 - a catalogue is as much ours as a template
        return text % facts

    @pass_eval_context
    def _gettext(context: EvalContext, message: str, /, **facts: Any) -> str:
        return filled(context, known.gettext(message), facts)

    @pass_eval_context
    def _pgettext(context: EvalContext, where: str, message: str, /, **facts: Any) -> str:
        return filled(context, known.pgettext(where, message), facts)

    @pass_eval_context
    def _ngettext(context: EvalContext, one: str, several: str, number: int, /, **facts: Any) -> str:
        return filled(context, known.ngettext(one, several, number), {"num": number, **facts})

    def date(time: datetime, pattern: str) -> str:
        from babel.dates import format_datetime  # noqa: PLC0415 - what writes no dates need not wait for it

        return format_datetime(time, pattern, locale=language)

    def listed(things: Iterable[object]) -> str:
        from babel.lists import format_list  # noqa: PLC0415

        return format_list([str(say(thing, known)) for thing in things], locale=language)

    # With `newstyle_gettext` the extension hands the facts of a message to these, which fill them in.
    environment.newstyle_gettext = True  # type: ignore[attr-defined]
    # As few as are used: every context copies them, and a letter has many.
    kept = {name: environment.globals[name] for name in ("dict", "namespace", "range")}
    own = {"_": _gettext, "ngettext": _ngettext, "pgettext": _pgettext, "language": language}
    environment.globals = {**kept, **own}
    environment.filters |= {"date": date, "listed": listed, "say": partial(say, known=known)}
