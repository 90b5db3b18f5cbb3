"""Resubmissions: another execution like one that there is."""

from __future__ import annotations

from msgspec import UNSET, Raw, UnsetType

from holdfast import errors
from holdfast.model.api_keys import Role
from holdfast.model.resubmissions import Resubmission
from holdfast.server.auth import shown
from holdfast.server.auth.owners import EXECUTION
from holdfast.server.http.call import Call
from holdfast.server.http.declare import Answer, Routes
from holdfast.server.views.bodies import Tags
from holdfast.server.views.fields import Base64, Body, Name, Priority, ScopedId, View, payload

routes: Routes = Routes("resubmitting", "Another execution like one that there is.")


class ResubmitBody(Body):
    """What differs from the original; absent fields stay as they are there."""

    #: Any JSON, kept as it was written; or bytes, in `input_base64`.
    input: Raw | UnsetType = UNSET
    input_base64: Base64 | UnsetType = UNSET
    lane: Name | None = None
    priority: Priority | None = None
    tags: Tags | None = None
    #: The id of the new execution, which makes the call safe to repeat; generated if absent.
    id: ScopedId | None = None


class ResubmittedView(View, omit_defaults=True):
    """The new execution."""

    id: str
    state: str
    #: The execution of which it is a copy.
    origin: str
    #: Whether it already existed, by its id.
    duplicate: bool = False


@routes.post(
    "/v1/executions/{id}/resubmit",
    role=(Role.SUBMITTER, Role.OPERATOR),
    owner=EXECUTION,
    status=(201, 200),
    errors=(
        errors.IdConflict,
        errors.LaneDraining,
        errors.QuotaNotFound,
        errors.StoreFull,
    ),
    example={"input": {"to": "bob@example.org"}},
)
async def resubmit(call: Call, id: str, body: ResubmitBody) -> Answer[ResubmittedView]:
    """Submit another execution like this one, with the same or another input.

    It has the same task, lane, priority, capabilities, limits and tags, and a tag `resubmit_of`
    that names its origin, so `GET /v1/executions?tag=resubmit_of:ID` lists the copies. Its other
    options are those of the task.
    """
    given = body.input is not UNSET or body.input_base64 is not UNSET
    changes = Resubmission(
        input=payload("input", body.input, body.input_base64) if given else None,
        lane=body.lane,
        priority=body.priority,
        tags=body.tags,
        id=None if body.id is None else call.stored_id(body.id),
    )
    made = await call.engine.executions.resubmit(id, changes)
    view = ResubmittedView(
        id=shown.own(made.id), state=made.state, origin=shown.own(id), duplicate=made.duplicate
    )
    return Answer(view, 200 if made.duplicate else 201)
