"""The archive: ended executions in object storage, moved there before retention removes them."""

from holdfast.archive.archive import Archive
from holdfast.archive.archiver import Archiver, ArchiverSettings, Report
from holdfast.archive.erasure import Erasure, audit_log
from holdfast.archive.opening import forget_archive, set_archive, unset_archive
from holdfast.archive.store_archive import StoreArchive, open_archive
from holdfast.model.archive import ArchiveStatus, Survey

__all__ = [
    "Archive",
    "ArchiveStatus",
    "Archiver",
    "ArchiverSettings",
    "Erasure",
    "Report",
    "StoreArchive",
    "Survey",
    "audit_log",
    "forget_archive",
    "open_archive",
    "set_archive",
    "unset_archive",
]
