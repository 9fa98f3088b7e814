"""The running server: its daemon, its desks, the sandbox, and the supervision of them. No logic of a game.

`daemon` wires what runs. `desks` are all desks as one, each at a `desk_place`: a `desk_process` of its own, or a
`desk_thread`. `desk_opening` has what a desk is handed; `desk_work` leads it from letter to letter, and `desk_rest`
says when it rests. `desk_main` is the life of a desk's process; `desk_messages` pass between that and the daemon.
"""
