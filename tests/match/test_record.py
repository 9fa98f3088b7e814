"""The game record: its canonical form, and files that nobody meant well."""

from __future__ import annotations

import tomllib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pbem.match.record import LONGEST, Illegal, NotARecord, Record, RecordedResult, Turn, read, replay, write

SEATS = """
[[seat]]
name = "Ann"
setup = "LG Rv1"

[[seat]]
name = "Bob"
setup = "LG Bz5"
"""
HEAD = 'record = 1\ngame = "spaceships"\n'
OPTIONS = '\n[options]\nfleet = "cost:1"\n'
TURN = '\n[[turn]]\n1 = ""\n2 = ""\n'
GAME = HEAD + OPTIONS + SEATS


def refused(text: str) -> tuple[int, int | None, str | None]:
    with pytest.raises(Illegal) as illegal:
        replay(read(text))
    assert illegal.value.game == "spaceships"
    assert illegal.value.message
    return illegal.value.turn, illegal.value.seat, illegal.value.order


# What is refused, and which fault is named


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\0",
        "[" * 10_000,
        "record = " + "[" * 5_000 + "]" * 5_000,
        "record = 1",
        'game = "spaceships"',
        'record = 1\ngame = "chess"',
        GAME + TURN + "1 = ''",
        GAME.replace("LG Rv1", "LG Rv1\0"),
        "record = " + "9" * 5_000 + '\ngame = "spaceships"',
        HEAD + "extra" + ".a" * 100_000 + " = 1",
        HEAD + "[extra" + " . 'a'" * 50_000 + "]",
        GAME + GAME,
    ],
)
def test_no_record(text: str) -> None:
    with pytest.raises(NotARecord):
        read(text)


@pytest.mark.parametrize(
    "text",
    [
        GAME.replace("record = 1", "record = true"),
        f"rules = true\n{GAME}",
        f"round = 0\n{GAME}",
        *(
            f"left = [{one}]\n{GAME}"
            for one in ("{seat = 0, turn = 1}", "{seat = 1, turn = 1}, {seat = 1, turn = 2}")
        ),
        HEAD + OPTIONS,
        GAME.replace("fleet", "flet"),
        GAME.replace('"cost:1"', "1"),
        GAME.replace("LG Rv1", "??").replace("fleet", "flet"),
        GAME
        + "\n[extra]\n"
        + "\n".join(f"[extra{'.a' * depth}]" for depth in (40, 80))
        + "\nb = {b = "
        + "[" * 40
        + "]" * 40
        + "}",
    ],
)
def test_structure_and_options_are_errors_of_turn_0_and_no_seat(text: str) -> None:
    assert refused(text)[:2] == (0, None)


RESULT = "\n[result]\nwinner = 1\nscores = [1, 1]\n"


@pytest.mark.parametrize(
    ("text", "key", "says"),
    [
        (GAME.replace("record = 1", "record = 2"), None, "`record` is 1, the version of the format"),
        (f"rules = 2\n{GAME}", None, "there is no edition 2 of the rulings of spaceships"),
        (f"colour = 1\n{GAME}", "colour", "the record has no key 'colour'"),
        (f"round = 'one'\n{GAME}", None, "`round` is not a whole number"),
        (f"options = 1\n{HEAD}{SEATS}", None, "`options` is not a table"),
        (f"turn = 1\n{GAME}", None, "`turn` is not a list"),
        (f"turn = [1]\n{GAME}", None, "`[[turn]]` is a list of tables"),
        (GAME.replace('name = "Ann"', 'name = "Ann"\nage = 9'), "age", "a seat has no key 'age'"),
        (GAME + TURN + "3 = ''", "3", "turn 1 has no key '3'"),
        (GAME + TURN + TURN + "comment = ''", "comment", "turn 2 has no key 'comment'"),
        (GAME + TURN + "note = 1", None, "`note` is not a text"),
        (f"left = [{{seat = 1, turn = 1, note = 'why'}}]\n{GAME}", "note", "a seat that left has no key 'note'"),
        (f"left = [{{seat = 1}}]\n{GAME}", None, "a seat that left needs `seat` and `turn`"),
        (f"left = [{{seat = 3, turn = 1}}]\n{GAME}", None, "seat 3 is none of this game, or left twice"),
        (GAME + RESULT + "why = 1", "why", "the result has no key 'why'"),
        (GAME + "\n[result]\nwinner = 1", None, "the result needs `winner` and `scores`"),
        (GAME + RESULT.replace("[1, 1]", "[true, 1.0]"), None, "`scores` are whole numbers"),
        (
            GAME + RESULT + 'reason = "boredom"',
            None,
            "`reason` is one of: rules, agreement, resignation, forfeit, abandoned",
        ),
        (GAME + "\n[extra]\na = " + "[" * 100 + "]" * 100, None, "[extra] is nested too deeply"),
        (GAME + '\n[[seat]]\nname = "Cem"\nsetup = "LG Rv1"', None, "Spaceships is not played by 3"),
    ],
)
def test_what_is_wrong_with_the_structure_is_said(text: str, key: str | None, says: str) -> None:
    with pytest.raises(Illegal) as illegal:
        replay(read(text))
    found = illegal.value
    assert (found.turn, found.seat, found.order, found.message) == (0, None, key, says)


