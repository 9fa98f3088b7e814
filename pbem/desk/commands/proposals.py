"""Ways to an opponent: proposals, free seats, invitations by address, agreeing and declining.

If not all players of a match are known, seats are kept free. When the last one is taken, the match becomes a
proposal like any other, and its hash can be accepted. Accounts cost nothing, so letters about matches with strangers
are counted by their reader: beyond some, one short letter a day names the matches. Implements protocol.md, "Commands"
(`new`, `join`, `accept`, `decline`, `withdraw`), the first step of "A match", and reliability.md, "Limits".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from msgspec.structs import replace

from pbem.desk.caller import Caller, refused
from pbem.desk.daily_limits import UNASKED, DailyCounts
from pbem.desk.outcomes import NOT_TO_BE_ASKED, Reply
from pbem.desk.seats import SeatContext, Seats, demand_leisure, number_of, pinned, seat_at, without_keys
from pbem.desk.strangers import Strangers, one_mailbox
from pbem.games import GAMES, Fault, Refused, refuse, rules
from pbem.games.parts import pictured
from pbem.letters.digest import next_digest
from pbem.letters.draft import OutgoingLetter
from pbem.match.events import begun
from pbem.match.naming import called, hides_players, seen_by
from pbem.match.state import AGREEING, PHASES, RUNNING, Match
from pbem.match.terms import Terms, named_in_terms
from pbem.match.transcript import BEFORE
from pbem.pages import served
from pbem.phrase import Phrase, either
from pbem.store.database import to_db

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime, timedelta

    from pbem.desk.match_environment import OutagesAndZones
    from pbem.mail.commands import Command
    from pbem.requests import Accept, Decline, Join, Propose, Withdraw
    from pbem.store.outbox import DigestQueue
    from pbem.store.people import People
    from pbem.store.players import PlayerRow, Players


_PENDING = 20
"""The most proposals of one player that may wait for an answer at a time."""

_OPPONENTS = 100
"""The most players that one proposal may name; no game has as many seats."""

_ADDRESS = 254
"""The most characters of an address (RFC 5321 4.5.3.1.3)."""


_PROPOSED = Phrase("{by} proposes a match to you")
_ONCE_MORE = Phrase("{by}'s match: agree once more, as your keys have changed")

_NAMED_TOGETHER = 50
"""The most matches that the letter names."""


@dataclass(frozen=True, eq=False, repr=False)
class Offers:
    """The offers of seats: who may be asked and how often, and the seats themselves."""

    seats: Seats
    players: Players
    people: People
    strangers: Strangers
    counts: DailyCounts
    time: OutagesAndZones


def welcome(offers: Offers, player: str, address: str, now: datetime) -> None:
    """Give a player whose address this is now the seats to which it was invited, but no second one in a match."""
    for number, seat in offers.people.kept_for(address):
        match, _ = offers.seats.archive.known(number)
        if not match.seat_of(player) and not offers.people.blocks(player, match.name(1)):
            _seat(offers, number, seat, player, now)


# Proposing.


def new(offers: Offers, settle: timedelta, pages: str, caller: Caller, command: Command[Propose]) -> Reply:
    """`new`: a match is proposed, to players, to addresses that are invited, or to all in the open list.

    `settle` is the server's default; `pages` is the address at which it serves pages, or "".
    """
    demand_leisure(offers.seats, caller.known_player.name)
    game, lines = command.request.rules, dict(command.request.options)
    names, free, faults = _wanted(offers, caller.known_player.name, command.request.players)
    strange = {fault.token for fault in faults}
    more, wrong = _more_seats(game, len(names), lines)
    free |= dict.fromkeys(more)
    faults += wrong
    names += tuple(f"?{seat}" for seat in free if seat > len(names))
    busy = []
    if offers.seats.archive.matches.pending(caller.known_player.name) >= _PENDING:
        busy = [Fault("new", None, Phrase("too many of your proposals are unanswered; withdraw one first"))]
    try:
        terms = Terms.propose(game, lines, names, settle)
    except Refused as refused:
        raise Refused(*faults, *refused.faults, *busy) from refused
    if terms.anonymous and command.request.players:
        says = Phrase("in an anonymous match nobody may know who is asked: name nobody, and let players join")
        faults.append(Fault("anonymous", "yes", says))
    faults += [*without_keys(offers.players, terms, *(name for name in names if name not in strange)), *busy]
    refuse(faults)
    offers.people.opt_in(caller.addresses)
    known = [(seat, name, seat == 1) for seat, name in enumerate(names, 1) if seat not in free]
    phase = "open" if free else "proposed"
    number = offers.seats.archive.matches.create(terms.document(), known, BEFORE, to_db(caller.now), phase)
    offers.seats.archive.consent(number, 1, caller.signed)
    told = {}
    for seat, address in free.items():
        offers.people.keep_free(number, seat, address)
        if address is not None:
            told[address] = _invite(offers, address, caller.known_player.name, terms, number, caller.now)
    seated = seat_at(offers.seats, number, caller.known_player.name)
    if not free:
        _propose(offers, seated, caller.now)
    facts = {"invited": told, "free": free, "page": served(pages, seated.match.id)}
    return Reply("new", facts | seated.facts(), at=seated)


def _wanted(
    offers: Offers, proposer: str, wanted: tuple[str, ...]
) -> tuple[tuple[str, ...], dict[int, str | None], list[Fault]]:
    """The players in seat order, the seats kept for addresses, and what is wrong."""
    from email_validator import EmailNotValidError, validate_email

    if len(wanted) > _OPPONENTS:  # each is looked up while the store is locked
        raise Refused(Fault("new", None, Phrase("these are too many players")))
    names, free, faults = [proposer], dict[int, str | None](), list[Fault]()
    for name in wanted:
        seat = len(names) + 1
        if "@" not in name:
            if listening(offers.people, offers.players.by_name(name), proposer) is None:
                faults.append(Fault("new", name, NOT_TO_BE_ASKED.given(name=name)))
            names.append(name)
            continue
        player = listening(offers.people, offers.players.by_address(name), proposer)
        if player is not None:
            names.append(player.name)
            continue
        try:
            # The library normalises Unicode before it looks at the length: the square of a run of combining marks.
            if len(name) > _ADDRESS:
                raise EmailNotValidError
            free[seat] = validate_email(name, check_deliverability=False, test_environment=True).normalized
        except EmailNotValidError:
            faults.append(Fault("new", name, Phrase("this is not an address")))
        names.append(f"?{seat}")
    if len({str(address).lower() for address in free.values()}) < len(free):  # who registers there gets both
        faults.append(Fault("new", None, Phrase("the same player twice")))
    return tuple(names), free, faults


def listening(people: People, player: PlayerRow | None, proposer: str) -> PlayerRow | None:
    """The player, unless there is none, or the player wants no mail (from this one): nobody can tell them apart."""
    if player is None or people.opted_out(player.address) or people.blocks(player.name, proposer):
        return None
    return player


def _more_seats(game: str, taken: int, lines: dict[str, str]) -> tuple[range, list[Fault]]:
    """Seats for anybody, up to the requested number (which is no term), or the least that the game needs."""
    wanted = lines.pop("seats", None)
    if game not in GAMES:
        return range(0), []
    allowed = rules(game).seats
    if wanted is not None and (not wanted.strip().isdecimal() or int(wanted) not in allowed):
        numbers = either(map(str, allowed))
        reason = Phrase("{title} is for {numbers} players", title=rules(game).title, numbers=numbers)
        return range(0), [Fault("seats", wanted, reason)]
    more = range(taken + 1, int(wanted or min(allowed)) + 1)
    if more and lines.get("privacy", "").strip().lower() == "private":
        unlisted = Phrase("a private match is not on the open list: name your opponents")
        return more, [Fault("privacy", "private", unlisted)]
    return more, []


def _invite(offers: Offers, address: str, by: str, terms: Terms, number: int, now: datetime) -> bool:
    """One polite invitation, never a second to the same mailbox; returns True if it was sent."""
    mailbox, people = one_mailbox(address), offers.people
    for one in (address, mailbox):
        # Whose registered address it is wants no proposal of this player: see `listening`.
        if offers.players.by_address(one) or people.opted_out(one) or people.is_invited(one):
            return False
    if not offers.strangers.may_be_named(mailbox, now):
        return False
    offers.people.invite(mailbox, to_db(now))
    found, title = offers.people.standing(terms.game, by), rules(terms.game).title
    facts = {"by": by, "terms": terms, "title": title, "match": f"m{number}", "found": found}
    text = offers.seats.letters.template("letters/invitation.txt", **facts)
    html = offers.seats.letters.template("letters/invitation.html", **facts, board=pictured(rules(terms.game)))
    offers.seats.letters.send(
        address, OutgoingLetter(Phrase("[pbem] {by} invites you to a game by mail", by=by), text, html), now
    )
    return True


def _propose(
    offers: Offers, seated: SeatContext, now: datetime, but: int | None = None, says: Phrase = _PROPOSED
) -> None:
    """Ask all who have not accepted yet, except the seat that is asked in its answer."""
    number = seated.row.number
    for row in seated.row.seats:
        asked, by = not row.accepted and row.seat != but, seated.name(1, row.seat)
        subject = says.given(by=by)
        if asked and may_be_written(offers, row.player, [by], number, now):
            facts = {"standings": standings_of_others(offers.people, seated.match, row.seat), "says": subject}
            seated.write_to(row.seat, "proposal", subject, now, **facts)


def ask_again(offers: Offers, number: int, now: datetime) -> None:
    """Ask once more all who have not accepted: a server restored from a backup may have forgotten that they did."""
    _propose(offers, SeatContext(offers.seats, *offers.seats.archive.known(number)), now)


def standings_of_others(people: People, match: Match, seat: int) -> list[object]:
    """The others' standings, to be seen before accepting; of those whom the match hides, none."""
    others = [] if hides_players(match) else [other for other in match.seats if other != seat]
    return [people.standing(match.terms.game, match.name(other)) for other in others]


