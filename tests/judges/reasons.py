"""Why something is refused: a sentence that can be said in each language, with all its facts."""

from __future__ import annotations

import re

from pbem.phrase import Phrase

_PLACE = re.compile(r"\{([a-z_]+)\}")


def is_whole(reason: object) -> bool:
    """True if each place of a phrase has its fact, and each fact that is a phrase is whole, too."""
    if not isinstance(reason, Phrase):
        return False
    given = {name for name, fact in reason.facts.items() if fact is not None}
    facts = (fact for fact in reason.facts.values() if isinstance(fact, Phrase))
    return bool(reason.template) and given == {*_PLACE.findall(reason.template)} and all(map(is_whole, facts))
