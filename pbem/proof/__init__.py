"""The proof of a match: the bundle, its verification, and its comparison with letters that players kept.

It needs no server, no store and no network, and imports none: rules, match, signatures and the reading of mail
suffice.
"""
