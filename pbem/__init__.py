"""`pbem`: a referee for slow games by e-mail.

As a library (docs/library.md) it verifies bundles, replays records, reads letters, and has the rules of all games.
Each name is imported when it is first used, so that no command waits for what another needs.
"""

from importlib import import_module

TYPE_CHECKING = False  # for mypy: `pbem --help` does without `typing`
if TYPE_CHECKING:
    from pbem import games
    from pbem.mail.message import read_letter as read_letter
    from pbem.match.record import read as read_record
    from pbem.match.record import replay
    from pbem.proof.bundle import Bundle
    from pbem.proof.compare.finding import Finding
    from pbem.proof.prove import prove as verify

__all__ = ["Bundle", "Finding", "games", "read_letter", "read_record", "replay", "verify"]

_PLACES = {
    "Bundle": ("pbem.proof.bundle", "Bundle"),
    "Finding": ("pbem.proof.compare.finding", "Finding"),
    "read_letter": ("pbem.mail.message", "read_letter"),
    "read_record": ("pbem.match.record", "read"),
    "replay": ("pbem.match.record", "replay"),
    "verify": ("pbem.proof.prove", "prove"),
}
"""The module of each name, and its name there; `games` is a package of its own."""


if not TYPE_CHECKING:  # there it would stand for every misspelt name

    def __getattr__(name: str) -> object:
        if name == "games":
            return import_module("pbem.games")
        if name not in _PLACES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        module, attribute = _PLACES[name]
        return getattr(import_module(module), attribute)