# A free seat.


def is_blocked(people: People, match: Match, player: str) -> bool:
    """True if somebody in this match wants nothing from the player; of those whom it hides, nobody can tell."""
    return any(people.blocks(name, player) for name in seen_by(match, 0).names)


def join(offers: Offers, caller: Caller, command: Command[Join]) -> Reply:
    """`join`: a seat in a match of the open list is taken."""
    seated = take_seat(offers, number_of(command), caller.known_player.name, caller.now, tell=False)
    offers.people.opt_in(caller.addresses)
    others = standings_of_others(offers.people, seated.match, seated.seat)
    return Reply("join", {"standings": others} | seated.facts(), at=seated)


def take_seat(offers: Offers, number: int, player: str, now: datetime, *, tell: bool = True) -> SeatContext:
    """Give a player a seat that is free for anybody; with `tell`, the proposal comes by letter. Raises `Refused`."""
    seat = next((seat for seat, kept in offers.people.free(number).items() if kept is None), None)
    loaded = offers.seats.archive.load(number)
    if seat is None or loaded is None or is_blocked(offers.people, loaded[0], player):
        closed = Phrase("this match is not on the open list; `list open` shows those that are")
        raise refused("join", f"m{number}", closed)
    if loaded[0].seat_of(player):
        raise refused("join", f"m{number}", Phrase("you have a seat in it already"))
    refuse(without_keys(offers.players, loaded[0].terms, player))
    demand_leisure(offers.seats, player)
    return _seat(offers, number, seat, player, now, tell=tell)


