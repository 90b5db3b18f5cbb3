"""Tasks that workers have published: what can be submitted, and with what input."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta

from holdfast.model.api_keys import Role
from holdfast.server.http.call import Call
from holdfast.server.http.declare import Routes
from holdfast.server.views.fields import Kind, Name, Query, View

routes: Routes = Routes("tasks", "The tasks that workers have published.")

_MOST = 1_000
Described = Annotated[dict[Kind, dict[str, Any]], Meta(max_length=_MOST)]


class TaskPage(View):
    """Tasks: each item has `name`, `input` and `result` (JSON Schema), `lane`, `description`."""

    items: list[dict[str, Any]]
    next_cursor: str | None = None


class ListQuery(Query):
    """The tenant whose tasks are listed, in addition to those of all tenants."""

    tenant: Name | None = None


@routes.get("/v1/tasks")
async def list_tasks(call: Call, query: ListQuery) -> TaskPage:  # noqa: ARG001
    """List the published tasks that apply to the submissions of a tenant.

    A task from a worker of the tenant replaces one from a worker of all tenants.
    """
    tasks = await call.engine.tasks.list(tenant=call.tenant)
    return TaskPage(items=[{"name": name, **about} for name, about in tasks.items()])


class PublishedView(View):
    """The number of tasks published."""

    published: int


@routes.post(
    "/v1/tasks",
    role=Role.WORKER,
    example={"mail.send": {"input": {"type": "object"}, "description": "Send a mail."}},
)
async def publish(call: Call, body: Described) -> PublishedView:
    """Publish a worker's tasks. They replace tasks of the same name.

    Each task has `input` and `result` (JSON Schema), `lane`, `description` and `options`. Options
    are named as in POST /v1/executions and are the defaults of submissions of that kind.
    """
    await call.engine.tasks.publish(body, tenant=call.identity.tenant)
    return PublishedView(published=len(body))
