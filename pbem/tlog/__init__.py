"""The transparency log: a tree over all heads that a server signed, its checkpoints, and who witnessed them.

Pure, and blind to matches: leaves are bytes. `tree` is the Merkle tree of RFC 6962, `note` the signed note,
`checkpoint` what is said of a tree, in the formats of C2SP. Implements docs/witnesses.md.
"""
