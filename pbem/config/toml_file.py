"""Reading a TOML file as tables, and saying what is wrong with it, key by key, in the words of the file."""

from __future__ import annotations

import difflib
import re
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeVar, get_args, get_origin, get_type_hints

import msgspec

from pbem.config.values import Cosigner, Duration, Listen
from pbem.store_place import PostgresqlAddress

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping


_Read = TypeVar("_Read", bound=msgspec.Struct)

_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")


def toml(path: Path) -> dict[str, object]:
    """The tables of a TOML file; raises OSError and ValueError."""
    try:
        return tomllib.loads(path.read_text("utf-8-sig"))  # Notepad begins with a byte order mark
    except ValueError as error:
        raise ValueError(f"no TOML: {error}") from error
    except RecursionError as error:
        raise ValueError("no TOML: brackets in brackets, too deep") from error


def converted(kind: type[_Read], table: dict[str, object]) -> _Read:
    """The values of such a table; raises ValueError with all faults, each in a sentence."""
    if wrong := list(table_faults(kind, table, "")):
        raise ValueError("; ".join(wrong))
    try:
        return msgspec.convert(table, kind, dec_hook=from_text)
    except ValueError as error:
        raise ValueError(in_words(str(error))) from error


def table_faults(kind: type[msgspec.Struct], table: dict[str, object], where: str) -> Iterator[str]:
    """The faults of a table, key by key; faulty keys are removed, so that the rest can be checked."""
    kinds = get_type_hints(kind, include_extras=True)
    for field in msgspec.structs.fields(kind):
        if field.required and field.name not in table:
            yield f"{where}{field.name} is missing"
    for key, value in list(table.items()):
        place, wanted = f"{where}{key}", kinds.get(key)
        for inner, of_inner, found in _inner_tables(place, value, wanted):
            yield from table_faults(inner, found, f"{of_inner}.")
            if any(field.required and field.name not in found for field in msgspec.structs.fields(inner)):
                del table[key]  # so it says all that can be said of it
        if key not in table:
            continue
        fault = _fault(place, value, wanted, kinds, where)
        if fault:
            yield fault
            del table[key]


def _inner_tables(
    place: str, value: object, wanted: object
) -> Iterator[tuple[type[msgspec.Struct], str, dict[str, object]]]:
    """The tables in the value of a key, of which the faults are told one by one; each with its kind and its place."""
    if not isinstance(value, dict):
        return
    if isinstance(wanted, type) and issubclass(wanted, msgspec.Struct):
        yield wanted, place, value
    elif get_origin(wanted) is dict:
        kind = get_args(wanted)[1]
        yield from ((kind, f"{place}.{name}", inner) for name, inner in value.items() if isinstance(inner, dict))


def _fault(place: str, value: object, wanted: object, kinds: Iterable[str], where: str) -> str:
    """The fault of a key's value; empty if there is none."""
    if wanted is None:
        close = difflib.get_close_matches(place.removeprefix(where), kinds, 1)
        return f"{place} is no key of this file" + (f"; did you mean {where}{close[0]}?" if close else "")
    if isinstance(wanted, type) and issubclass(wanted, msgspec.Struct) and not isinstance(value, dict):
        return f"{place} is a table: write [{place}]"
    if get_origin(wanted) is Literal and value not in get_args(wanted):
        return f"{place} = {value!r}: one of {', '.join(get_args(wanted))} is possible"
    if isinstance(value, str) and _CONTROL.search(value):
        return f"{place} = {value!a}: control characters, such as the end of a line, are in no value"
    try:
        msgspec.convert(value, wanted, dec_hook=from_text)
    except ValueError as error:
        form = next((meta.description for meta in get_args(wanted)[1:] if isinstance(meta, msgspec.Meta)), None)
        if form and isinstance(value, str):
            return f"{place} = {value!r}: {form} is expected"
        return f"{place}: {in_words(str(error))}"
    return ""


def from_text(kind: type, text: object) -> object:
    """A value of our own kinds, as msgspec asks for it; raises ValueError."""
    if not isinstance(text, str):
        raise ValueError(f"a text in quotes is expected, not {text!r}")
    if kind not in _READERS:
        raise NotImplementedError(kind)  # as msgspec has it: to be told of a kind that is missing there
    return _READERS[kind](text)


_READERS: Mapping[type, Callable[[str], object]] = {
    object: PostgresqlAddress.parse,
    Path: Path,
    Duration: Duration.parse,
    Listen: Listen.parse,
    Cosigner: Cosigner.parse,
}


def in_words(message: str) -> str:
    """Msgspec's message in the words of the file: keys and tables, not fields and objects."""
    message = re.sub(_EXPECTED, _expected, message)
    return re.sub(r" - at `\$\.?([^`]*)`", lambda found: f" (at {found[1]})" if found[1] else "", message)


_EXPECTED = (
    r"Expected `(\w+)`(?: of length (?P<length>\d+))?(?: (?P<bound>[<>]=) (?P<most>[\d.]+))?"
    r"(?:, got `(?P<given>\w+)`(?: of length \d+)?|, got \d+)?"
)
_KINDS = {
    "int": "a whole number",
    "float": "a number",
    "str": "a text in quotes",
    "bool": "true or false",
    "array": "a list in brackets",
    "object": "a table",
}
_BOUNDS = {">=": "at least", "<=": "at most"}


def _expected(found: re.Match[str]) -> str:
    """The expected and the actual value of a key, where msgspec names types."""
    wanted = _KINDS.get(found[1], found[1])
    wanted += f" of length {found['length']}" if found["length"] else ""
    wanted += f" of {_BOUNDS[found['bound']]} {found['most']}" if found["bound"] else ""
    given = f", not {_KINDS.get(found['given'], found['given'])}" if found["given"] and not found["length"] else ""
    return f"{wanted} is expected{given}"
