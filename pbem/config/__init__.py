"""The configuration of a server: one TOML file, typed, every key with its default.

Each table is in the module of its subject: `mail` ([smtp], [lmtp], [mailbox], [smarthost], [delivery], [dkim]),
`limits`, `witnessing`; the others, and the whole, in `server`. `values` has the units that they share. `file` finds
and loads the file; `toml_file` words the fault of a key, in this file and in those of players' programs.
Nothing is opened or created here. `config/pbem.example.toml` documents every key.
"""
