"""11. Sealed matches."""

from __future__ import annotations

import base64
import contextlib
import copy
import hmac
import re
from typing import TYPE_CHECKING, Any

from verifier.conventions import No, must, sha256
from verifier.ends import Closing, ask, end_game, end_sealed, unrevealed
from verifier.letters import Letter, Player, Want, game_of, letter_named, letter_of, proven
from verifier.papers import read_receipt
from verifier.rules import Refused, Result, Step, first_false, settled
from verifier.state import Match, Told
from verifier.traces import trace
from verifier.turn import check_reports

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from verifier.commands import Command
    from verifier.transcript import Entry

HASHES = {"open", "answers", "flash", "departs", "setup"}


def sections(command: Command) -> list[tuple[str, list[str], str]]:
    """The sections of a block: name, words, and text (11.2)."""
    text = re.sub(r"#[^\n]*", lambda one: " " * len(one[0]), command.block)
    words = list(re.finditer(r"\S+", text))
    found: list[tuple[str, list[str], str]] = []
    while words:
        name = words.pop(0)[0].lower()
        if name == "note":
            must(command.name != "reveal", "a note in a reveal")
            octets = base64.b64decode("".join(word[0] for word in words), validate=True)
            must(0 < len(octets) <= 4096, "a note that is none")
            words = []
            continue
        allowed = {"seal": {"commitment"}, "step": {"commit", *HASHES}, "reveal": {"seed", "setup", "orders"}}
        must(name in allowed[command.name], "an unknown section")
        said: list[str] = []
        count = 1 if name in {"commitment", "commit", "seed", "orders"} else 99 if command.name == "step" else 0
        pattern = r"[1-9][0-9]{0,8}" if name == "orders" else "[0-9a-fA-F]{64}"
        while words and len(said) < count and re.fullmatch(pattern, words[0][0]):
            said.append(words.pop(0)[0].lower())
        must(count == 99 or len(said) == count, "a section without its word")
        lines = ""
        if name not in {"commitment", "commit", "seed"}:
            at = next((at for at, word in enumerate(words) if word[0].lower() == "done"), None)
            must(at is not None, "no done")
            assert at is not None
            lines = text[words[0].start() : words[at].start()]
            words = words[at + 1 :]
        found.append((name, said, "\n".join(line.strip() for line in lines.split("\n")).strip()))
    names = [(name, *said[: name == "orders"]) for name, said, _ in found]
    must(len(names) == len(set(names)), "a section twice")
    return found


def sealed_paper(
    match: Match, name: str, seat: int, turn: int, heads: Mapping[str, str], lines: Sequence[str]
) -> str:
    place = {"server": match.server, "match": match.id, "game": match.game, "turn": turn, "seat": seat}
    place |= {"player": match.players[seat].name, **heads}
    said = [f"{key} {value}" for key, value in place.items() if (name, key) != ("setup", "turn")]
    return "\n".join([f"pbem sealed {name} 1", *said, name, *lines, "end", ""])


def sealed_path(match: Match, name: str, seat: int, turn: int, number: int = 1) -> str:
    if name == "setup":
        return f"openings/game-{match.game}-seat-{seat}.txt"
    stem = f"game-{match.game}-turn-{turn}-seat-{seat}"
    if name == "orders":
        return f"openings/{stem}.txt"
    return f"steps/{stem}-{name}{'' if number == 1 else f'-{number}'}.txt"


def sealed_salt(match: Match, seed: str, seat: int, turn: int, name: str) -> str:
    label = f"pbem salt 1\nserver {match.server}\nmatch {match.id}\ngame {match.game}\nseat {seat}\nturn {turn}\n"
    return hmac.new(bytes.fromhex(seed), f"{label}what {name}\n".encode(), "sha256").hexdigest()


