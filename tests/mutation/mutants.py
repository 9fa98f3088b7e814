"""The mutants of a module: mutmut makes them, small errors each.

None are made of annotations, casts, docstrings, decorators and decorated functions (by mutmut), nor of what compiles
to the same byte code, and none of what runs once, when a module is imported: tables, and the fields of classes. The
letters of words for people are left alone, too.
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import TYPE_CHECKING

import libcst
from libcst.matchers import Call, Name, findall
from libcst.metadata import MetadataWrapper, PositionProvider
from mutation.rooms import ROOT
from mutmut.mutation.file_mutation import create_mutations, deep_replace

if TYPE_CHECKING:
    from pathlib import Path

    from libcst import FunctionDef, Module
    from mutmut.mutation.file_mutation import Mutation


class Source:
    """A module that is mutated: its text, and all mutants of its functions, in the order of the text."""

    def __init__(self, path: Path) -> None:
        self.path, self.name = path, str(path.relative_to(ROOT))
        self.text = path.read_text("utf-8")
        module, mutations, *_ = create_mutations(self.name, self.text)
        self._module: Module = module
        casts = [node for node in findall(module, Call(func=Name("cast"))) if isinstance(node, libcst.Call)]
        self._types = {id(node) for cast in casts for node in (cast, cast.args[0].value)}
        wrapper = MetadataWrapper(module, unsafe_skip_copy=True)
        self._positions = wrapper.resolve(PositionProvider)
        self.mutations = [found for found in mutations if self._is_in_a_body(found)]

    def _is_in_a_body(self, mutation: Mutation) -> bool:
        function = mutation.contained_by_top_level_function
        if function is None or type(function).__name__ != "FunctionDef" or mutation.original_node is function:
            return False
        if _is_a_sentence(mutation.original_node) or id(mutation.original_node) in self._types:
            return False
        return bool(self.lines(mutation)[0] >= self._positions[function.body].start.line)

    def lines(self, mutation: Mutation) -> tuple[int, int]:
        """The first and the last line of what is changed."""
        position = self._positions[mutation.original_node]
        return position.start.line, position.end.line

    def function(self, mutation: Mutation) -> tuple[str, int, int]:
        """The name of the function or method that is changed, its first line and its last."""
        function: FunctionDef | None = mutation.contained_by_top_level_function
        assert function is not None
        first = function.decorators[0] if function.decorators else function
        return function.name.value, self._positions[first].start.line, self._positions[function].end.line

    def mutated(self, mutation: Mutation) -> str:
        changed = deep_replace(self._module, mutation.original_node, mutation.mutated_node)
        return str(changed.code)

    def difference(self, mutated: str) -> str:
        """The lines that a mutant removes, and those in their place."""
        lines = difflib.unified_diff(self.text.splitlines(), mutated.splitlines(), n=0, lineterm="")
        return "\n".join(line for line in lines if not line.startswith(("---", "+++", "@@")))


def _is_a_sentence(node: object) -> bool:
    """Words for people, whose letters say nothing of what the code does; the catalogues' test reads them."""
    return isinstance(node, libcst.SimpleString) and " " in node.value.strip("\"' ")


@dataclass(frozen=True)
class Mutant:
    """One change of one module, by its number there."""

    source: Source
    number: int

    @property
    def name(self) -> str:
        return f"{self.source.name}:{self.number}"

    @property
    def mutation(self) -> Mutation:
        return self.source.mutations[self.number]
