"""Tasks that workers have published: what can be submitted, and with which input."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta

from holdfast.model.api_keys import Role
from holdfast.server.http.call import Call
from holdfast.server.http.declare import Routes
from holdfast.server.views.fields import Kind, Name, Query, View

routes: Routes = Routes("tasks", "What workers have published of their tasks.")

_MOST = 1_000
Described = Annotated[dict[Kind, dict[str, Any]], Meta(max_length=_MOST)]


class TaskPage(View):
    """Tasks: each item has `name`, `input` and `result` (JSON Schema), `lane`, `description`."""

    items: list[dict[str, Any]]
    next_cursor: str | None = None


class ListQuery(Query):
    """Whose tasks, besides those of all tenants."""

    tenant: Name | None = None


@routes.get("/v1/tasks")
async def list_tasks(call: Call, query: ListQuery) -> TaskPage:  # noqa: ARG001
    """List the published tasks, as they hold for the submissions of a tenant.

    What a worker of the tenant published replaces what one of all tenants published.
    """
    found = await call.engine.tasks.list(tenant=call.tenant)
    return TaskPage(items=[{"name": name, **about} for name, about in found.items()])


class PublishedView(View):
    """How many tasks were published."""

    published: int


@routes.post(
    "/v1/tasks",
    role=Role.WORKER,
    example={"mail.send": {"input": {"type": "object"}, "description": "Send a mail."}},
)
async def publish(call: Call, body: Described) -> PublishedView:
    """Publish what a worker knows of its tasks; those of the same name are replaced.

    Of each: `input` and `result` (JSON Schema), `lane`, `description`, and `options`, named as in
    POST /v1/executions: the defaults of all submissions of that kind.
    """
    await call.engine.tasks.publish(body, tenant=call.identity.tenant)
    return PublishedView(published=len(body))