OVER = GAME + "\n[[turn]]\n1 = 'mR Bz5'\n2 = ''\n"
"""Ann has won in turn 1."""


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (GAME.replace('setup = "LG Bz5"', ""), "the setup of this seat is missing, or no text"),
        (GAME + "\n[[turn]]\n1 = ''\n2 = 5\n", "the orders of this seat are missing, or no text"),
        (OVER + TURN, "the game was over before this turn"),
        (GAME + TURN + "[[left]]\nseat = 1\nturn = 3\n", "turn 3, in which this seat left, never came"),
        (OVER + "[[left]]\nseat = 1\nturn = 2\n", "turn 2, in which this seat left, never came"),
        (GAME + TURN + "[[left]]\nseat = 1\nturn = 2\n", "the others do not play on when this seat leaves"),
        (GAME + TURN + "[result]\nwinner = 0\nscores = [1, 1]", "the rules have not ended the game"),
        (OVER + "[result]\nwinner = 2\nscores = [1, 0]", "the result is winner 1, scores [1, 0]"),
        (OVER + "[result]\nwinner = 1\nscores = [1, 0]\nreason = 'forfeit'", "the rules had ended the game before"),
        (
            GAME + TURN + "[result]\nwinner = 3\nscores = [1, 1]\nreason = 'forfeit'",
            "the winner is no seat of this game",
        ),
        (
            GAME + TURN + "[result]\nwinner = 2\nscores = [1, 2]\nreason = 'forfeit'",
            "the scores of the position are [1, 1]",
        ),
        (GAME.replace("LG Bz5", "x" * (LONGEST + 1)), "longer than any letter"),
    ],
)
def test_why_it_is_refused_is_said(text: str, says: str) -> None:
    with pytest.raises(Illegal) as caught:
        replay(read(text))
    assert says in str(caught.value.message)


def test_several_winners_are_named() -> None:
    setups = ("A b1 E\nB c1 N\nC d1 N", "D b9 S\nE c9 S\nF d9 S", "G a2 E\nH a3 E\nI a4 E")
    orders = ("A: MLL\nB: LLL\nC: LLL", "D: LLL\nE: LLL\nF: LLL", "G: LLL\nH: LLL\nI: LLL")
    played = Record(
        game="shoot-em-up",
        seats=tuple(zip(("Ann", "Bob", "Cem"), setups, strict=True)),
        turns=(Turn(dict(enumerate(orders, 1))),),
        options={"max_turns": 1},
        result=RecordedResult(0, (1, 3, 3)),
    )
    assert replay(played).result["winners"] == [2, 3]
    with pytest.raises(Illegal) as caught:
        replay(played._replace(result=RecordedResult(0, (1, 3, 3), winners=(1, 2))))
    assert caught.value.message == "the result is winners [2, 3], scores [1, 3, 3]"


# The canonical form


