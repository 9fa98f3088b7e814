"""The player's side: an account, a mailbox, the letters of one server, and the forms that go back to it.

`bulletin` tells a letter of the server's from any other; `memory` keeps what was read and what is sent; `forms`
writes what is signed; `correspondence` holds these together, and is handed bytes, time, randomness and a signer: a
person at a terminal and a program that plays use it alike. `account`, `mail_in`, `mail_out`, `signing` and `browser`
are the edges. No store, no desk, no server: it stands on letters alone. Implements docs/attachments.md, read from the
other side.
"""
