"""The rules of the games, which are pbem's: the one thing that the two verifiers share."""

from __future__ import annotations

from pbem.games import Refused, Result, rules
from pbem.games.sealed import SealedStep, sealed_rules, settled

__all__ = ["Refused", "Result", "SealedStep", "rules", "sealed_rules", "settled"]
