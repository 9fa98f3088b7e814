"""The rendering of templates: prose in jinja2, one template for all languages, filters that set boards and phrases.

The text of a template is in `{% trans %}` and `_(...)`, as jinja2's own extension has it, so that a catalogue can
translate it; see `pbem/i18n.py`. Implements design.md, "One place for one fact".
"""

from __future__ import annotations

import re
from datetime import date
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import msgspec
from jinja2 import Environment, FileSystemLoader, StrictUndefined, nodes, pass_environment, pass_eval_context
from jinja2.ext import InternationalizationExtension
from jinja2.filters import do_wordwrap
from markupsafe import Markup, escape

from pbem.boards.html_tables import BoardTable
from pbem.boards.text_boards import TextSetter, columns, numbered, starting
from pbem.games import part_of
from pbem.games.outside import template_folders
from pbem.i18n import ENGLISH, Catalogue, catalogue, say
from pbem.phrase import Moment, Span

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, MutableMapping
    from datetime import datetime
    from pathlib import Path

    from babel import Locale
    from jinja2.nodes import EvalContext
    from jinja2.parser import Parser


_FACT = re.compile(r"%\((\w+)\)s")


class InWords(msgspec.Struct, frozen=True):
    """A template in words; what it sets besides its text belongs into the frame of the letter."""

    text: str
    proofs: list[str] = []
    """The proofs: papers, then the head. A letter has each once, beneath everything else."""
    title: str = ""
    """The title of an HTML part."""


class Templates:
    """The letters' wording: folders of jinja2 templates; the first that has one counts.

    By default they are ours and those of the games that were enabled.
    """

    def __init__(self, *folders: Path, language: str = ENGLISH) -> None:
        self.folders = folders or template_folders()
        self._language = language
        self._known = catalogue(self.folders, language)
        self.environment = _environment(self.folders, language)

    def of(self, language: str) -> Templates:
        """The same letters in a language; what is not translated stays English."""
        return self if language == self._language else Templates(*self.folders, language=language)

    def say(self, phrase: str) -> str:
        """A phrase of ours in this language; any other text as it is."""
        return str(say(phrase, self._known))

    def render(self, name: str, /, **values: object) -> str:
        """The text of a template; raises jinja2's errors for a missing template or a missing value."""
        return self.environment.get_template(name).render(values)

    def words(self, name: str, /, **values: object) -> InWords:
        """A template of a letter in words; raises as `render` does."""
        # For jinja2, a template is a module: its text, and the names that it sets.
        template = self.environment.get_template(name)
        try:
            made = template.make_module(values)
        except Exception:  # as `render` does, name the template and its line in what it raises
            self.environment.handle_exception()
        proofs = [str(proof).strip("\n") for proof in getattr(made, "proofs", ())]
        return InWords(str(made), [proof for proof in proofs if proof], str(getattr(made, "title", "")))


@cache  # to read a tag takes longer than to name what is listed
def _locale(language: str) -> Locale:
    from babel import Locale

    return Locale.parse(language)


@cache  # compiling a letter's templates costs more than the letter
def _environment(folders: tuple[Path, ...], language: str) -> Environment:
    translated = [] if language == ENGLISH else [folder / language for folder in folders]
    known = catalogue(folders, language)
    in_words = partial(say, known=known)
    environment = _Environment(
        loader=FileSystemLoader([*translated, *folders]),
        finalize=None if language == ENGLISH else in_words,
        extensions=[_Messages],
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        cache_size=-1,  # all of them: to find the one longest unused takes longer than to find one
        auto_reload=False,  # a running server keeps the words it began with, and looks at no file for each letter
        autoescape=lambda name: name is not None and name.endswith(".html"),  # text is not HTML
    )
    _teach(environment, known, language)
    # What boards, and the words beside them, are set with; an English phrase is its own text.
    spoken: Callable[[object], str] = str if language == ENGLISH else lambda words: str(in_words(words))
    text, table = TextSetter(spoken), BoardTable(in_words)
    setters = (
        *(columns, numbered, starting, text.wrap),
        *(text.heading, text.joined, text.legend, text.lines, text.pieces, text.sentence, text.table),
        *(table.bold, table.coded, table.grids, table.key),
    )
    environment.filters |= {"say": in_words, "wordwrap": _wordwrap}
    environment.filters |= {setter.__name__: setter for setter in setters}
    environment.globals |= {"words": partial(part_of, part="words")}
    return environment


