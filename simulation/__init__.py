"""Weeks of a server in one thread and in virtual time, each from a seed: see README.md and docs/simulation.md."""