def _renamed(terms: Terms, seat: int, name: str) -> Terms:
    """The terms with this name for a seat."""
    players = tuple(name if other == seat else player for other, player in enumerate(terms.players, 1))
    return replace(terms, players=named_in_terms(players, anonymous=terms.anonymous))


def _seat(offers: Offers, number: int, seat: int, player: str, now: datetime, *, tell: bool = True) -> SeatContext:
    """Give a free seat to a player; with the last seat the match becomes a proposal, and all are asked."""
    terms = _renamed(offers.seats.archive.known(number)[0].terms, seat, player)
    phase = "open" if offers.people.free(number).keys() - {seat} else "proposed"
    offers.seats.archive.matches.seat(number, seat, player, terms.document(), phase)
    seated = seat_at(offers.seats, number, player)
    if phase == "proposed":
        offers.people.withdraw(number)
        _propose(offers, seated, now, None if tell else seat)
    for other in seated.row.seats:
        if other.accepted:
            shown = seated.name(seat, other.seat)
            facts = {"by": shown, "found": offers.people.standing(terms.game, shown)}
            seated.write_to(other.seat, "joined", Phrase("{player} joins", player=shown), now, **facts)
    return seated


# Agreeing.


def accept(offers: Offers, seated: SeatContext, caller: Caller, command: Command[Accept]) -> Reply:
    """`accept`: a player agrees to a proposed match; with the last agreement it begins."""
    match = seated.match
    if match.phase != "proposed":
        late = Phrase("this match is {phase}; there is nothing to accept", phase=PHASES[match.phase])
        raise refused("accept", match.id, late)
    given = command.request.hash
    if given is None:
        unsaid = Phrase("repeat the hash of the agreed rules: `accept {id} <hash>`", id=match.id)
        raise refused("accept", None, unsaid)
    if given != match.rules_hash:
        another = Phrase("the hash of what was proposed is {rules_hash}", rules_hash=match.rules_hash)
        raise refused("accept", given, another)
    refuse(without_keys(offers.players, match.terms, match.name(seated.seat)))
    demand_leisure(offers.seats, match.name(seated.seat))
    offers.people.opt_in(caller.addresses)
    offers.seats.archive.matches.accept(seated.row.number, seated.seat)
    signed = caller.signed
    if signed.evidence:
        signed = replace(signed, rev=command.form.rev or 0)
    offers.seats.archive.consent(seated.row.number, seated.seat, signed)
    agreed = {seat.seat for seat in seated.row.seats if seat.accepted} | {seated.seat}
    if len(agreed) == len(match.seats):
        _begin(offers, seated, caller.now)
    return Reply("accept", seated.facts(), at=seated)


