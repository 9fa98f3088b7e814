"""The game keeps to everything that pbem relies on; a year passes as the rules say; orders are read."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

import pytest
from pbem_diplomacy import RULES, ahead, offers, pace, period, side, slips, without
from pbem_diplomacy.boards import blank, boards, truth
from pbem_diplomacy.geography import Unit, standard
from pbem_diplomacy.notation import Reader, _nearest, written
from pbem_diplomacy.recall import recalled, unused, view
from pbem_diplomacy.state import PHASES, SOLO, State
from pbem_diplomacy.words import said, sheet_rows, standing, summary, title, told

from pbem.games import Refused, Result
from pbem.games.draws import Draws
from pbem.games.outside import enable
from pbem.games.player_text import Text
from pbem.letters.render import Templates
from pbem.testing import CHECKS, subject

if TYPE_CHECKING:
    from pbem.games import Report

enable(["diplomacy"])
GAME = subject("diplomacy")
CHANCE = Draws("0" * 64)


@pytest.mark.parametrize("check", CHECKS)
def test_the_game_conforms(check: str) -> None:
    CHECKS[check](GAME)


def begun(powers: str = "France Germany", **options: object) -> State:
    return RULES.begin(RULES.options({"powers": powers, **options}, len(powers.split())), [])


def played(state: State, *texts: str) -> tuple[State, list[Report]]:
    """The position after the orders of the seats that are due, in their order; of the others nothing is played."""
    orders = {seat: RULES.order(state, seat, text) for seat, text in zip(state.due, texts, strict=True)}
    return RULES.turn(state, orders, CHANCE)


def outcomes(reports: list[Report]) -> dict[str, str]:
    return {report["order"]: report["outcome"] for report in reports if report["kind"] == "order"}


def faults(state: State, text: str, seat: int = 1) -> list[str]:
    with pytest.raises(Refused) as refused:
        RULES.order(state, seat, text)
    return [fault.rule for fault in refused.value.faults]


def at(phase: str, units: list[str], owned: dict[str, str]) -> State:
    """A position of France and Germany."""
    return begun()._replace(phase=phase, units=tuple(map(Unit.read, units)), owned=owned)


def dislodging() -> State:
    """A position in which Germany can dislodge the army in Burgundy."""
    units = ["FRANCE A BUR", "FRANCE A PAR", "GERMANY A MUN", "GERMANY A RUH"]
    return at("spring", units, {"PAR": "FRANCE", "MUN": "GERMANY"})


def test_a_spring_passes_to_fall_where_nobody_retreats() -> None:
    after, reports = played(begun(), "A Par-Bur\nF Bre-Mao", "A Mun-Bur")
    assert (after.phase, after.year, after.turn) == ("fall", 1901, 2)
    assert outcomes(reports) == {"A Par-Bur": "bounced", "F Bre-Mao": "ok", "A Mun-Bur": "bounced"}
    assert next(report for report in reports if report["outcome"] == "bounced")["by"] == ["Ger A Mun"]


def test_only_those_with_a_choice_are_asked_to_retreat() -> None:
    retreating, _ = played(dislodging(), "", "A Mun-Bur\nA Ruh S A Mun-Bur")
    assert ([*retreating.due], retreating.phase) == ([1], "spring retreats")
    assert faults(retreating, "A Bur R Mun") == ["7"]
    assert faults(retreating, "A Par-Pic") == ["4"]
    assert RULES.order(retreating, 1, "A Bur-Gas").text == "A Bur R Gas"
    after, reports = played(retreating, "A Bur R Gas")
    assert Unit("FRANCE", "A", "GAS") in after.units
    assert outcomes(reports) == {"A Bur R Gas": "ok"}


def test_winter_builds_in_empty_home_centres_that_are_still_owned() -> None:
    owned = dict.fromkeys(["PAR", "BRE", "SPA"], "FRANCE") | {"MAR": "GERMANY"}
    state = at("winter", ["FRANCE A SPA", "GERMANY A MAR"], owned)
    assert [*state.due] == [1]
    assert faults(state, "build A Mar") == ["8"]
    assert faults(state, "build A Par\nbuild F Bre\nwaive") == ["8"]
    assert faults(state, "build F Par") == ["8"]
    after, _ = played(state, "build A Par\nbuild F Bre")
    assert {str(unit) for unit in after.units} >= {"FRANCE A PAR", "FRANCE F BRE"}
    assert (after.phase, after.year) == ("spring", 1902)


def test_a_build_lacks_its_coast_only_if_it_is_a_fleet() -> None:
    russian = at("winter", [], {"STP": "RUSSIA"})._replace(powers=("RUSSIA", "GERMANY"))
    for text, says in (
        ("build F Stp", "name the coast: STP/NC or STP/SC"),
        ("build Stp/nc", "write whether it is an army or a fleet that can stand there"),
        ("build A Stp/nc", "write whether it is an army or a fleet that can stand there"),
    ):
        with pytest.raises(Refused, match=says):
            RULES.order(russian, 1, text)


def test_centres_change_hands_after_fall_alone_and_eighteen_win() -> None:
    home = dict.fromkeys([*begun().owned][: SOLO - 1], "FRANCE") | {"TUN": "GERMANY"}
    units = ["FRANCE A NAF", "GERMANY A RUH"]
    spring, _ = played(at("spring", units, home), "A Naf-Tun", "")
    assert spring.owned["TUN"] == "GERMANY"
    fall, reports = played(spring, "", "")
    assert fall.owned["TUN"] == "FRANCE"
    assert fall.result
    assert (fall.result.winners, fall.due) == ((1,), {})
    assert {report["power"]: report["count"] for report in reports if report["kind"] == "centres"}["FRANCE"] >= SOLO


def test_what_belongs_to_whom_is_told_after_fall() -> None:
    units = ["FRANCE A TUN", "GERMANY A MUN", "GERMANY A RUH"]
    _, reports = played(at("fall", units, {"TUN": "ITALY", "PAR": "FRANCE", "MUN": "GERMANY"}), "", "")
    assert [*told(reports, {})] == [
        "France, centres 2: Par, Tun; may build 1",
        "Germany, centres 1: Mun; has to remove 1",
        "Italy has lost its last centre",
    ]


def test_the_last_winter_ends_the_game() -> None:
    state = begun(until=1901)
    while not state.result:
        state, _ = played(state, *["" for _ in state.due])
    assert (state.year, state.phase, state.result.winners) == (1901, "winter", (1, 2))


def test_powers_are_dealt_from_words() -> None:
    state = RULES.begin(RULES.options({}, 3), [])
    assert faults(state, "deal two words") == ["1"]
    dealt, reports = played(state, "deal a", "b", "deal c")
    assert len(set(dealt.powers)) == 3
    assert [report["word"] for report in reports] == ["deal a", "deal b", "deal c"]


def test_whoever_leaves_leaves_a_power_in_disorder() -> None:
    three = begun("France Germany Italy")
    after = without(three, 2, 1)
    assert after
    assert [*after.due] == [1, 3]
    assert without(after, 1, 1) is None
    _, reports = played(after, "A Mar-Bur", "")
    assert outcomes(reports) == {"A Mar-Bur": "ok"}


@pytest.mark.parametrize(
    ("text", "means"),
    [
        ("a paris - burgundy", "A Par-Bur"),
        ("A Par - Bur", "A Par-Bur"),
        ("army paris to burgundy", "A Par-Bur"),
        ("F North Sea C A Lon-Bel", "F Nth C A Lon-Bel"),
        ("A Lon-Nth-Bel", "A Lon-Bel via"),
        ("A Lon-Bel via convoy", "A Lon-Bel via"),
        ("A Lon => Bel (via convoy)", "A Lon-Bel via"),
        ("A Paris attacks Burgundy", "A Par-Bur"),
        ("France:\n1. A Par=>Bur\n2) A Mar S A Par (hold)", "A Par-Bur\nA Mar S A Par"),
        ("France: A Par-Bur", "A Par-Bur"),
        ("F Stp(sc)-Bot", "F Stp/sc-Bot"),
        ("F Mid-Atlantic Ocean - Spa / nc", "F Mao-Spa/nc"),
        ("A Mar S A Par hold", "A Mar S A Par"),
        ("build F Stp/nc", "build F Stp/nc"),
        ("A Par H A Mar S A Par", "A Par H\nA Mar S A Par"),
        ("Army Paris moves to Burgundy; A Mar stands.", "A Par-Bur\nA Mar H"),
        ("A Par-Bur, F Mid-Por", "A Par-Bur\nF Mao-Por"),
        ("A Par \N{EN DASH} Burg", "A Par-Bur"),
        ("F St. Petersburg (south coast) - gob", "F Stp/sc-Bot"),
        ("remove F Norwegian Sea", "F Nwg D"),
        ("r A Par", "A Par D"),
        ("retreat army Burgundy to Paris\nr F Bre", "A Bur R Par\nF Bre D"),
        ("removes A Par, builds F Bre", "A Par D\nbuild F Bre"),
        ("F Bul EC - Con", "F Bul/ec-Con"),
        ("F Con \N{RIGHTWARDS ARROW} Bulgaria East Coast", "F Con-Bul/ec"),
        ("F Mid-Atlantic - Western Med", "F Mao-Wes"),
        ("F Norwegian S F Norwegian Sea-St.Petersburg(nc)", "F Nwg S F Nwg-Stp/nc"),
    ],
)
def test_orders_are_read_as_judges_take_them(text: str, means: str) -> None:
    found = Text(text)
    orders = [order for _, order in Reader(found).orders()]
    found.refuse_faults()
    assert "\n".join(map(written, orders)) == means


def test_names_that_begin_alike_are_listed() -> None:
    found = Text("A Liv-Yor")
    Reader(found).orders()
    with pytest.raises(Refused) as refused:
        found.refuse_faults()
    (fault,) = refused.value.faults
    assert (fault.token, fault.message) == ("Liv", "more than one province begins like this: Lvn or Lvp")


def test_the_kind_of_a_unit_may_be_left_out() -> None:
    assert RULES.order(begun(), 1, "Par-Bur, Mar S Par-Bur".replace(",", "\n")).text == "A Par-Bur\nA Mar S A Par-Bur"


@pytest.mark.parametrize(
    ("text", "rules"),
    [
        ("A Par-Lon", ["6"]),
        ("A Mun-Bur", ["4"]),
        ("F Par-Bur", ["4"]),
        ("A Par H\nA Par-Bur", ["3"]),
        ("A Xyz-Bur", ["2"]),
        ("A Par", ["2"]),
        ("F Bre S A Par-Bur", ["6"]),
        ("A Par-Bur via", ["6"]),
        ("build A Par", ["5"]),
        ("A Par-Lon\nA Mar-Lon", ["6", "6"]),
    ],
)
def test_what_could_never_be_carried_out_is_refused(text: str, rules: list[str]) -> None:
    assert faults(begun(), text) == rules


@pytest.mark.parametrize(
    ("text", "faults"),
    [
        ("Sure, I will support you into Munich.", 5),
        ("Would you like a support into Munich for a season?", 7),
        ("Yes, gladly", 2),
        ("A Par-Brr", 1),
        ("prs - bru", 1),
        ("Prs to Bru", 1),
        ("please do a prs to bru now", 2),
        ("please do A Prs to Bru at once, and hold the others", 2),
        ("Prs to Bru\nMrs to Spn", 1),
    ],
)
def test_prose_has_many_faults_and_what_may_be_orders_has_few(text: str, faults: int) -> None:
    """Plain words in answer to a message are passed on if more than half of them are faults."""
    found = Text(text)
    Reader(found).orders()
    with pytest.raises(Refused) as told:
        found.refuse_faults()
    assert len(told.value.faults) == faults


@pytest.mark.parametrize(
    ("text", "means"),
    [
        ("A Pariss-Burgandy.", "A Paris-Burgundy"),
        ("F Tyrhenian Sea-Westren Med", "F Tyrrhenian Sea-Western Med"),
        ("A Par-Brr", "A Par-Brr"),
        ("Alliance, finally", "Alliance  finally"),
    ],
)
def test_a_misspelt_province_is_asked_about(text: str, means: str) -> None:
    assert slips(text).strip() == means


def test_words_of_letters_do_not_fill_the_memory() -> None:
    assert (_nearest.cache_info().maxsize or 10**6) < 10**4


def test_a_view_has_all_by_which_orders_are_judged() -> None:
    state, _ = played(begun(), "A Par-Bur", "")
    again = recalled(view(state, 1, []), 1)
    assert again.due == state.due
    assert RULES.order(again, 1, "A Bur-Mun").text == "A Bur-Mun"


def chosen(random: Random, state: State) -> list[str]:
    """Random orders of all who are due; each line is among those to choose from, which are all legal."""
    texts = []
    for seat in state.due:
        seen = view(state, seat, [])
        offered = offers(seen)
        assert [RULES.order(state, seat, line).text for line in offered] == offered
        texts.append(GAME.players.orders(random, seen))
        needless = {f"{line} via" for line in offered}  # by sea, where there is no way by land
        assert {*texts[-1].split("\n")} - {"", *needless} <= {*offered}
    return texts


def test_the_orders_to_choose_from_are_legal_and_cover_what_is_played_at_random() -> None:
    assert offers(view(RULES.begin(RULES.options({}, 3), []), 1, [])) == ["deal "]
    random, state, kinds = Random(7), begun("England France Turkey", until=1902), set()
    while not state.result:
        kinds.add(state.kind)
        state, _ = played(state, *chosen(random, state))
    assert kinds == {"movement", "adjustments"}
    state, _ = played(dislodging(), "", "A Mun-Bur\nA Ruh S A Mun-Bur")
    assert offers(view(state, 1, [])) == ["A Bur R Bel", "A Bur R Gas", "A Bur R Mar", "A Bur R Pic", "A Bur D"]
    chosen(random, state)


def test_retreats_and_adjustments_take_days_of_a_week() -> None:
    days = {phase: 7 * pace(begun()._replace(phase=phase)) for phase in PHASES}
    assert days == {"dealing": 7, "spring": 7, "spring retreats": 1, "fall": 7, "fall retreats": 1, "winter": 2}


def test_the_map_has_the_orders_of_the_last_turn_as_arrows() -> None:
    after, reports = played(begun(), "A Par-Bur\nF Bre-Mao", "A Mun-Bur")
    (board,) = truth({1: view(after, 1, [reports])}, 1)
    assert board.svg.count("<line ") == 3
    assert board.svg.count('stroke-dasharray="11 7"') == 2
    assert "Fra F Mao" in board.words
    (before,) = boards(view(begun(), 1, []))
    assert "<line " not in before.svg
    assert "<title>" not in blank()[0].svg
    assert sheet_rows([["A Par-Bur", "F Bre-Mao"], []]) == ["1. A Par-Bur; F Bre-Mao", "2. "]


def test_an_answer_names_the_units_without_an_order() -> None:
    def left(state: State, text: str) -> list[str]:
        return [*unused(state, 1, RULES.order(state, 1, text))]

    assert left(begun(), "A Par-Bur") == ["A Mar (no order: holds)", "F Bre (no order: holds)"]
    retreating, _ = played(dislodging(), "", "A Mun-Bur\nA Ruh S A Mun-Bur")
    assert left(retreating, "") == ["A Bur (no order: disbands)"]
    winter = at("winter", ["GERMANY A MAR"], dict.fromkeys(["PAR", "BRE", "SPA"], "FRANCE"))
    assert left(winter, "build A Par\nwaive") == ["1 of your builds"]
    assert left(winter, "build A Par\nbuild F Bre\nwaive") == []
    assert left(RULES.begin(RULES.options({}, 3), []), "deal a") == []


def test_orders_for_later_turns_need_their_form_alone() -> None:
    assert not ahead(begun(), 1, 5, "A Par-Bur")
    assert ahead(begun(), 1, 5, "A Par to nowhere")
    assert ahead(begun(), 1, 5, "Thanks"), "powers are dealt in turn 1 alone"
    assert not ahead(begun(), 1, 0, "deal thanks"), "as default orders"
    assert ahead(begun(until=1901), 1, 7, "A Par-Bur")


def test_orders_are_marked_as_code_in_html() -> None:
    entitled = Templates().environment.get_template("diplomacy/entitled.html").module.entitled  # type: ignore[attr-defined]  # a macro
    assert "such as <code>A Par-Bur</code> or <code>F Lon S A Yor-Nth</code>.</p>" in entitled(view(begun(), 1, []))


def test_no_line_of_an_html_letter_ends_within_a_unit() -> None:
    position = Templates().environment.get_template("diplomacy/position.html").module.position  # type: ignore[attr-defined]  # a macro
    assert "centres 3: A\N{NO-BREAK SPACE}Mar, A\N{NO-BREAK SPACE}Par, F" in position(
        view(begun(), 1, []), [], {1: "ann", 2: "bob"}
    )


def test_what_happened_is_told_in_words() -> None:
    _, reports = played(begun(), "A Par-Bur", "A Mun-Bur")
    assert [*told(reports, {1: "ann", 2: "bob"})] == [
        "France: A Par-Bur (bounced with Ger A Mun)",
        "Germany: A Mun-Bur (bounced with Fra A Par)",
    ]
    assert summary(reports) == "Orders that succeeded: 0 of 2; dislodged units: 0"
    _, reports = played(begun()._replace(phase="fall"), "", "")
    assert {report["kind"] for report in reports} == {"centres"}
    assert summary(reports) == "Nothing was ordered"
    assert [*told(reports, {})][2] == "France, centres 3: Bre, Mar, Par"
    assert title(view(begun()._replace(phase="fall retreats"), 1, [])) == "Fall 1901, retreats"
    labels = [label for label, _ in standing(view(begun(), 1, []), {1: "ann", 2: "bob"})]
    assert labels[2] == "France (ann), centres 3"
    undealt = view(RULES.begin(RULES.options({}, 3), []), 1, [])
    assert next(standing(undealt, {1: "ann", 2: "bob", 3: "carl"}))[0] == "Austria, centres 3"
    assert said("A Mar S A Par-Bur") == ["Marseilles supports the move from Paris to Burgundy"]


def test_before_the_powers_are_dealt_none_is_said_to_lack_a_player() -> None:
    state = RULES.begin(RULES.options({}, 2), [])
    labels = [str(label) for label, _ in standing(view(state, 1, []), {1: "ann", 2: "bob"})]
    assert labels[0] == "Austria, centres 3"


def test_letters_name_the_season_and_are_passed_on_by_powers() -> None:
    assert period(begun()) == "Spring 1901"
    assert period(at("fall retreats", [], {})) == "Fall 1901, retreats"
    assert [side(begun(), seat)[:3] for seat in (1, 2)] == [("france", "fra", "f"), ("germany", "ger", "g")]
    assert "austria-hungary" in side(begun("Austria Germany"), 1)
    assert side(RULES.begin(RULES.options({}, 2), []), 1) == ()


def test_who_writes_no_word_is_dealt_a_power_all_the_same() -> None:
    """Terms may have empty orders played for the silent: a deal that refused them would stop the match for ever."""
    dealt, reports = played(RULES.begin(RULES.options({}, 3), []), "deal a", "", " ")
    assert len(set(dealt.powers)) == 3
    assert [report["word"] for report in reports] == ["deal a", "", ""]


def test_a_power_whose_player_has_left_wins_nothing() -> None:
    others = ["BER", "KIE", "MUN", "VIE", "BUD"]
    owned = dict.fromkeys(standard().owned, "FRANCE") | dict.fromkeys(others, "GERMANY") | {"VIE": "AUSTRIA"}
    units = ["FRANCE A MUN", "GERMANY A BER", "AUSTRIA A VIE"]
    position = begun("France Germany Austria")._replace(phase="fall", units=tuple(map(Unit.read, units)), owned=owned)
    assert played(position, "", "", "")[0].result == Result((1,), (18, 3, 1))
    left = without(position, 1, 1)
    assert left
    after, _ = played(left, "", "")
    assert (after.scores, after.result) == ((18, 3, 1), None)


def test_the_others_are_told_of_a_retreat_that_a_leaver_left_open() -> None:
    units = ["FRANCE A BUR", "GERMANY A MUN", "GERMANY A RUH", "ITALY A VEN"]
    owned = {"PAR": "FRANCE", "MUN": "GERMANY", "VEN": "ITALY"}
    position = begun("France Germany Italy")._replace(units=tuple(map(Unit.read, units)), owned=owned)
    retreating, _ = played(position, "", "A Mun-Bur\nA Ruh S A Mun-Bur", "")
    left = without(retreating, 1, 1)
    assert left
    assert (left.phase, left.due) == ("spring retreats", {})
    after, reports = played(left)
    assert [*told(reports, {})] == ["France: A Bur is disbanded"]
    assert (after.phase, after.turn, [*after.due]) == ("fall", 3, [2, 3])
