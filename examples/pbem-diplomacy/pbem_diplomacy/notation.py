"""The notation of orders, as judges take it: `A Par-Bur`, `F Lon S A Yor-Nth`, `F Nth C A Lon-Bel`, `A Lon-Bel via`.

Names may be written out, or begun as far as no other begins so, and the kind of a unit left out. An army may name the
seas on its way: `A Lon-Nth-Bel`. What nJudge takes is taken: `A Bur-Par` as a retreat, commas between orders.
"""

from __future__ import annotations

import re
from difflib import get_close_matches
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Final

from pbem.phrase import Phrase, either
from pbem_diplomacy.geography import ARMY, FLEET, standard
from pbem_diplomacy.orders import BUILD, CONVOY, DISBAND, HOLD, MOVE, RETREAT, SUPPORT, WAIVE, Order

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pbem.games.player_text import Text

DASHES: Final = "-\N{EN DASH}\N{EM DASH}\N{MINUS SIGN}\N{RIGHTWARDS ARROW}"
"""The hyphen, and what mail programs make of it."""

ARROWS: Final = ("->", "=>", *DASHES)

WORDS: Final[Mapping[str, tuple[str, ...]]] = {
    ARMY: ("a", "army"),
    FLEET: ("f", "fleet"),
    MOVE: (*ARROWS, "to", "m", "moves", "move", "attacks", "attack"),
    SUPPORT: ("s", "support", "supports"),
    CONVOY: ("c", "convoy", "convoys"),
    HOLD: ("h", "hold", "holds", "stand", "stands"),
    RETREAT: ("r", "retreat", "retreats"),
    DISBAND: ("d", "disband", "disbands", "remove", "removes"),
    BUILD: ("b", "build", "builds"),
    WAIVE: ("w", "waive"),
    "via": ("via",),
}
"""The words of the notation, by what they mean."""

ELSEWHERE: Final[Mapping[str, tuple[str, ...]]] = {
    "BOT": ("gob",),
    "LYO": ("gol", "gulf of lyons"),
    "TYS": ("tyn",),
    "NWG": ("nrg",),
    "NAO": ("nat",),
    "MAO": ("mid", "mat", "mid atlantic", "mid atlantic ocean"),
    "LVN": ("lvo",),
    "LVP": ("lpl",),
    "NWY": ("nor",),
    "TYR": ("tyl", "trl"),
    "EAS": ("emed",),
    "WES": ("wmed",),
    "HEL": ("hlg", "heligoland", "heligoland bight"),
    "ENG": ("ech",),
    "STP": ("st. petersburg", "st.petersburg"),
    "RUM": ("romania",),
}
"""Other codes of provinces in use; `liv`, which is Livonia to some and Liverpool to others, is none."""


@cache
def _token() -> re.Pattern[str]:
    words = "|".join(re.escape(name).replace(r"\ ", r"\s+") for name in sorted(_places(), key=len, reverse=True))
    dashes = re.escape(DASHES)
    coast = r"(?P<coast>[nsew])(?:c\b|(?:orth|outh|ast|est)\s+coast\b)"
    return re.compile(
        rf"(?P<place>\b(?:{words})\b)(?:\s*[/(\s]\s*{coast}\s*\)?)?|[-=]>|[{dashes}]|[^\s{dashes},;.()=]+",
        re.IGNORECASE,
    )


@cache
def _beside() -> re.Pattern[str]:
    return re.compile(rf"\b(?:{'|'.join(standard().powers)}) ?:|^ *\d{{1,2}}[.)](?= )", re.IGNORECASE | re.MULTILINE)


@cache
def _places() -> Mapping[str, str]:
    """The code of each province, by its names in small letters, and by their beginnings.

    These have four letters or more, and three of their last word: `North S` is the North Sea that supports.
    """
    names = {province.name.lower(): code for code, province in standard().provinces.items()}
    starts = {name[:end] for name in names for end in range(4, len(name)) if _BEGINNING.search(name[:end])}
    begun = {start: codes[0] for start in starts if len(codes := meant(start)) == 1}
    elsewhere = {name: code for code, others in ELSEWHERE.items() for name in others}
    return begun | names | {code.lower(): code for code in standard().provinces} | elsewhere


_BEGINNING: Final = re.compile(r"(?:^[a-z]{4,}|[ -][a-z]{3,})$")


def meant(word: str) -> list[str]:
    """The codes of the provinces whose names begin like this."""
    return [code for code, each in standard().provinces.items() if each.name.lower().startswith(word.lower())]


def corrected(text: str) -> str:
    """A text with the names of provinces that it misspells as they are written."""
    return _LONG_WORD.sub(lambda found: _nearest(found[0]), text)


_LONG_WORD: Final = re.compile(r"[^\W\d_]{5,40}")


@lru_cache(maxsize=4096)  # of the words of all letters
def _nearest(word: str) -> str:
    """The word of a province's name that another is nearly, or that other."""
    names = {part for province in standard().provinces.values() for part in province.name.split()}
    near = get_close_matches(word.title(), sorted(names), 1, 0.82)
    return near[0] if near and word.lower() not in _places() else word


_MEANING: Final = {word: meaning for meaning, words in WORDS.items() for word in words}


def spelled(place: str) -> str:
    """A place as orders write it: `Par`, `Stp/nc`."""
    province, slash, coast = place.partition("/")
    return province.capitalize() + slash + coast.lower()