@pass_environment
def _wordwrap(
    environment: Environment,
    text: str,
    width: int,
    break_long_words: bool = True,
    wrapstring: str = "\n",
    break_on_hyphens: bool = True,
) -> str:
    """jinja2's filter, which takes even lines that fit apart into words."""
    lines = text.splitlines()
    if all(len(line) <= width for line in lines):
        return wrapstring.join([line.rstrip() for line in lines])
    return do_wordwrap(environment, text, width, break_long_words, wrapstring, break_on_hyphens)


class _Environment(Environment):
    """jinja2's, with the globals of a template in one place: a letter's many contexts each copy them.

    An attribute of a dictionary usually means one of its values.
    """

    def getattr(self, obj: Any, attribute: str) -> Any:
        """A dictionary's value of this name, or else an attribute."""
        if type(obj) is dict and attribute in obj:
            return obj[attribute]
        try:
            return getattr(obj, attribute)
        except AttributeError:
            return super().getattr(obj, attribute)

    def make_globals(self, d: MutableMapping[str, object] | None) -> MutableMapping[str, object]:
        """The globals of the environment, and those of a template."""
        return {**self.globals, **(d or {})}


class _Messages(InternationalizationExtension):
    """jinja2's `{% trans %}`, translated when the template is compiled, so that it costs a letter nothing."""

    def parse(self, parser: Parser) -> nodes.Node | list[nodes.Node]:
        """The block in the language's words, with its facts; unchanged if it has several forms."""
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


def _teach(environment: Environment, known: Catalogue, language: str) -> None:
    """Let an environment speak a language: its messages, dates and lists.

    Facts in a message may be phrases, and `language` is its tag. `moment` writes a time and `day` a date (both as all
    letters do), `listed` names one thing after the other, `span` says how long a number of seconds is.
    """
    environment.extend(known=known)

    def filled(context: EvalContext, text: str, facts: Mapping[str, object]) -> str:
        if language != ENGLISH:
            facts = {name: say(fact, known) for name, fact in facts.items()}
        if context.autoescape:
            facts = {name: escape(fact) for name, fact in facts.items()}
            return Markup(text % facts)  # noqa: S704 - a catalogue is as much ours as a template
        return text % facts

    @pass_eval_context
    def _gettext(context: EvalContext, message: str, /, **facts: object) -> str:
        return filled(context, known.gettext(message), facts)

    @pass_eval_context
    def _pgettext(context: EvalContext, where: str, message: str, /, **facts: object) -> str:
        return filled(context, known.pgettext(where, message), facts)

    @pass_eval_context
    def _ngettext(context: EvalContext, one: str, several: str, number: int, /, **facts: object) -> str:
        return filled(context, known.ngettext(one, several, number), {"num": number, **facts})

    def day(written: date | str) -> str:
        from babel.dates import format_date

        pattern = known.pgettext("date", "EEEE d MMMM yyyy")
        return format_date(date.fromisoformat(str(written)), pattern, locale=_locale(language))

    def moment(time: datetime) -> str:
        return str(say(Moment(time), known))

    def listed(things: Iterable[object]) -> str:
        from babel.lists import format_list

        return format_list([str(say(thing, known)) for thing in things], locale=_locale(language))

    # With `newstyle_gettext` the extension hands the facts of a message to these, which fill them in.
    environment.newstyle_gettext = True  # type: ignore[attr-defined]
    # As few as are used: every context copies them, and a letter has many.
    kept = {name: environment.globals[name] for name in ("dict", "namespace", "range")}
    own = {"_": _gettext, "ngettext": _ngettext, "pgettext": _pgettext, "language": language}
    environment.globals = {**kept, **own}
    environment.filters |= {"day": day, "listed": listed, "moment": moment, "span": Span.of}
