"""The player's side: an account, a mailbox, the letters of one server, and the forms that go back to it.

`server_letter` tells the server's letters from any others; `memory` keeps letters read and sent; `forms` writes the
texts to be signed; `correspondence` connects these, and takes bytes, time, randomness and a signer as parameters: a
person at a terminal and a program that plays use it in the same way. `account_file`, `mail_in`, `mail_out`,
`signing` and `page_port` are the edges. No store, no desk, no server: it depends on letters alone. Implements
docs/attachments.md, from the reader's side.
"""

from __future__ import annotations


class PlayerTrouble(Exception):
    """Something is not possible, and the program is not at fault; the text tells the player why."""
