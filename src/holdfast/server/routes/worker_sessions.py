"""How the holder of a lease converses: replies, waits for messages, session state."""

from __future__ import annotations

from typing import Annotated

from msgspec import UNSET, Meta, Raw, UnsetType

from holdfast import errors
from holdfast.model import bounds
from holdfast.model.api_keys import Role
from holdfast.model.sessions import MessageWait, NewReply
from holdfast.server.auth.owners import EXECUTION
from holdfast.server.http.call import Call
from holdfast.server.http.declare import Routes
from holdfast.server.routes.worker_calls import LEASE_EXAMPLE, LOST
from holdfast.server.views.fields import (
    Base64,
    Body,
    LeaseBody,
    PositiveMs,
    StepName,
    View,
    payload,
)
from holdfast.server.views.sessions import StateValueView, TurnedView

routes: Routes = Routes("conversing", "How a worker runs conversations.")

Text = Annotated[str, Meta(min_length=1, max_length=bounds.NAME_CHARS)]
Number = Annotated[int, Meta(ge=0, le=bounds.AMOUNT)]


class ReplyBody(Body):
    """A reply, written once per step."""

    step: StepName
    #: A JSON object: `text`, `card`, `buttons`, `data`.
    payload: Raw
    #: Reserves its number: the text is streamed in frames of type `reply`.
    open: bool = False
    #: Completes the reply that was opened under this number.
    number: Annotated[int, Meta(ge=1, le=bounds.AMOUNT)] | None = None

    def item(self) -> NewReply:
        """Return what the engine takes."""
        return NewReply(
            step=self.step, payload=bytes(self.payload), open=self.open, number=self.number
        )


class WaitBody(Body):
    """The end of a turn."""

    #: Records what comes.
    step: StepName
    timeout_ms: PositiveMs | None = None
    #: The worker keeps its place: claimed by itself again, it gets only what came.
    kept: bool = False
    #: A person of this name answers, until the session is given back.
    person: Text | None = None

    def item(self) -> MessageWait:
        """Return what the engine takes."""
        return MessageWait(
            step=self.step, timeout_ms=self.timeout_ms, kept=self.kept, person=self.person
        )


class TurnBody(Body):
    """Replies, and perhaps a wait."""

    lease: LeaseBody
    replies: Annotated[list[ReplyBody], Meta(max_length=bounds.REPLIES)] = []  # noqa: RUF012
    wait: WaitBody | None = None


@routes.post(
    "/v1/executions/{id}/turn",
    role=Role.WORKER,
    owner=EXECUTION,
    errors=(*LOST, errors.SessionNotFound, errors.TooManySteps, errors.StoreFull),
    most_bytes=(bounds.REPLIES + 2) * bounds.MESSAGE_BYTES,
    example={
        "lease": LEASE_EXAMPLE,
        "replies": [{"step": "say:1", "payload": {"text": "Which order?"}}],
        "wait": {"step": "receive:1", "timeout_ms": 172800000},
    },
)
async def turn(call: Call, id: str, body: TurnBody) -> TurnedView:  # noqa: A002
    """Write replies, each once per step, and then perhaps wait for a message: in one call.

    A wait takes a message that has arrived: it is in `received`, and the lease is kept. Otherwise
    it is `suspended`, and the execution comes back in a claim when a message does, with what came
    as the result of the step.
    """
    turned = await call.engine.sessions.turn(
        id,
        body.lease.lease(),
        [reply.item() for reply in body.replies],
        None if body.wait is None else body.wait.item(),
    )
    if turned.suspended:
        call.services.metrics.ended(id, body.lease.epoch, "suspended")
    return TurnedView.of(turned)


class StateBody(Body):
    """A value to be read, set, or removed, and the step that records it."""

    lease: LeaseBody
    step: StepName
    name: Text
    #: Sets it; without a value, and without `remove`, it is read.
    value: Raw | UnsetType = UNSET
    remove: bool = False
    #: Only while the value has this version.
    expected: Number | None = None
    ttl_ms: PositiveMs | None = None


@routes.post(
    "/v1/executions/{id}/session-state",
    role=Role.WORKER,
    owner=EXECUTION,
    errors=(
        *LOST,
        errors.SessionNotFound,
        errors.SessionFull,
        errors.TooManySteps,
        errors.StoreFull,
    ),
    example={"lease": LEASE_EXAMPLE, "step": "state:1", "name": "language", "value": "en"},
)
async def session_state(call: Call, id: str, body: StateBody) -> StateValueView:  # noqa: A002
    """Read, set or remove a value of the session's state, once per step.

    With `expected`, nothing changes unless the value has this version; the answer has the value
    that is there, with `changed` false.
    """
    sessions, lease = call.engine.sessions, body.lease.lease()
    is_set = body.value is not UNSET
    if is_set and body.remove:
        raise errors.InvalidInput("value: cannot be combined with remove", field="value")
    if not is_set and not body.remove:
        if body.expected is not None or body.ttl_ms is not None:
            raise errors.InvalidInput("value: is required to change it", field="value")
        return StateValueView.of(await sessions.get_state(id, lease, body.step, body.name))
    found = await sessions.set_state(
        id,
        lease,
        body.step,
        body.name,
        bytes(body.value) if body.value is not UNSET else None,
        expected=body.expected,
        ttl_ms=body.ttl_ms,
    )
    return StateValueView.of(found)


class WelcomeBody(Body):
    """Whether the user was welcomed, or is to be."""

    done: bool = False


class WelcomeView(View):
    """Whether it is this session that welcomes its user."""

    first: bool


@routes.post(
    "/v1/executions/{id}/welcome",
    role=Role.WORKER,
    owner=EXECUTION,
    errors=(errors.SessionNotFound, errors.StoreFull),
    example={"done": False},
)
async def welcome(call: Call, id: str, body: WelcomeBody) -> WelcomeView:  # noqa: A002
    """Say whether the session of an execution is the one that welcomes its user.

    That is the first session with the user at the endpoint that asks; after it was `done`, none.
    """
    return WelcomeView(first=await call.engine.sessions.welcome(id, done=body.done))


class ContinueBody(Body):
    """The input to start again with: any JSON, kept as it is written, or bytes in base64."""

    lease: LeaseBody
    #: How often that happened before, as the claim said.
    continued: Annotated[int, Meta(ge=0, le=bounds.AMOUNT)]
    input: Raw | UnsetType = UNSET
    input_base64: Base64 | UnsetType = UNSET


class ContinuedView(View):
    """How often it started again."""

    continued: int


@routes.post(
    "/v1/executions/{id}/continue",
    role=Role.WORKER,
    owner=EXECUTION,
    errors=LOST,
    example={"lease": LEASE_EXAMPLE, "continued": 0, "input": {"page": 2}},
)
async def continue_as(call: Call, id: str, body: ContinueBody) -> ContinuedView:  # noqa: A002
    """Start again with another input and an empty journal, under the same lease.

    The id, the session, its messages and the waitpoints stay. Repeated, it changes nothing more.
    """
    given = payload("input", body.input, body.input_base64)
    lease = body.lease.lease()
    await call.engine.executions.continue_as(id, lease, given, continued=body.continued)
    return ContinuedView(continued=body.continued + 1)
