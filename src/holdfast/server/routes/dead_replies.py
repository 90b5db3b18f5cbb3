"""Dead replies: what no sender could deliver."""

from __future__ import annotations

from holdfast.model.dead_replies import DeadReply
from holdfast.server.http.call import Call
from holdfast.server.http.declare import Routes
from holdfast.server.views.derive import ModelView
from holdfast.server.views.fields import Cursor, PageLimit, Query, Tenants, View

routes: Routes = Routes("dead-replies", "Replies that no sender could deliver, and why.")


class DeadReplyView(ModelView, model=DeadReply, hide=("key",)):
    """A dead reply, with the key of its session."""

    tenant: str
    env: str
    endpoint: str
    conversation: str
    user: str

    @classmethod
    def of(cls, reply: DeadReply) -> DeadReplyView:
        """Show a dead reply."""
        key = reply.key
        return cls.copy(
            reply,
            tenant=key.tenant,
            env=key.env,
            endpoint=key.endpoint,
            conversation=key.conversation,
            user=key.user,
        )


class DeadReplyPageView(View):
    """Dead replies, the last to die first."""

    items: list[DeadReplyView]
    next_cursor: str | None


class ListQuery(Query):
    """Whose dead replies."""

    tenant: Tenants | None = None
    limit: PageLimit = 50
    cursor: Cursor | None = None


@routes.get("/v1/dead-replies")
async def list_dead_replies(call: Call, query: ListQuery) -> DeadReplyPageView:
    """List replies that no sender could deliver, the last to die first.

    `POST /v1/sessions/{id}/resend` sends one again.
    """
    page = await call.engine.dead_replies.list(
        tenant=call.tenant, limit=query.limit, cursor=query.cursor
    )
    items = [DeadReplyView.of(reply) for reply in page.items]
    return DeadReplyPageView(items=items, next_cursor=page.next_cursor)
