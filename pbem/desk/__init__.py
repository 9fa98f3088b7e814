"""The desk: the one place where a stored letter becomes effect.

Identify, parse, decide, compose, commit, in one transaction a letter; it never waits on the network. `work` goes
through the inbox, `answers` holds one answer a command, `forms` turns commands into what a match understands,
`archive` brings matches from the store and back, `clerk` writes the letters. Implements design.md, "The way of a
letter".
"""

from pbem.desk.wiring import Desk

__all__ = ["Desk"]