def sealed(match: Match, entry: Entry) -> None:
    body = entry.body
    right = match.is_sealed and match.phase == "setup" and not match.paused and body["game"] == match.game
    must(right, "no seals are asked for")
    must(match.options == body["options"], "other options")
    for key in ("commitments", "receipts"):
        must(list(body[key]) == [str(seat) for seat in match.seats], "other seats")
    aside = trace(match, entry, f"game-{match.game}-setup", 0)
    for seat in match.seats:
        match.commitments[seat] = seal(match, entry, seat, aside)
        must(match.commitments[seat] == body["commitments"][str(seat)], "another commitment")
    match.position = match.rules.Table(match.options)
    match.phase, match.prev = "playing", entry.head
    match.said.clear()
    match.silent.clear()
    match.draw_on_banks(entry.time)
    match.clocks.clear()
    match.due.append(("asks", 0))


def seal(match: Match, entry: Entry, seat: int, aside: Sequence[dict[str, str]]) -> str:
    stem = f"game-{match.game}-setup-seat-{seat}"
    paper = read_receipt(match.paper(f"receipts/{stem}.txt", entry.body["receipts"][str(seat)]))
    must(not {"orders", "evidence"} & set(paper), "no receipt of a seal")
    path, player = f"letters/game-{match.game}-seal-seat-{seat}.eml", match.players[seat]
    letter = letter_of(match, entry, path, seat, paper, aside, turn="0", level="key")
    match.once(paper["mail"], "seal", seat, match.game, 0)
    match.answered(seat, paper["received"])
    for commands, key in proven(letter, player, None, waited="waited", turn=0):
        want = Want(match, player.name, [match.prev], mailbox=False)
        for command in commands if len(commands) == 1 else ():
            fits = command.name == "seal" and game_of(command) == match.game and want.fits(command, int(paper["rev"]))
            if fits and key == paper["key"]:
                (said,) = [words[0] for name, words, _ in sections(command) if name == "commitment"]
                return said
    raise No(f"{path} holds no such seal")


def letter_of_steps(match: Match, entry: Entry) -> None:
    """The steps of a letter, the first of which this entry is."""
    body = entry.body
    seat, player = body["seat"], match.player(body["seat"])
    must(match.is_sealed and match.phase == "playing" and not match.paused and match.ending is None, "no step is due")
    path = f"letters/step-{entry.seq}-seat-{seat}.eml"
    letter = letter_named(match, entry, path, body["mail"], body["received"])
    match.once(body["mail"], "step", seat, match.game, match.turn_due)
    prevs = [match.prev, *match.owing.get(seat, [])]
    command = said_in(match, letter, player, "step", prevs, str(match.position.turn))
    made = steps_of(match, seat, command)
    must(made, "no step")
    match.due[:0] = made[1:]
    match.due.append(("asks", seat))
    one_step(match, entry, made[0][1])


def said_in(match: Match, letter: Letter, player: Player, name: str, prevs: Sequence[str], turn: str) -> Command:
    for commands, _ in proven(letter, player, None, waited=""):
        want = Want(match, player.name, prevs, mailbox=False, demanded=("server", "player", "prev"))
        for command in commands if len(commands) == 1 else ():
            fits = command.name == name and command.said.get("*turn", turn) == turn
            if fits and game_of(command) == match.game and want.fits(command, None):
                return command
    raise No(f"{letter.path} holds no such {name}")


