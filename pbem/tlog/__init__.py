"""The transparency log: a tree over all heads that a server signed, its checkpoints, and who witnessed them.

Pure, and blind to matches: leaves are bytes. `tree` is the Merkle tree of RFC 6962, `note` the signed note,
`checkpoint` what is said of a tree, the request to cosign that, and the proof that a letter carries: the
formats of C2SP, which other logs and witnesses speak, too. No sockets, no store.
Implements docs/witnesses.md.
"""
