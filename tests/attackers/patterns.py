"""Every regular expression of pbem, how it is used, and texts that are hard on it, made of its own parts."""

from __future__ import annotations

import ast
import re
import re._constants as op
import re._parser as parser
import time
from collections import defaultdict
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pbem

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import ModuleType

_METHODS = frozenset({"match", "fullmatch", "search", "finditer", "findall", "sub", "subn", "split"})
_NO_CALL = ("match", "search")
"""The methods by which a pattern is tried whose use was not found: it is handed on as a value."""

_ALPHABET = [*"aZ0f \n\t-=+/.:;,_#<>\"'(){}[]@|*\\!~\x00\xe4\u2028"]
SHORT = 400
"""A repetition of at most so many characters takes no long time."""
_PICKS = 3
"""The number of characters that stand for a class: a letter, a blank, and one that the next part takes, too."""


class Place(NamedTuple):
    """The place of an expression."""

    file: str
    line: int


@dataclass(frozen=True)
class Used:
    """A pattern and the methods that it is used with."""

    place: Place
    pattern: re.Pattern[str] | re.Pattern[bytes]
    methods: frozenset[str]


def modules() -> Iterator[tuple[Path, str]]:
    """The files of pbem and the names of their modules."""
    folder = Path(pbem.__file__).parent
    for path in sorted(folder.rglob("*.py")):
        name = ".".join(path.relative_to(folder.parent).with_suffix("").parts).removesuffix(".__init__")
        if not name.endswith("__main__"):
            yield path, name


@cache
def _nodes(path: Path) -> list[ast.AST]:
    """The parts of a file that say anything of patterns, of tens of thousands."""
    telling = (ast.Attribute, ast.keyword, ast.Assign, ast.AnnAssign, ast.Call)
    return [node for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, telling)]


@cache
def _calls(path: Path | None) -> dict[str, set[str]]:
    """The methods called in a file, or anywhere, by the last word before the dot."""
    found: dict[str, set[str]] = defaultdict(set)
    handed_on: list[tuple[str, str]] = []
    for nodes in [_nodes(path)] if path else [_nodes(path) for path, _ in modules()]:
        for node in nodes:
            if isinstance(node, ast.Attribute) and node.attr in _METHODS:
                of = node.value
                word = of.attr if isinstance(of, ast.Attribute) else of.id if isinstance(of, ast.Name) else ""
                found[word].add(node.attr)
            elif isinstance(node, ast.keyword) and isinstance(node.value, ast.Name) and node.arg:
                handed_on.append((node.value.id, node.arg))
    for name, known_as in handed_on:
        if known_as in found:
            found[name] |= found[known_as]
    return found


def _methods(name: str, path: Path) -> set[str]:
    """The uses of a pattern of this name; a private one is used in its file alone."""
    return _calls(path if name.startswith("_") else None).get(name, set())


def called(name: str, module: ModuleType) -> set[str]:
    """The uses in a module of a pattern that is an attribute of this name."""
    assert module.__file__
    found = _calls(Path(module.__file__)).get(name, set())
    return found or {*_NO_CALL, "finditer"}


def users() -> Iterator[tuple[Path, str]]:
    """The files of pbem that know `re`, and the names of their modules."""
    return ((path, name) for path, name in modules() if "import re\n" in path.read_text("utf-8"))


def used(path: Path, name: str, made: Callable[[str, int], Any]) -> Iterator[Used]:
    """All calls of `re` in a module; `made` gives the pattern where it is made of what only its function knows.

    None where it is tried elsewhere.
    """
    nodes = _nodes(path)
    names = {
        id(node.value): target.id
        for node in nodes
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        if isinstance(target, ast.Name)
    }
    bound = {id(node.value): node.attr for node in nodes if isinstance(node, ast.Attribute) and node.attr in _METHODS}
    for node in nodes:
        if not (isinstance(node, ast.Call) and _of_re(node.func)):
            continue
        assert isinstance(node.func, ast.Attribute)
        place = Place(str(path.relative_to(Path(pbem.__file__).parent.parent)), node.lineno)
        method = node.func.attr
        if (pattern := _pattern(node, name, place, made)) is None:
            continue
        if method == "compile" and id(node) in bound:
            yield Used(place, pattern, frozenset({bound[id(node)]}))
            continue
        methods = _methods(names.get(id(node), ""), path) if method == "compile" else {method}
        yield Used(place, pattern, frozenset(methods or _NO_CALL))


