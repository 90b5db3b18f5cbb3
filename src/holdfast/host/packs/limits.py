"""How large a pack may be. The limits hold for folders and archives alike."""

from __future__ import annotations

MIB = 1_048_576

ARCHIVE_BYTES = 80 * MIB
FILE_BYTES = 32 * MIB
TOTAL_BYTES = 64 * MIB
FILES = 2_000
PATH_CHARS = 200
PATH_PARTS = 8
#: A file larger than RATIO_BYTES may be at most RATIO times as large as it is compressed.
RATIO = 100
RATIO_BYTES = 64 * 1024
SIGNATURES = 16
MANIFEST_BYTES = MIB
