"""5. The entries: the forms of their bodies."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from verifier.commands import NAME
from verifier.conventions import HASH, No, moment, must

if TYPE_CHECKING:
    from collections.abc import Iterator

    from verifier.state import Match
    from verifier.transcript import Entry

Kind = Callable[[Any], bool]
Form = dict[str, Kind]


def is_number(value: Any) -> bool:
    return type(value) is int and 0 <= value < 10**9


def is_text(value: Any) -> bool:
    return isinstance(value, str) and len(value) <= 200_000


def is_like(pattern: str | re.Pattern[str]) -> Kind:
    return lambda value: isinstance(value, str) and re.fullmatch(pattern, value) is not None


def is_time(value: Any) -> bool:
    try:
        return isinstance(value, str) and bool(moment(value))
    except No:
        return False


def is_day(value: Any) -> bool:
    return is_like("[0-9]{4}-[0-9]{2}-[0-9]{2}")(value) and is_time(f"{value}T00:00:00Z")


def is_seat(value: Any) -> bool:
    return is_number(value) and 0 < value <= 9


def is_object(value: Any) -> bool:
    return isinstance(value, dict)


def list_of(kind: Kind) -> Kind:
    return lambda value: isinstance(value, list) and all(map(kind, value))


def or_null(kind: Kind) -> Kind:
    return lambda value: value is None or kind(value)


def one_of(*values: object) -> Kind:
    return lambda value: any(value is one or (isinstance(one, str) and value == one) for one in values)


def by_seat(kind: Kind) -> Kind:
    return lambda value: is_object(value) and all(re.fullmatch("[1-9]", key) and kind(value[key]) for key in value)


def object_of(may: Form | None = None, /, **kinds: Kind) -> Kind:
    """An object with these keys, and perhaps with those of `may`."""
    known = kinds | (may or {})
    return lambda value: (
        is_object(value)
        and kinds.keys() <= value.keys() <= known.keys()
        and all(known[key](one) for key, one in value.items())
    )


def are_seats(value: Any) -> bool:
    return list_of(is_seat)(value) and bool(value == sorted(set(value)))


def is_letter(value: Any) -> bool:
    by_mailbox = is_object(value) and bool({"level", "evidence"} & set(value))
    return (letter_by_mailbox if by_mailbox else object_of(mail=is_hash, received=is_time))(value)


def is_scores(value: Any) -> bool:
    return isinstance(value, list) and all(type(one) is int and abs(one) < 10**9 for one in value)


def is_host(value: Any) -> bool:
    label = "[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?"
    return is_like(rf"{label}(\.{label})*")(value) and len(value) <= 253


def is_verdict(value: Any) -> bool:
    return one_of("honest", "not revealed")(value) or is_false(value)


def each(kind: Kind, keys: str) -> Form:
    return dict.fromkeys(keys.split(), kind)


is_hash, is_name, is_match = is_like(HASH), is_like(NAME), is_like("m[1-9][0-9]{0,8}")
is_key = object_of(format=is_text, fingerprint=is_text, public=is_text)
is_player = object_of({"mailbox": is_hash}, name=is_text, keys=list_of(is_key))
is_false = object_of(false=object_of(turn=is_number, step=is_text, ruling=is_text))
is_pair = object_of(round=is_number, board=is_number, players=list_of(is_name), match=is_match)
BY_MAILBOX = {"level": one_of("mailbox"), "evidence": is_hash}
letter_by_mailbox = object_of({"rev": is_number}, mail=is_hash, received=is_time, **BY_MAILBOX)

SENTENCE = {"mail": is_hash, "received": is_time, "rev": is_number}
OFFER = {"seat": is_seat, "word": one_of("offer", "accept", "decline")} | SENTENCE
BARE = {"by": one_of("operator"), "reason": is_text}
END = each(is_number, "game turns") | {"winners": are_seats, "scores": is_scores, "reason": is_text}
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
    "extended": {"seat": is_seat, "to": are_seats, "seconds": is_number} | SENTENCE,
    "forfeited": {"game": is_number, "seats": are_seats},
    "left": each(is_number, "game turn")
    | {"seat": is_seat, "cause": one_of("silent", "resigned"), "entries": list_of(is_number)},
    "claimed": {"seat": is_seat, "against": are_seats} | SENTENCE,
    "draw": OFFER,
    "annul": OFFER,
    "moved": {"seats": are_seats, "reason": one_of("outage", "delivery", "unreachable"), "until": is_time},
    "halted": {"seat": is_seat, "reason": one_of("delivery", "unreachable")},
    "vacation": {"seat": is_seat} | each(or_null(is_day), "from to"),
    "keys": {"seat": is_seat, "change": one_of("added", "revoked", "replaced"), "how": is_text}
    | {"added": list_of(is_key), "revoked": list_of(is_text), "letters": object_of(each(is_hash, "old new"))},
    "substitute": {"seat": is_seat, "for": is_seat, "name": is_text} | SENTENCE,
    "substituted": {"seat": is_seat, "player": is_player} | SENTENCE,
    "paused": BARE,
    "resumed": BARE,
    "stopped": BARE,
    "restored": {"generation": is_number},
    "resigned": {"seat": is_seat, "match": one_of(True, False)} | SENTENCE,
    "ended": END | {"trace": is_hash},
    "revealed": {"game": is_number, "record": is_hash},
    "closed": {"winners": are_seats, "scores": is_scores, "reason": is_text},
}
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

LETTER = {"mail": is_hash, "received": is_time, "words": is_hash}
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
    "paired": {"pairs": list_of(is_pair), "byes": list_of(is_name), "unfinished": list_of(is_match)}
    | {"rematches": is_number},
    "result": {"match": is_match, "closed": is_hash, "players": list_of(is_name), "winners": are_seats}
    | {"scores": is_scores, "reason": is_text, "turns": is_number, "missed": list_of(is_number)}
    | {"silent": are_seats, "resigned": are_seats},
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


def check_body(body: dict[str, Any], kinds: Form, sent: str) -> None:
    """Check the keys and values of a body; if it has a letter, which the key `sent` shows, that may be by mailbox."""
    if sent in kinds and BY_MAILBOX.keys() & body.keys():
        kinds = kinds | BY_MAILBOX
    must(body.keys() == kinds.keys(), "other keys in the body")
    for key, kind in kinds.items():
        must(kind(body[key]), f"another kind of value: {key}")


def check_tournament_form(entry: Entry) -> None:
    body = entry.body
    must(entry.type in TOURNAMENT_FORMS, "an unknown type")
    kinds = TOURNAMENT_FORMS[entry.type]
    if entry.type == "ruled":
        must(is_text(body.get("what")) and body["what"] in RULINGS, "no such ruling")
        by_letter = body.get("by") == "organiser"
        kinds = kinds | RULINGS[body["what"]] | (LETTER if by_letter else {})
        kinds |= {"organiser": is_object} if by_letter and "organiser" in body else {}
    check_body(body, kinds, "words")


def check_form(match: Match, entry: Entry) -> None:
    body, sealed = entry.body, match.terms.get("sealed")
    forms = FORMS | SEALED_FORMS if sealed else FORMS
    must(entry.type in forms, "an unknown type")
    kinds = dict(forms[entry.type])
    if entry.type == "draw" and "sharing" in body:
        kinds |= {"word": one_of("offer", "accept"), "sharing": are_seats}
    if "path" not in body:
        kinds.pop("path", None)
    may = [] if sealed else [*ADDRESSES.get(entry.type, ())]
    if not match.judged:
        may += ["trace"] if entry.type == "closed" else ["chance"] if "replies" in may else []
    elif entry.type == "closed" and match.phase == "setup":
        kinds["trace"] = is_hash
    check_body(body, kinds | {key: is_hash for key in may if key in body}, "rev")
    seats = range(1, len(body["players"]) + 1) if entry.type == "agreed" else match.seats
    must(all(seat in seats for seat in seats_in(entry)), "a seat that is not there")


BY_SEAT = {"letters", "players", "commitments", "orders", "shown", "receipts", "verdicts"}


def seats_in(entry: Entry) -> Iterator[int]:
    """The seats that a body names, in whatever way."""
    for key, value in entry.body.items():
        if key in {"seat", "for"}:
            yield value
        elif key in {"seats", "to", "against", "default", "winners", "sharing"} and isinstance(value, list):
            yield from value
        elif isinstance(value, dict) and entry.type in {"agreed", "commitments", "turn", "sealed", "verdict"}:
            yield from (int(seat) for seat in value if key in BY_SEAT)
