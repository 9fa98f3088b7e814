"""The configuration of a server: one TOML file, typed, every key with its default; config/pbem.example.toml has all.

`mail`, `limits` and `server` have the tables, and `values` the kinds of values that they share. `file` finds and
loads the file; `toml_file` words the fault of a key, in this file and in those of players' programs.
"""