def _begin(offers: Offers, seated: SeatContext, now: datetime) -> None:
    """All have agreed; but players whose keys changed since they signed are asked once more."""
    match, number = seated.match, seated.row.number
    step = seated.step(now)
    players = [
        pinned(offers.players, name, (match.server, match.id, seat), step.world.salt())
        for seat, name in enumerate(match.names, start=1)
    ]
    consents = offers.seats.archive.consents(number)
    stale = [
        seat
        for seat, player in enumerate(players, start=1)
        if not player.counts(consents[seat].level, consents[seat].key, BEFORE)
    ]
    if stale:
        for seat in stale:
            offers.seats.archive.matches.ask_again(number, seat)
        _propose(offers, seat_at(offers.seats, number, match.name(seated.seat)), now, seated.seat, _ONCE_MORE)
        return
    begun.agree(step, tuple(players), list(consents.values()))
    seated.commit(step)


def give_up(
    offers: Offers, held: DigestQueue, seated: SeatContext, caller: Caller, command: Command[Decline | Withdraw]
) -> Reply:
    """`decline` or `withdraw`: a match is turned down, a seat in an open one left, or the proposal taken back."""
    phase = "declined" if command.name == "decline" else "withdrawn"
    match, number = seated.match, seated.row.number
    if match.phase not in AGREEING:
        late = Phrase("this match is {phase} and can no longer be {wanted}")
        if match.phase in RUNNING:
            late = Phrase("this match has begun; resign it, or offer to annul it")
        raise refused(command.name, match.id, late.given(phase=PHASES[match.phase], wanted=PHASES[phase]))
    if phase == "withdrawn" and seated.seat != 1:
        by = seated.name(1, seated.seat)
        by_another = Phrase("{name} proposed it; you may `decline {id}`", name=by, id=match.id)
        raise refused("withdraw", match.id, by_another)
    seated.give_up(phase)
    if frees := offers.people.is_offered(number, seated.seat):  # then others may still take the seat
        terms = _renamed(match.terms, seated.seat, f"?{seated.seat}")
        offers.seats.archive.matches.seat(number, seated.seat, None, terms.document(), match.phase)
    else:
        offers.people.withdraw(number)
    others = seat_at(offers.seats, number, match.name(1))
    for other in others.row.seats:
        by = seated.name(seated.seat, other.seat)
        if not other.accepted:
            # A player who has not answered need not answer any more: a proposal must not cost its reader two letters.
            held.take(other.player, number)
        if other.seat != seated.seat and (
            other.accepted
            # Who joined an open match waits to be asked.
            or (match.phase == "open" and may_be_written(offers, other.player, [by], number, caller.now))
        ):
            subject = Phrase("{who} has left", who=by) if frees else PHASES[phase]
            others.write_to(other.seat, "declined", subject, caller.now, by=by, done=phase, frees=frees)
    return Reply("decline", {"done": phase} | seated.facts(), at=seated, outcome="declined" if frees else "done")


# Letters that nobody asked for.


def may_be_written(offers: Offers, player: str, by: Sequence[str], match: int, now: datetime) -> bool:
    """True if a player may be written to at once about a match with these; otherwise the daily letter names it."""
    known = any(offers.people.played_together(player, other) for other in by)
    if known or offers.people.is_program(player) or offers.counts.left(UNASKED, now, player) >= 0:
        return True
    due = next_digest(now, offers.time.zone(player))
    offers.people.hold_back(player, match, to_db(due))
    return False


def send_held_back(offers: Offers, now: datetime) -> None:
    """Write the first letter that is due, to one player about all matches that still want an answer."""
    name = offers.people.held_back_until(to_db(now))[0]
    lines = [line for number in offers.people.held_back(name) if (line := _still_asked(offers, name, number))]
    offers.people.told(name)
    player = offers.players.by_name(name)
    if player is not None and lines and not offers.people.opted_out(player.address):
        text = offers.seats.letters.template(
            "letters/unasked.txt", lines=lines[:_NAMED_TOGETHER], more=len(lines[_NAMED_TOGETHER:])
        )
        offers.seats.letters.send(player.address, OutgoingLetter(Phrase("[pbem] Matches for you"), text), now)


def _still_asked(offers: Offers, name: str, number: int) -> dict[str, str] | None:
    """A match that is proposed to the player, or in which a seat is; None if nobody waits for an answer any more."""
    match, row = offers.seats.archive.known(number)
    proposed = match.phase == "proposed" and any(seat.player == name and not seat.accepted for seat in row.seats)
    seat = next((called(match, seat) for seat, found in match.nominated.items() if found.name == name), None)
    by = seen_by(match, 0).name(1)
    if not (proposed or seat) or offers.people.blocks(name, by):
        return None
    take = "" if proposed else f"substitute {match.id} {name} for {seat}"
    return {"id": match.id, "title": match.rules.title, "by": by, "take": take}
