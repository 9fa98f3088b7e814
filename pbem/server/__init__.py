"""The running server: its daemon, its desk, the sandbox, and the supervision of them. No logic of a game.

`daemon` wires what runs. The desk works at its `desk_place`: a `desk_process` of its own. `desk_opening` has what it
is handed; `desk_work` leads it from letter to letter, and `desk_rest` says when it rests. `desk_main` is the life of
the desk's process; `desk_messages` pass between that and the daemon.
"""
