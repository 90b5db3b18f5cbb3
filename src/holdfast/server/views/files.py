"""Files over HTTP."""

from __future__ import annotations

from holdfast.model.files import File
from holdfast.server.views.fields import View


class FileView(View):
    """A file that a user sent."""

    id: str
    name: str
    #: Such as image/png, by its content.
    type: str
    size: int
    sha256: str

    @classmethod
    def of(cls, file: File) -> FileView:
        """Show a file."""
        return cls(id=file.id, name=file.name, type=file.type, size=file.size, sha256=file.sha256)