def written(order: Order) -> str:
    """An order in the notation."""
    if order.verb == WAIVE:
        return "waive"
    unit = f"{order.kind} {spelled(order.place)}"
    other = f"{order.of_kind} {spelled(order.of_place)}" if order.of_place else ""
    to = spelled(order.to)
    match order.verb:
        case "-":
            return f"{unit}-{to}{' via' if order.via else ''}"
        case "S":
            return f"{unit} S {other}-{to}" if to else f"{unit} S {other}"
        case "C":
            return f"{unit} C {other}-{to}"
        case "R":
            return f"{unit} R {to}"
        case "B":
            return f"build {unit}"
    return f"{unit} {order.verb}"


_PROSE: Final = 5
"""The least number of strange words that make prose of a text with verbs of the notation."""


class Reader:
    """The orders in a text, with the place where each begins; what cannot be read is noted as a fault."""

    def __init__(self, text: Text) -> None:
        self._text = text
        # The name of a power above its orders, and the number before each, mean nothing.
        plain = _beside().sub(lambda found: " " * len(found[0]), text.text)
        self._tokens = [(found.start(), _meaning(found), found[0]) for found in _token().finditer(plain)]
        self._at = 0

    def orders(self) -> list[tuple[int, Order]]:
        """All orders that can be read."""
        found, is_prose = [], self._is_prose()
        while self._at < len(self._tokens):
            begins = self._at
            if order := self._order():
                found.append((self._tokens[begins][0], order))
                continue
            # The next order begins with a unit. Until then all is one fault; prose has one for each strange word.
            self._blame(min(self._at, len(self._tokens) - 1))
            self._at += 1
            while self._at < len(self._tokens) and self._peek() not in {ARMY, FLEET}:
                if is_prose and not self._peek():
                    self._blame(self._at)
                self._at += 1
        return found

    def _is_prose(self) -> bool:
        """True if no order can be meant: nothing looks like a unit or a dash, and few words are the notation's."""
        told = {meaning for at, (_, meaning, _) in enumerate(self._tokens) if not self._is_article(at)}
        dashes = any(word in ARROWS for _, _, word in self._tokens)
        strange = sum(not meaning for _, meaning, _ in self._tokens)
        verbs = any(meaning and not meaning.startswith("@") for meaning in told)
        return not dashes and told.isdisjoint({ARMY, FLEET}) and (strange >= _PROSE or not verbs)

    def _is_article(self, at: int) -> bool:
        """True for the word `a` within a sentence, before what is no province: their codes have three letters."""
        if not 0 < at < len(self._tokens) - 1 or self._tokens[at][2] != "a" or self._tokens[at - 1][1]:
            return False
        _, meaning, word = self._tokens[at + 1]
        return not meaning.startswith("@") and len(word) != 3

    def _blame(self, at: int) -> None:
        """Note the token at an index, which cannot be read."""
        place, _, word = self._tokens[at]
        says = Phrase("this is no order; write `A Par-Bur` or `F Lon S A Yor-Nth`")
        if len(word) > 2 and len(codes := meant(word)) > 1:
            says = Phrase("more than one province begins like this: {places}", places=either(map(spelled, codes)))
        self._text.blame("2", word[:80], says, place)

    def _peek(self) -> str:
        return self._tokens[self._at][1] if self._at < len(self._tokens) else ""

    def _take(self, *meanings: str) -> str:
        """The next token, if it means one of these; `moves to` means the same as either."""
        if (found := self._peek()) in meanings:
            self._at += 1
            while found == self._peek() == MOVE:
                self._at += 1
            return found
        return ""

    def _place(self) -> str:
        """The place that comes next, or nothing."""
        found = self._peek()
        if not found.startswith("@"):
            return ""
        self._at += 1
        return found[1:]

    def _order(self) -> Order | None:
        """The next order, or None where none can be read."""
        if self._take(WAIVE):
            return Order("", "", "", WAIVE)
        verb = self._take(BUILD, DISBAND, RETREAT)
        kind = self._take(ARMY, FLEET)
        place = self._place()
        if not place:
            return None
        if verb == RETREAT and self._peek() != MOVE:  # before a unit without a destination, an R removes it
            verb = DISBAND
        verb = verb or self._take(MOVE, SUPPORT, CONVOY, HOLD, RETREAT, DISBAND, BUILD)
        order = Order("", kind, place, verb)
        if verb in {HOLD, DISBAND, BUILD}:
            return order
        if verb == RETREAT:
            self._take(MOVE)
            to = self._place()
            return order._replace(to=to) if to else None
        if verb == MOVE:
            return self._move(order)
        if verb not in {SUPPORT, CONVOY}:
            return None
        of_kind = self._take(ARMY, FLEET)
        of_place = self._place()
        order = order._replace(of_kind=of_kind, of_place=of_place)
        if of_place and self._take(MOVE):
            to = self._place()
            return order._replace(to=to) if to else None
        self._take(HOLD)
        return order if of_place and verb == SUPPORT else None

    def _move(self, order: Order) -> Order | None:
        """A move, perhaps over seas that are named."""
        places = [self._place()]
        while places[-1] and self._take(MOVE):
            places.append(self._place())
        if not places[-1]:
            return None
        via = len(places) > 1 or bool(self._take("via"))
        self._take(CONVOY)  # `via convoy`
        return order._replace(to=places[-1], via=via)


def _meaning(found: re.Match[str]) -> str:
    """The meaning of a token: a word of the notation, or `@` and a place; empty for neither."""
    if name := found["place"]:
        code = _places()[" ".join(name.lower().split())]
        return f"@{code}/{found['coast'].upper()}C" if found["coast"] else f"@{code}"
    return _MEANING.get(found[0].lower(), "")
