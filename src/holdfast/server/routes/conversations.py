"""Conversations: messages of users to functions that workers publish."""

from __future__ import annotations

from functools import partial
from typing import Any, Literal

from msgspec import Raw

from holdfast import errors
from holdfast.model import bounds
from holdfast.model.api_keys import Role
from holdfast.model.ids import new_id
from holdfast.model.names import DEFAULT_TENANT
from holdfast.model.session_keys import DEFAULT_ENV, SessionKey
from holdfast.model.sessions import Activity
from holdfast.server.http.call import Call
from holdfast.server.http.declare import Answer, Routes
from holdfast.server.views.fields import Body, Key, Name, WaitMs
from holdfast.server.views.sessions import AnswerView, DeliveredView

routes: Routes = Routes("conversations", "Messages of users, and the replies to them.")

EXAMPLE = {
    "activity": {
        "id": "msg-4711",
        "conversation": "room-1",
        "user": "ann",
        "payload": {"text": "Where is my order?"},
    }
}

REFUSED = (
    errors.ConversationNotFound,
    errors.SessionBusy,
    errors.SessionFull,
    errors.LaneDraining,
    errors.RevisionDraining,
    errors.BudgetNotFound,
    errors.QuotaNotFound,
    errors.StoreFull,
)


class ActivityBody(Body):
    """A message, or another event, from a user."""

    conversation: Key
    user: Key
    #: A JSON object; `text` is what the user wrote.
    payload: Raw
    #: Your id for it: sent again, it is delivered once. Minted if absent.
    id: Key | None = None
    kind: Literal["message", "event"] = "message"
    #: Where it arrived; by default the name of the conversation function.
    endpoint: Name | None = None


class DeliverBody(Body):
    """A message, and whose it is."""

    activity: ActivityBody
    tenant: Name | None = None
    env: Name = DEFAULT_ENV
    #: Those who deliver the replies to the user; without it, readers fetch them.
    sender: Name | None = None
    #: The revision on which an execution starts if the message starts one.
    revision: Name | None = None

    def delivery(self, call: Call, name: str) -> Activity:
        """Return what the engine takes."""
        given = self.activity
        key = SessionKey(
            tenant=call.tenant or DEFAULT_TENANT,
            env=self.env,
            endpoint=given.endpoint or name,
            conversation=given.conversation,
            user=given.user,
        )
        return Activity(
            key=key, id=given.id or new_id(), kind=given.kind, payload=bytes(given.payload)
        )


class SendBody(DeliverBody):
    """A message, and how long to wait for what comes of it."""

    wait_ms: WaitMs = 10_000


_DECLARED: dict[str, Any] = {"role": Role.SUBMITTER, "most_bytes": 2 * bounds.MESSAGE_BYTES}


@routes.post(
    "/v1/conversations/{name}/activities",
    status=(200, 202),
    errors=(*REFUSED, errors.RateLimited),
    example={**EXAMPLE, "wait_ms": 100},
    **_DECLARED,
)
async def send(call: Call, name: str, body: SendBody) -> Answer[AnswerView]:
    """Deliver a message, and wait until its turn ends.

    The answer has the replies; with the status 202 the turn still runs, so more may follow. The
    same activity id again is delivered once, and answers with the same execution and replies.
    """
    activity = body.delivery(call, name)
    send = partial(
        call.engine.sessions.send, name, activity, sender=body.sender, revision=body.revision
    )
    answer = None
    if body.wait_ms:
        with call.waiting():
            answer = await call.unless_gone(send(wait_ms=body.wait_ms))
    if answer is None:
        # A server that stops answers with what there is; the message is delivered once.
        answer = await send(wait_ms=0)
    return Answer(AnswerView.of(activity.key, answer), 200 if answer.done else 202)


@routes.post(
    "/v1/conversations/{name}/deliver",
    errors=REFUSED,
    example=EXAMPLE,
    **_DECLARED,
)
async def deliver(call: Call, name: str, body: DeliverBody) -> DeliveredView:
    """Deliver a message without waiting for replies.

    The answer has the number of the message in the transcript, and what it did: it `started` an
    execution, `resumed` one, was `buffered`, `interrupted` a turn, or a `person` answers.
    """
    activity = body.delivery(call, name)
    delivered = await call.engine.sessions.deliver(
        name, activity, sender=body.sender, revision=body.revision
    )
    return DeliveredView.of(delivered)