def steps_of(match: Match, seat: int, command: Command) -> list[tuple[str, Any]]:
    """The entries that the steps of a letter make."""
    table, steps = copy.deepcopy(match.position), [*match.told]
    made: list[tuple[str, Any]] = []
    for step, words, text in sections(command):
        must(table.due.get(seat) == step, "another step is due")
        lines, turn = table.judge(seat, step, text), table.turn
        this = [one for one in reversed(steps) if one.turn == turn]
        mine = [one for one in this if one.seat == seat]
        commit = mine[0] if mine and not mine[0].path else None
        one = Told(turn, seat, step, lines, words[0] if words else "", "", command.said["prev"], {})
        if step != "commit":
            kind = table.papers[step]
            must(len(words) == len(kind.told), "other hashes")
            right = {"rules": match.rules_hash, "setup": match.commitments[seat]}
            right["after"] = commit.prev if commit else command.said["prev"]
            right["to"] = next((old.paper for old in this if old.seat != seat and old.step in kind.to), "0" * 64)
            right["own"] = next((old.paper for old in mine if old.step == "open"), "0" * 64)
            if match.generation > 1:
                del right["after"]  # it may name a head that a restored server has forgotten
            said = dict(zip(kind.told, words, strict=True))
            must(all(right.get(key, value) == value for key, value in said.items()), "a head is wrong")
            one.heads = {key: said.get(key) or right[key] for key in kind.heads}
            number = 1 + sum(old.step == step for old in mine)
            one.path = sealed_path(match, kind.name, seat, turn, number)
            one.paper = sha256(sealed_paper(match, kind.name, seat, turn, one.heads, lines).encode())
            bound = match.commitments[seat] if kind.name == "setup" else commit.paper if commit else one.paper
            must(one.paper == bound, "not what was committed to")
        steps.append(one)
        before = len(table.played)
        table.enter(seat, step, lines)
        made.append(("step", (one, table)))
        made += [("told", (before + at, reports)) for at, reports in enumerate(table.played[before:], 1)]
    return made


def one_step(match: Match, entry: Entry, said: tuple[Told, Any]) -> None:
    one, match.position = said
    body = {key: value for key, value in entry.body.items() if key not in {"mail", "received"}}
    made = {"game": match.game, "turn": one.turn, "seat": one.seat, "step": one.step, "paper": one.paper}
    must(body == made | ({"path": one.path} if one.path else {}), "another step")
    if match.teller:
        must((entry.body["mail"], entry.body["received"]) == match.mail, "another letter")
    match.mail = (entry.body["mail"], entry.body["received"])
    match.teller = one.seat
    if one.path:
        match.paper(one.path, one.paper)
    match.told.append(one)


def turn_told(match: Match, entry: Entry, said: tuple[int, Any]) -> None:
    number, reports = said
    must((entry.body["game"], entry.body["turn"]) == (match.game, number), "another turn")
    check_reports(match, entry, number, reports)
    match.played.append({})
    match.offers.clear()


def asks(match: Match, entry: Entry, by: int) -> None:
    """The letter of this seat is entered: some owe something now."""
    match.prev, match.teller = entry.head, 0
    match.said.clear()
    if by:
        match.silent[by] = []
    asked = [seat for seat in match.seats if seat in match.position.due]
    pace = match.terms["pace"]
    if by and by not in asked:
        match.answered(by, match.mail[1])
    match.draw_on_banks(entry.time)
    match.clocks = {
        seat: match.clocks[seat] if seat in match.owing and seat in match.clocks else match.clock(seat, entry.time)
        for seat in asked
        if pace
    }
    match.missed = {seat: over for seat, over in match.missed.items() if seat in asked and seat in match.owing}
    match.owing = {seat: [*(match.owing.get(seat, []) if seat != by else []), match.prev] for seat in asked}
    if match.position.result:
        end_game(match, match.position.result)


def ask_reveals(match: Match, entry: Entry, ending: tuple[Result, Closing | None]) -> None:
    match.ending, match.prev = ending, entry.head
    match.owing = {}
    match.said.clear()
    ask(match, entry, match.seats)


