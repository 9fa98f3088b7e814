"""The doubter's room: the bundle, its proof, and letters that players kept held against it.

Needs no server, no store and no network, and imports none: rules, match, signatures and the reading of mail suffice.
"""
