"""5. The entries: the forms of their bodies."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from verifier.conventions import HASH, No, moment, must

if TYPE_CHECKING:
    from collections.abc import Iterator

    from verifier.state import Match
    from verifier.transcript import Entry


def is_number(value: Any) -> bool:
    return type(value) is int and 0 <= value < 10**9


def is_text(value: Any) -> bool:
    return isinstance(value, str) and len(value) <= 200_000


def is_hash(value: Any) -> bool:
    return isinstance(value, str) and HASH.fullmatch(value) is not None


def is_time(value: Any) -> bool:
    try:
        return isinstance(value, str) and bool(moment(value))
    except No:
        return False


def is_day(value: Any) -> bool:
    return value is None or (
        isinstance(value, str)
        and re.fullmatch("[0-9]{4}-[0-9]{2}-[0-9]{2}", value) is not None
        and is_time(f"{value}T00:00:00Z")
    )


def is_seat(value: Any) -> bool:
    return is_number(value) and 0 < value <= 9


def list_of(kind: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, list) and all(kind(one) for one in value)


def are_seats(value: Any) -> bool:
    return list_of(is_seat)(value) and bool(value == sorted(set(value)))


def by_seat(kind: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: (
        isinstance(value, dict) and all(re.fullmatch("[1-9]", seat) and kind(one) for seat, one in value.items())
    )


def one_of(*values: object) -> Callable[[Any], bool]:
    return lambda value: any(value is one or (isinstance(one, str) and value == one) for one in values)


def is_key(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and set(value) == {"format", "fingerprint", "public"}
        and all(map(is_text, value.values()))
    )


def is_player(value: Any) -> bool:
    if not isinstance(value, dict) or set(value) - {"mailbox"} != {"name", "keys"}:
        return False
    return is_text(value["name"]) and list_of(is_key)(value["keys"]) and is_hash(value.get("mailbox", "0" * 64))


def is_letter(value: Any) -> bool:
    if not isinstance(value, dict) or not {"mail", "received"} <= set(value):
        return False
    more = {"level", "evidence"} if "level" in value or "evidence" in value else set()
    more |= {"rev"} & set(value) if more else set()
    fits = (
        set(value) == {"mail", "received", *more}
        and is_number(value.get("rev", 1))
        and is_hash(value["mail"])
        and is_time(value["received"])
    )
    return fits and (not more or (value["level"] == "mailbox" and is_hash(value["evidence"])))


def is_object(value: Any) -> bool:
    return isinstance(value, dict)


def is_changes(value: Any) -> bool:
    return isinstance(value, dict) and set(value) <= {"old", "new"} and all(map(is_hash, value.values()))


def is_scores(value: Any) -> bool:
    return isinstance(value, list) and all(type(one) is int and abs(one) < 10**9 for one in value)


LABEL = "[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?"


def is_host(value: Any) -> bool:
    return isinstance(value, str) and len(value) <= 253 and bool(re.fullmatch(rf"{LABEL}(\.{LABEL})*", value))


Form = dict[str, Callable[[Any], bool]]


def each(kind: Callable[[Any], bool], keys: str) -> Form:
    return dict.fromkeys(keys.split(), kind)


SENTENCES = {"extended", "claimed", "draw", "annul", "substitute", "substituted", "resigned"}
OFFER = {"seat": is_seat, "word": one_of("offer", "accept", "decline")}
BARE = {"by": one_of("operator"), "reason": is_text}
END = each(is_number, "game turns winner") | {"scores": is_scores, "reason": is_text}
FORMS: dict[str, Form] = {
    "agreed": each(is_text, "version match")
    | {"server": is_host}
    | each(is_hash, "server_key rules")
    | {"terms": is_object, "bundle": is_number, "players": by_seat(is_player), "letters": by_seat(is_letter)},
    "commitments": {"game": is_number, "options": is_object, "commitments": by_seat(is_hash), "trace": is_hash},
    "turn": each(is_number, "game turn")
    | each(by_seat(is_hash), "orders shown")
    | each(is_hash, "reports trace")
    | {"default": are_seats},
    "missed": each(is_number, "game turn") | {"seat": is_seat, "deadline": is_time},
    "extended": {"seat": is_seat, "to": are_seats, "seconds": is_number},
    "forfeited": {"game": is_number, "seats": are_seats},
    "claimed": {"seat": is_seat, "against": are_seats},
    "draw": OFFER,
    "annul": OFFER,
    "moved": {"seats": are_seats, "reason": one_of("outage", "delivery", "unreachable"), "until": is_time},
    "halted": {"seat": is_seat, "reason": one_of("delivery", "unreachable")},
    "vacation": {"seat": is_seat, "from": is_day, "to": is_day},
    "keys": {"seat": is_seat, "change": one_of("added", "revoked", "replaced"), "how": is_text}
    | {"added": list_of(is_key), "revoked": list_of(is_text), "letters": is_changes},
    "substitute": {"seat": is_seat, "for": is_seat, "name": is_text},
    "substituted": {"seat": is_seat, "player": is_player},
    "paused": BARE,
    "resumed": BARE,
    "stopped": BARE,
    "restored": {"generation": is_number},
    "resigned": {"seat": is_seat, "match": one_of(True, False)},
    "ended": END | {"trace": is_hash},
    "revealed": {"game": is_number, "record": is_hash},
    "closed": {"winner": is_number, "scores": is_scores, "reason": is_text},
}

LETTER = {"mail": is_hash, "received": is_time, "words": is_hash}
NAMED = re.compile(
    r"(?!(server|player|prev|rev|challenge|fingerprint|proof|end|final|with|stop)$)[a-z][a-z0-9_-]{0,31}"
)


def is_name(value: Any) -> bool:
    return isinstance(value, str) and NAMED.fullmatch(value) is not None


def or_null(kind: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: value is None or kind(value)


def is_match(value: Any) -> bool:
    return isinstance(value, str) and re.fullmatch("m[1-9][0-9]{0,8}", value) is not None


def two_of(kind: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: list_of(kind)(value) and len(value) == 2


def is_pair(value: Any) -> bool:
    kinds = {"round": is_number, "board": is_number, "players": two_of(is_name), "match": is_match}
    return (
        isinstance(value, dict) and set(value) == set(kinds) and all(kind(value[key]) for key, kind in kinds.items())
    )


TOURNAMENT_FORMS: dict[str, Form] = {
    "announced": each(is_text, "version tournament")
    | {"server": is_host}
    | each(is_hash, "server_key rules")
    | {"register": is_number, "terms": is_object, "secret": or_null(is_hash), "organiser": is_player}
    | LETTER,
    "entered": {"player": is_player, "team": or_null(is_name)} | LETTER,
    "left": each(is_name, "player") | LETTER,
    "challenged": each(is_name, "player against") | LETTER,
    "started": {"secret": is_hash, "order": list_of(is_name)},
    "paired": {"pairs": list_of(is_pair), "bye": or_null(is_name), "unfinished": list_of(is_match)}
    | {"rematches": is_number},
    "result": {"match": is_match, "closed": is_hash, "players": two_of(is_name), "winner": is_number}
    | {"scores": is_scores, "reason": is_text, "turns": is_number, "missed": two_of(is_number), "silent": are_seats},
    "ruled": {"what": is_text, "reason": is_text, "by": one_of("organiser", "operator")},
    "restored": {"generation": is_number},
    "withdrawn": {"player": is_name, "why": is_text, "games": is_text},
    "ended": {"reason": is_text, "table": list_of(list_of(is_object))},
}
RULINGS: dict[str, Form] = {
    "annul": {"match": is_match},
    "substitute": {"player": is_name, "for": is_name},
    "close": {},
}


def check_tournament_form(entry: Entry) -> None:
    body = entry.body
    must(entry.type in TOURNAMENT_FORMS, "an unknown type")
    kinds = dict(TOURNAMENT_FORMS[entry.type])
    if entry.type == "ruled":
        must(isinstance(body.get("what"), str) and body["what"] in RULINGS, "no such ruling")
        kinds |= RULINGS[body["what"]] | (LETTER if body.get("by") == "organiser" else {})
        kinds |= {"organiser": is_object} if "mail" in kinds and "organiser" in body else {}
    if "mail" in kinds and ("level" in body or "evidence" in body):
        kinds |= {"level": one_of("mailbox"), "evidence": is_hash}
    must(set(body) == set(kinds), "other keys in the body")
    for key, kind in kinds.items():
        must(kind(body[key]), f"another kind of value: {key}")


def is_verdict(value: Any) -> bool:
    if isinstance(value, str):
        return value in {"honest", "not revealed"}
    if not isinstance(value, dict) or set(value) != {"false"} or not isinstance(value["false"], dict):
        return False
    kinds = {"turn": is_number, "step": is_text, "ruling": is_text}
    return set(value["false"]) == set(kinds) and all(kind(value["false"][key]) for key, kind in kinds.items())


SEALED_FORMS: dict[str, Form] = {
    "sealed": {"game": is_number, "options": is_object, "trace": is_hash}
    | each(by_seat(is_hash), "commitments receipts"),
    "step": each(is_number, "game turn")
    | each(is_text, "step path")
    | each(is_hash, "paper mail")
    | {"seat": is_seat, "received": is_time},
    "turn": each(is_number, "game turn") | {"shown": by_seat(is_hash), "reports": is_hash},
    "reveal": {"game": is_number, "seat": is_seat, "mail": is_hash, "received": is_time},
    "verdict": {"game": is_number, "verdicts": by_seat(is_verdict)},
    "ended": END,
}


ADDRESSES = {"agreed": ("proposal", "replies"), **dict.fromkeys(("commitments", "turn", "revealed"), ("replies",))}
"""The secrets of reply addresses that an entry may name (4.10)."""


def check_form(match: Match, entry: Entry) -> None:
    kinds, body = FORMS.get(entry.type), dict(entry.body)
    if match.terms.get("sealed") and entry.type in SEALED_FORMS:
        kinds = SEALED_FORMS[entry.type]
        kinds = {key: kind for key, kind in kinds.items() if key != "path" or "path" in body}
    must(kinds is not None, "an unknown type")
    assert kinds is not None
    kinds = dict(kinds)
    if entry.type in SENTENCES:
        kinds |= {"mail": is_hash, "received": is_time, "rev": is_number}
        if "level" in body or "evidence" in body:
            kinds |= {"level": one_of("mailbox"), "evidence": is_hash}
    may = [] if match.terms.get("sealed") else [*ADDRESSES.get(entry.type, ())]
    if not match.judged:
        may += ["trace"] if entry.type == "closed" else ["chance"] if "replies" in may else []
    elif entry.type == "closed" and match.phase == "setup":
        kinds["trace"] = is_hash
    kinds |= {key: is_hash for key in may if key in body}
    must(set(body) == set(kinds), "other keys in the body")
    for key, kind in kinds.items():
        must(kind(body[key]), f"another kind of value: {key}")
    seats = range(1, len(body["players"]) + 1) if entry.type == "agreed" else match.seats
    must(all(seat in seats for seat in seats_in(entry)), "a seat that is not there")


BY_SEAT = {"letters", "players", "commitments", "orders", "shown", "receipts", "verdicts"}


def seats_in(entry: Entry) -> Iterator[int]:
    """The seats that a body names, in whatever way."""
    for key, value in entry.body.items():
        if key in {"seat", "for"}:
            yield value
        elif key in {"seats", "to", "against", "default"} and isinstance(value, list):
            yield from value
        elif isinstance(value, dict) and entry.type in {"agreed", "commitments", "turn", "sealed", "verdict"}:
            yield from (int(seat) for seat in value if key in BY_SEAT)