def reveal(match: Match, entry: Entry) -> None:
    body = entry.body
    seat, player = body["seat"], match.player(body["seat"])
    must(match.ending is not None and not match.paused and body["game"] == match.game, "no reveal is due")
    must(seat not in match.reveals, "revealed before")
    path = f"letters/reveal-{entry.seq}-seat-{seat}.eml"
    letter = letter_named(match, entry, path, body["mail"], body["received"])
    match.once(body["mail"], "reveal", seat, match.game)
    match.answered(seat, body["received"])
    command = said_in(match, letter, player, "reveal", [match.prev], "")
    texts = {(name, *words): text for name, words, text in sections(command)}
    (seed,) = [key[1] for key in texts if key[0] == "seed"]
    heads = {"rules": match.rules_hash, "salt": sealed_salt(match, seed, seat, 0, "setup")}
    setups = [texts["setup",], " ".join(texts["setup",].split())]
    with contextlib.suppress(Refused):
        setups.append(match.rules.setup(match.options, seat, setups[0]))
    setup = opened(match, ("setup", seat, 0), heads, match.commitments[seat], setups)
    orders = {}
    for one in match.told:
        if one.seat == seat and "orders" in one.heads:
            text = texts["orders", str(one.turn)]
            heads = {"setup": match.commitments[seat], "salt": sealed_salt(match, seed, seat, one.turn, "orders")}
            of = ("orders", seat, one.turn)
            orders[one.turn] = opened(match, of, heads, one.heads["orders"], [text, " ".join(text.split())])
    match.reveals[seat] = (setup, orders)
    match.missed.pop(seat, None)
    if judged(match):
        match.due.append(("verdict", None))


def opened(
    match: Match, of: tuple[str, int, int], heads: Mapping[str, str], digest: str, texts: Sequence[str]
) -> str:
    for text in texts:
        made = sealed_paper(match, *of, heads, text.split("\n") if text else [])
        if sha256(made.encode()) == digest:
            match.paper(sealed_path(match, *of), digest)
            return text
    raise No("does not open what was committed to")


def judged(match: Match) -> bool:
    return all(seat in match.reveals or seat in match.missed for seat in match.seats)


def late_verdict(match: Match, entry: Entry) -> None:
    must(match.ending is not None and not match.paused and judged(match), "reveals are due")
    verdict(match, entry, None)


def verdict(match: Match, entry: Entry, _: None) -> None:
    assert match.ending
    result, closing = match.ending
    found: dict[int, Any] = {}
    steps = [Step(one.turn, one.seat, one.step, one.lines) for one in match.told]
    for seat in match.seats:
        found[seat] = "not revealed"
        if seat in match.reveals:
            false = first_false(match.rules, match.options, seat, *match.reveals[seat], steps)
            found[seat] = {"false": false._asdict()} if false else "honest"
    must(entry.body == {"game": match.game, "verdicts": {str(seat): one for seat, one in found.items()}}, "another")
    liars = [seat for seat, one in found.items() if one != "honest"]
    unrevealed(match, [seat for seat in liars if found[seat] == "not revealed"])
    played: list[dict[int, str]] | None = None
    if not liars:
        done = len(match.played)
        setups = {seat: setup for seat, (setup, _) in match.reveals.items()}
        orders = {
            seat: {at: one for at, one in texts.items() if at <= done} for seat, (_, texts) in match.reveals.items()
        }
        match.setups = {seat: match.rules.setup(match.options, seat, setup) for seat, setup in setups.items()}
        position = match.rules.begin(match.options, [match.setups[seat] for seat in match.seats])
        played = settled(position, orders)
        result = position.result or Result(result.winners, position.scores, result.reason)
    elif len(liars) == len(match.seats):
        result = Result((), tuple(0 for _ in match.seats), "annulled")
    else:
        (honest,) = set(match.seats) - set(liars)
        reason = "not revealed" if found[liars[0]] == "not revealed" else "false"
        scores = tuple(one if at == honest else 0 for at, one in enumerate(result.scores, 1))
        lost = result.reason in {"resignation", "forfeit"} and (honest,) != result.winners
        result = Result(() if lost else (honest,), scores, reason)
    if closing is not None:
        if any(found[seat] != "honest" for seat in closing[0]):
            closing = (result.winners, result.reason)
        elif match.terms["kind"] == "single":
            closing = None
    if played is None and closing is None and (match.terms["kind"] == "continued" or result.reason == "annulled"):
        closing = (result.winners, result.reason)
    end_sealed(match, result, played, closing)
