"""Files that users sent, for operators and workers."""

from __future__ import annotations

from starlette.responses import StreamingResponse

from holdfast import errors
from holdfast.server.auth.owners import SESSION
from holdfast.server.http.attachment import attachment
from holdfast.server.http.call import Call
from holdfast.server.http.declare import ANYTHING, Bare, Routes
from holdfast.server.views.files import FileView

routes: Routes = Routes("files", "What users sent with their messages.")

_READING = (errors.FileNotFound, errors.BackendFailed, errors.InvalidRecord)


@routes.get("/v1/sessions/{id}/files/{file}", owner=SESSION, errors=_READING)
async def show(call: Call, id: str, file: str) -> FileView:
    """Show what is known of a file that a message of a session names."""
    return FileView.of(await call.engine.files.get(id, file))


@routes.get(
    "/v1/sessions/{id}/files/{file}/content",
    owner=SESSION,
    errors=_READING,
    media_type=ANYTHING,
    bare=Bare.EXACT,
)
async def read(call: Call, id: str, file: str) -> StreamingResponse:
    """Read the content of a file that a message of a session names."""
    found = await call.engine.files.get(id, file)
    return attachment(found, call.engine.files.content(id, file))