def test_canonical_form() -> None:
    record = Record(
        game="spaceships",
        seats=(("Ann", "DS Ov1-Yw2\nLG Rv1"), ('B"ob', "LG Bz5")),
        turns=(Turn({2: "", 1: "Gx3 m2 Ox4"}), Turn({1: "", 2: "sRv1"}, note="he\nhesitated")),
        options={"fleet": "cost:9", "additional": [0, 7], "allowed": {"KC": 1, "LG": 2}},
        note="cold\tday",
        match="m17",
        round=2,
        previous="ab" * 32,
        left={1: 3, 2: 1},
        result=RecordedResult(1, (9, 0)),
        extra={"server": {"version": "1"}},
    )
    assert write(record) == (
        'record = 1\ngame = "spaceships"\nrules = 1\nnote = "cold\\tday"\nmatch = "m17"\nround = 2\n'
        f'previous = "{"ab" * 32}"\n\n[options]\nfleet = "cost:9"\nadditional = [0, 7]\n'
        'allowed = {KC = 1, LG = 2}\n\n[[seat]]\nname = "Ann"\nsetup = """\nDS Ov1-Yw2\nLG Rv1"""\n\n'
        '[[seat]]\nname = "B\\"ob"\nsetup = "LG Bz5"\n\n[[turn]]\n1 = "Gx3 m2 Ox4"\n2 = ""\n\n'
        '[[turn]]\n1 = ""\n2 = "sRv1"\nnote = "he\\nhesitated"\n\n'
        "[[left]]\nseat = 2\nturn = 1\n\n[[left]]\nseat = 1\nturn = 3\n\n"
        '[result]\nwinner = 1\nscores = [9, 0]\nreason = "rules"\n\n[extra.server]\nversion = "1"\n'
    )


TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
SETUP = TEXT | st.lists(st.text('"\\\n\r\x7f\0 a', max_size=8), min_size=2, max_size=4).map("\n".join)
VALUE = st.recursive(
    st.booleans() | st.integers(-(2**63), 2**63 - 1) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)
RECORDS = st.builds(
    Record,
    game=st.just("spaceships"),
    rules=st.just(1),
    seats=st.lists(st.tuples(TEXT, SETUP), min_size=2, max_size=2).map(tuple),
    turns=st.lists(
        st.builds(
            Turn,
            st.dictionaries(st.integers(1, 2), SETUP, max_size=2),
            st.none() | TEXT,
            st.sampled_from(["", "5e" * 32]),
        ),
        max_size=3,
    ).map(tuple),
    options=st.dictionaries(TEXT, VALUE, max_size=3),
    note=st.none() | TEXT,
    match=st.none() | TEXT,
    round=st.none() | st.integers(1, 99),
    previous=st.none() | TEXT,
    left=st.dictionaries(st.integers(1, 2), st.integers(0, 9)),
    result=st.none()
    | st.builds(
        RecordedResult,
        st.integers(0, 2),
        st.lists(st.integers(0, 99), max_size=3).map(tuple),
        st.sampled_from(("rules", "agreement", "resignation", "forfeit", "abandoned")),
        st.just(()),  # of two seats, not some alone
    ),
    extra=st.none() | st.dictionaries(TEXT, VALUE, max_size=3),
)


@settings(deadline=None)
@given(RECORDS)
def test_what_is_written_is_read_again(record: Record) -> None:
    text = write(record)
    assert read(text) == record
    assert write(read(text)) == text
    assert text.endswith("\n")
    assert "\r" not in text


JUNK = st.recursive(
    st.sampled_from(["1", "true", "1.5", "nan", '""', '"LG Rv1"', "1979-05-27", "'?'", "-1", "'spaceships'", "2"]),
    lambda inner: (
        st.lists(inner, max_size=3).map(lambda values: f"[{', '.join(values)}]")
        | st.dictionaries(st.sampled_from("12ab"), inner, max_size=2).map(
            lambda table: "{" + ", ".join(f"{key} = {value}" for key, value in table.items()) + "}"
        )
    ),
    max_leaves=5,
)
TOP = ("record", "rules", "note", "match", "round", "previous")
KEYS = (*TOP, "options", "seat", "turn", "left", "result", "extra", "x")


@settings(deadline=None, max_examples=300)
@given(st.dictionaries(st.sampled_from(KEYS), JUNK, max_size=3), st.dictionaries(st.sampled_from(KEYS[6:]), JUNK))
def test_nonsense_is_refused_or_played_but_never_breaks(top: dict[str, str], tables: dict[str, str]) -> None:
    good = {"record": "1", "game": '"spaceships"', "options": "{fleet = 'cost:1'}"}
    good["seat"] = "[{name = '', setup = 'LG Rv1'}, {name = '', setup = 'LG Bz5'}]"
    text = "\n".join(f"{key} = {value}" for key, value in (good | top | tables).items())
    tomllib.loads(text)
    try:
        replay(read(text))
    except (Illegal, NotARecord) as error:
        told = str(error)
    else:
        told = "legal"
    assert told