def _of_re(func: ast.expr) -> bool:
    of_re = isinstance(func, ast.Attribute) and isinstance(func.value, ast.Name) and func.value.id == "re"
    return of_re and isinstance(func, ast.Attribute) and func.attr in {*_METHODS, "compile"}


def _pattern(node: ast.Call, module: str, place: Place, made: Callable[[str, int], Any]) -> Any:
    """The pattern of a call, its expressions taken as the module knows them."""
    assert isinstance(node.func, ast.Attribute)
    flags = node.args[1] if node.func.attr == "compile" and len(node.args) > 1 else None
    flags = next((keyword.value for keyword in node.keywords if keyword.arg == "flags"), flags)
    try:
        source, given = (_value(part, module) if part else 0 for part in (node.args[0], flags))
    except NameError:
        return made(place.file, place.line)
    return source if isinstance(source, re.Pattern) else re.compile(source, given)


def _value(node: ast.expr, module: str) -> Any:
    return eval(compile(ast.Expression(node), module, "eval"), vars(import_module(module)))


# Hostile texts.


def hostile(pattern: re.Pattern[Any]) -> Iterator[Callable[[int], str]]:
    """Makers of texts of about so many characters that nearly match, again and again."""
    tree = parser.parse(pattern.pattern, pattern.flags & ~re.DEBUG)
    if tree.getwidth()[1] < SHORT and not _looks_around(tree):
        return  # what takes no more than so much is linear
    seen = set()
    for pick in range(_PICKS):
        whole = _sample(tree, pick)
        parts = {("", whole), ("", whole[:-1]), ("", whole[: len(whole) // 2])}
        for prefix, unit in {*parts, *_repeated(tree, "", pick)}:
            for key in (
                (prefix, unit, ""),
                (prefix, unit, "\x00"),
                ("", prefix + unit, ""),
                (prefix, unit, "\n" + whole),
            ):
                if key not in seen and key[1]:
                    seen.add(key)
                    yield _maker(*key)


def _looks_around(tree: Any) -> bool:
    return any(
        kind in {op.ASSERT, op.ASSERT_NOT} or any(map(_looks_around, _inner(kind, value))) for kind, value in tree
    )


def _maker(prefix: str, unit: str, end: str) -> Callable[[int], str]:
    return lambda size: prefix + unit * (size // len(unit)) + end


def _repeated(tree: Any, before: str, pick: int) -> Iterator[tuple[str, str]]:
    """The repetitions in a pattern, each with what must stand before it."""
    for kind, value in tree:
        if kind in {op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT}:
            for other in range(_PICKS):
                yield before, _sample(value[2], other)
            yield before, _sample(value[2], pick) + _sample(value[2], (pick + 1) % _PICKS)
        for inner in _inner(kind, value):
            yield from _repeated(inner, before, pick)
        before += _sample([(kind, value)], pick)
    yield "", before


def _inner(kind: Any, value: Any) -> list[Any]:
    if kind in {op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT}:
        return [value[2]]
    if kind is op.SUBPATTERN:
        return [value[3]]
    if kind is op.BRANCH:
        return list(value[1])
    if kind is op.ATOMIC_GROUP:
        return [value]
    return [value[1]] if kind in {op.ASSERT, op.ASSERT_NOT} else []


def _sample(tree: Any, pick: int) -> str:
    """A text that the pattern takes, or nearly."""
    return "".join(_sampled(kind, value, pick) for kind, value in tree)


def _sampled(kind: Any, value: Any, pick: int) -> str:
    if kind is op.LITERAL:
        return chr(value)
    if kind in {op.NOT_LITERAL, op.ANY, op.IN}:
        items = [(op.NEGATE, None), (op.LITERAL, value)] if kind is op.NOT_LITERAL else value
        takes = [char for char in _ALPHABET if kind is op.ANY or _takes(items, char)] or [_first(items)]
        return str(takes[pick % len(takes)] if pick < _PICKS - 1 else takes[-1])
    if kind in {op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT}:
        least, most, inner = value
        return _sample(inner, pick) * int(max(least, min(1, most)))
    if kind is op.BRANCH:
        return _sample(value[1][pick % len(value[1])], pick)
    if kind in {op.ASSERT, op.ASSERT_NOT, op.AT, op.GROUPREF}:
        return ""
    inner = _inner(kind, value)
    return _sample(inner[0], pick) if inner else ""


def _first(items: Any) -> str:
    """A character of a class that takes none of the usual ones, such as `[A-J]`."""
    return next((chr(value if kind is op.LITERAL else value[0]) for kind, value in items if kind in _SINGLE), "a")


_SINGLE = {op.LITERAL, op.RANGE}


def _takes(items: Any, char: str) -> bool:
    taken = False
    negated = False
    for kind, value in items:
        if kind is op.NEGATE:
            negated = True
        elif kind is op.LITERAL:
            taken |= ord(char) == value
        elif kind is op.RANGE:
            taken |= value[0] <= ord(char) <= value[1]
        elif kind is op.CATEGORY:
            taken |= re.match(_CATEGORIES[value], char) is not None
    return taken != negated


_CATEGORIES = {
    op.CATEGORY_SPACE: r"\s",
    op.CATEGORY_NOT_SPACE: r"\S",
    op.CATEGORY_WORD: r"\w",
    op.CATEGORY_NOT_WORD: r"\W",
    op.CATEGORY_DIGIT: r"\d",
    op.CATEGORY_NOT_DIGIT: r"\D",
}


# How long it takes.

SIZES = (18, 22, 96, 384, 1536, 6144)
LARGE = 24_576
"""Tried where the last step began to look steep."""
NOTHING = 0.002
"""Seconds that are not measured: they are the machine's."""
STEEP = 8
"""The growth for four times the text that is still taken for linear: linear is 4, square is 16."""


def superlinear(pattern: re.Pattern[Any], method: str, make: Callable[[int], str]) -> str | None:
    """A text for which the time grows faster than its length, in short; None when it does not."""
    before, last, steeper = NOTHING, 0.0, True
    for size in (*SIZES, LARGE):
        if size == LARGE and not steeper:
            break
        text: Any = make(size)
        data = text.encode("utf-8", "replace") if isinstance(pattern.pattern, bytes) else text
        run = _runner(pattern, method)
        took = _seconds(run, data, 1)
        if took > max(before, NOTHING / STEEP) * STEEP:
            took = _seconds(run, data, 3)
            if took > max(before, NOTHING / STEEP) * STEEP and _steep(run, make, size, isinstance(data, bytes)):
                return f"{size}: {text[:60]!r} in {took:.3f} s"
        steeper = took > STEEP * 0.7 * last
        before, last = max(took, NOTHING / STEEP), took
    return None


def _steep(run: Callable[[Any], object], make: Callable[[int], str], size: int, octets: bool) -> bool:
    """Measured side by side once more."""
    texts = [make(size // 4), make(size)]
    data = [text.encode("utf-8", "replace") if octets else text for text in texts]
    short, long = min(_seconds(run, data[0], 1) for _ in range(5)), min(_seconds(run, data[1], 1) for _ in range(3))
    return long > NOTHING and long > STEEP * short


def _runner(pattern: re.Pattern[Any], method: str) -> Callable[[Any], object]:
    if method == "finditer":
        return pattern.findall
    if method in {"sub", "subn"}:
        return lambda text: pattern.sub(lambda found: found[0], text)
    return getattr(pattern, method)  # type: ignore[no-any-return]  # by its name


def _seconds(run: Callable[[Any], object], data: Any, times: int) -> float:
    best = float("inf")
    for _ in range(times):
        began = time.process_time()
        run(data)
        best = min(best, time.process_time() - began)
    return best
