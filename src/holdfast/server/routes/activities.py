"""Activities: messages of users to the deployments of a tenant."""

from __future__ import annotations

from functools import partial
from typing import Any, Literal

from msgspec import Raw

from holdfast import errors
from holdfast.model import bounds
from holdfast.model.activities import NewActivity
from holdfast.model.api_keys import Role
from holdfast.model.ids import new_id
from holdfast.server.http.call import Call
from holdfast.server.http.declare import Answer, Routes
from holdfast.server.routes.conversations import EXAMPLE, REFUSED
from holdfast.server.routes.deployments import FIND_REVISION
from holdfast.server.views.fields import Body, Key, Name, WaitMs
from holdfast.server.views.sessions import AnswerView

routes: Routes = Routes("activities", "Messages of users to the deployments of a tenant.")


class ActivityBody(Body):
    """A message, or another event, from a user."""

    conversation: Key
    user: Key
    #: A JSON object; `text` is what the user wrote.
    payload: Raw
    #: Your id for it: sent again, it is delivered once. Minted if absent.
    id: Key | None = None
    kind: Literal["message", "event"] = "message"
    #: Where it arrived; by default the id of the deployment.
    endpoint: Name | None = None
    #: The flow that it starts if it starts one; by default the entry of the main pack.
    pack: Name | None = None
    flow: Name | None = None
    flow_type: Name | None = None
    #: What a user did, other than writing; the conversation gets it in the payload.
    action: Name | None = None
    #: Under which name the session sticks to a revision; by default its own.
    hint: Key | None = None


class HandleBody(Body):
    """A message, and how long to wait for what comes of it."""

    activity: ActivityBody
    #: Needed if the tenant has several in the env.
    deployment: Name | None = None
    #: A conversation that starts runs on this revision, which must be ready; nothing is pinned.
    revision: Name | None = None
    #: Those who deliver the replies to the user; without it, readers fetch them.
    sender: Name | None = None
    wait_ms: WaitMs = 10_000

    def received(self, env: str, tenant: str) -> NewActivity:
        """Return what the engine takes."""
        given = self.activity
        return NewActivity(
            env=env,
            tenant=tenant,
            conversation=given.conversation,
            user=given.user,
            payload=bytes(given.payload),
            id=given.id or new_id(),
            kind=given.kind,
            endpoint=given.endpoint,
            pack=given.pack,
            flow=given.flow,
            flow_type=given.flow_type,
            action=given.action,
            hint=given.hint,
        )


@routes.post(
    "/v1/envs/{env}/tenants/{tenant}/activities",
    role=Role.SUBMITTER,
    status=(200, 202),
    errors=(
        *FIND_REVISION,
        *REFUSED,
        errors.RevisionNotReady,
        errors.FlowNotFound,
        errors.AmbiguousFlow,
        errors.RateLimited,
    ),
    most_bytes=2 * bounds.MESSAGE_BYTES,
    example={**EXAMPLE, "deployment": "shop", "wait_ms": 100},
)
async def handle(call: Call, env: str, tenant: str, body: HandleBody) -> Answer[AnswerView]:
    """Deliver a message to the revision that answers it, and wait until its turn ends.

    A session that waits continues on its revision; otherwise its pin decides, and without one the
    weights of the split. The answer has the replies; with the status 202 the turn still runs, so
    more may follow. The same activity id at the same endpoint is delivered once, and answers with
    the same execution and replies.
    """
    activity = body.received(env, tenant)
    deliver: Any = partial(call.engine.activities.handle, activity)
    if body.revision is not None:
        handle = call.engine.activities.handle_for_revision
        deliver = partial(handle, activity, body.revision)
    deliver = partial(deliver, deployment=body.deployment, sender=body.sender)
    answer = None
    if body.wait_ms:
        with call.waiting():
            answer = await call.unless_gone(deliver(wait_ms=body.wait_ms))
    if answer is None:
        # A server that stops answers with what there is; the message is delivered once.
        answer = await deliver(wait_ms=0)
    key = activity.to(str(answer.deployment)).key
    return Answer(AnswerView.of(key, answer), 200 if answer.done else 202)
