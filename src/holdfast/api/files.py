"""Files: what users send with their messages."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator

from holdfast.model.files import File


class Files(ABC):
    """Files of sessions. A session's files are removed with it."""

    @abstractmethod
    async def get(self, session_id: str, file_id: str) -> File:
        """Return what is known of a file. Raises SessionNotFound, FileNotFound."""

    @abstractmethod
    def read(self, session_id: str, file_id: str) -> AsyncIterator[bytes]:
        """Yield the content of a file, in parts.

        Raises SessionNotFound, FileNotFound, BackendFailed, InvalidRecord; also in the middle, if
        the file is damaged or removed meanwhile.
        """
