"""A player's sealed matches: the agent answers in them, and what is decided follows from what was signed.

What they share with refereed ones is in `refereed_matches`. Implements docs/playing.md, "Sealed matches".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from pbem.games.sealed import sealed_rules
from pbem.player.refereed_matches import KeptHere, Prepared, RefereedMatches
from pbem.requests import DEFAULT

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime
    from typing import Any

    from pbem.games import Report
    from pbem.json_object import JsonObject
    from pbem.match.view import MatchView
    from pbem.player.correspondence.judge import Judged
    from pbem.player.memory import SentForm
    from pbem.player.sealed_agent import Agent


class SealedMatches(RefereedMatches, frozen=True):
    """The sealed matches of an account."""

    agent: Agent

    keeps_secrets: ClassVar[bool] = True

    def asks(self, standing: MatchView) -> bool:
        return self.agent.asks(standing.match)

    def turn(self, standing: MatchView) -> int:
        return self.agent.shown(standing.match).turn

    def is_later(self, standing: MatchView, turn: int) -> bool:
        if turn == DEFAULT or standing.phase != "playing":
            return super().is_later(standing, turn)
        shown = self.agent.shown(standing.match)
        return not shown.asked or turn != shown.turn

    def judge(self, match: str, text: str, turn: int | None) -> Judged:
        if turn is None:
            return self.agent.judge_orders(match, text)
        return self.agent.ahead.judge(match, turn, text)

    def set_up(self, match: str, text: str, now: datetime) -> Prepared:
        new = self.agent.vault.code() is None
        form = self.agent.set_up(match, text, now)
        return Prepared(form, self.agent.words if new else "")

    def order(self, match: str, text: str, now: datetime, *, final: bool, turn: int | None) -> Prepared | KeptHere:
        if turn is None:
            return Prepared(self.agent.order(match, text, now))
        self.agent.ahead.store(match, turn, text)
        return KeptHere()

    def clear(self, match: str, now: datetime, turn: int | None) -> SentForm | None:
        if turn is None:
            return super().clear(match, now, turn)
        self.agent.ahead.forget(match, turn)
        return None

    def in_advance(self, standing: MatchView, now: datetime) -> JsonObject:
        waiting, unused, first = self.agent.ahead.plans(standing.match, now)
        return {
            "unused": unused.text if unused else "",
            "refused": [fault.message for fault in unused.faults] if unused else [],
            "stored": [{"turn": turn, "state": "here", "form": text} for turn, text in waiting.items()],
            "default": True,
            "next": first,
        }

    def to_compose(self, standing: MatchView) -> JsonObject:
        if standing.phase == "setup":
            asked = super().to_compose(standing)
        else:
            shown = self.agent.shown(standing.match)
            now = {"turn": shown.turn, "view": shown.view, "asked": shown.asked}
            file = self.letters.matches.setup_file(standing.match) or {}
            asked = file | now if self.agent.asks(standing.match) else {}
        # The page is asked for the setup or the orders alone: what is done with them is the agent's.
        return {key: value for key, value in asked.items() if key != "sealed"}

    def seen(self, standing: MatchView) -> JsonObject:
        shown = self.agent.shown(standing.match)
        view = dict(shown.view) | ({} if shown.asked else {"entitled": None})
        return {"view": view, "reports": shown.reports[-1] if shown.reports else None}

    def told(self, standing: MatchView) -> tuple[Mapping[str, Any], Sequence[Sequence[Report]]]:
        shown = self.agent.shown(standing.match)
        return shown.view, shown.reports

    def is_unrevealed(self, standing: MatchView) -> bool:
        judge, memory = sealed_rules(standing.rules), self.letters.memory
        sealed, revealed = (
            {sent.place for sent in memory.prepared(what, standing.match) if sent.state != "refused"}
            for what in ("seal", "reveal")
        )
        return judge is not None and judge.reveals and bool(sealed - revealed)
