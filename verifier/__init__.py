"""A second verifier of bundles, which shares nothing with pbem: a module for each section of docs/bundle.md."""

from __future__ import annotations

from verifier.conventions import Unknown, Wrong
from verifier.entries import verified

__all__ = ["Unknown", "Wrong", "verified"]
