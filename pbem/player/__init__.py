"""The player's side: an account, a mailbox, the letters of one server, and the forms that go back to it.

`correspondence` takes bytes, time, randomness and a signer as parameters, so that a person at a terminal and a
program that plays use it in the same way. `account_file`, `mail_in`, `mail_out`, `signing` and `page_port` are the
edges. `play_table` is all of `pbem play` but its terminal.
"""

from __future__ import annotations

from pbem.phrase import Phrase


class PlayerTrouble(Exception):
    """Something is not possible, and the program is not at fault; the text tells the player why.

    It is a phrase: a template with its facts, or text without facts that is in no catalogue.
    """

    def __init__(self, text: str, /, **facts: object) -> None:
        super().__init__(text if isinstance(text, Phrase) else Phrase(text, **facts))
