"""Backups: all keys of a store as of one moment, in a folder or in object storage."""

from holdfast.backup.moments import restore_at
from holdfast.backup.restoring import latest, restore
from holdfast.backup.taking import take

__all__ = ["latest", "restore", "restore_at", "take"]
