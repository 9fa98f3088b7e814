"""Errors of a store that are not the caller's fault, whatever engine is under it."""

from __future__ import annotations


class StoreError(Exception):
    """The store could not do its work, through no fault of the caller."""


class BusyError(StoreError):
    """Others held the store for too long, or it cannot be reached at the moment; trying again later helps."""


class FullError(StoreError):
    """The disk is full or does not work; nothing was written."""


class DamagedError(StoreError):
    """The file is not a pbem store, or not all of it can be read."""


class LockedError(StoreError):
    """Another daemon works on this store."""


class OrphanedError(LockedError):
    """The daemon of this store has ended, and one of its processes has not."""


class UnknownVersionError(StoreError):
    """The store has a version that this software does not know."""
