"""The commands' functions, by the names of their rows in the list of commands: `pbem/mail/commands/table.py`.

A function may touch only its arguments: those that `pbem/desk/wiring.py` names beside it, then the caller's seat, if
the command is about a match, then the caller and the command; never the desk. It changes a match by an event on a
`Step` and `SeatContext.commit`, an account through `Keyring`, people through the stores that it is handed. It returns
a `Reply`, or raises `Refused` if nothing is to change. It reads no mail, sends no letter but through `SeatContext` or
an argument, and checks none of its row's demands: `dispatch` has checked them. `stop_mail`, which ends the reading of
a letter, has no row. Implements protocol.md, "Commands".
"""
