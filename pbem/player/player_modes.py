"""The modes of matches, from a player's side: the matches of each, and the agent that plays the sealed ones.

`pbem.match.modes` has the same modes from the server's side. Implements docs/playing.md.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from pbem.player.refereed_matches import RefereedMatches
from pbem.player.sealed_agent import Agent
from pbem.player.sealed_matches import SealedMatches
from pbem.player.secret_vault import SecretVault

if TYPE_CHECKING:
    from pathlib import Path

    from pbem.match.view import MatchView
    from pbem.player.correspondence import Correspondence


def matches_like(standing: MatchView, agent: Agent) -> RefereedMatches:
    """The matches in the mode of this one, of the agent's account."""
    return SealedMatches(agent.letters, agent) if standing.sealed else RefereedMatches(agent.letters)


def agent_of(letters: Correspondence, secrets: Path) -> Agent:
    """The agent of an account, with the folder of its secrets."""
    return Agent(letters, SecretVault(secrets, letters.account.id), os.urandom)
