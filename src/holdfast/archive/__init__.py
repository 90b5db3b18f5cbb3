"""The archive: ended executions in object storage, moved there before retention removes them."""

from holdfast.archive.archive import Archive
from holdfast.archive.archiver import Archiver, ArchiverSettings, Report
from holdfast.archive.erasure import Erasure, audit_log
from holdfast.archive.opening import find_archive, open_archive, set_archive, survey, unset_archive
from holdfast.model.archive import ArchiveStatus, Survey

__all__ = [
    "Archive",
    "ArchiveStatus",
    "Archiver",
    "ArchiverSettings",
    "Erasure",
    "Report",
    "Survey",
    "audit_log",
    "find_archive",
    "open_archive",
    "set_archive",
    "survey",
    "unset_archive",
]
