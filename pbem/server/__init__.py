"""The running server: its daemon, its desk, the sandbox, and the supervision of them. No logic of a game.

`daemon` wires what runs. The desk works in a process of its own: `desk_work` leads it from letter to letter, and
`desk_process` is the daemon's side of it.
"""
