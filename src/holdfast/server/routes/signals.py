"""Signals: answers from people and systems that have a token but no API key."""

from __future__ import annotations

from typing import Annotated

from msgspec import UNSET, Meta, Raw, UnsetType, field

from holdfast import errors
from holdfast.errors import HoldfastError, InvalidInput, InvalidToken
from holdfast.model import bounds, names
from holdfast.model.api_keys import Role
from holdfast.model.tokens import person_of, waitpoint_of
from holdfast.model.waitpoints import Effect, NewSignal, Source, parse_waitpoint_id
from holdfast.server.auth.identity import Identity
from holdfast.server.http import problems
from holdfast.server.http.call import Call
from holdfast.server.http.declare import Routes, Scope
from holdfast.server.routes.worker_waitpoints import WaitpointId
from holdfast.server.views.fields import Body, Key, Name, View, payload
from holdfast.server.views.waitpoints import WaitpointView

routes: Routes = Routes("signals", "Answers to waitpoints. The token authorizes the answer.")

#: Lower than for batches with a key, because anybody can send one.
BATCH_BYTES = 4 << 20
#: These routes need no key, so the refusals that concern keys do not apply.
_OF_ALL = (errors.RateLimited, errors.StoreUnavailable, errors.StoreFull)
_REFUSALS = (
    errors.InvalidToken,
    errors.TokenExpired,
    errors.SignalNotAllowed,
    errors.InvalidPayload,
    errors.WaitpointClosed,
    errors.TokenUsedUp,
    errors.TooManySignals,
    *_OF_ALL,
)
Token = Annotated[str, Meta(max_length=bounds.TOKEN_CHARS)]
_TOKEN_EXAMPLE = "hf1.k1.WyJ4MSJd.c2lnbmF0dXJl"  # noqa: S105 - an example


def _full_id(waitpoint: str, token: str) -> str:
    """Return the full id of a waitpoint. The token names the tenant and is checked later.

    No token is valid for an id that is not a waitpoint's.
    """
    named = waitpoint_of(token)
    if named is not None and names.parse_id(named)[1] == waitpoint:
        waitpoint = named
    try:
        parse_waitpoint_id("waitpoint", waitpoint)
    except InvalidInput:
        raise InvalidToken("the token is not valid here") from None
    return waitpoint


class SourceBody(Body):
    """Who answers: a type and an identity, or neither.

    Two signals have different sources if either differs.
    """

    type: Annotated[str, Meta(max_length=bounds.NAME_CHARS)] = ""
    identity: Annotated[str, Meta(max_length=bounds.ID_CHARS)] = ""


class SignalBody(Body):
    """A signal, with the token that authorizes it."""

    token: Token
    #: Such as `approve` or `deny`.
    name: Name
    payload: Raw | UnsetType = UNSET
    source: SourceBody = field(default_factory=SourceBody)
    #: A second signal with the same key has no effect.
    idempotency_key: Key | None = None
    correlation: Annotated[str, Meta(max_length=bounds.ID_CHARS)] = ""

    def signal(self, waitpoint: str) -> NewSignal:
        """Return the signal for the engine."""
        return NewSignal(
            waitpoint=_full_id(waitpoint, self.token),
            name=self.name,
            payload=payload("payload", self.payload, UNSET),
            source=Source(type=self.source.type, identity=self.source.identity),
            idempotency_key=self.idempotency_key,
            correlation=self.correlation,
        )


class EffectView(View):
    """The effect of a signal: appended, resumed, duplicate, ignored or buffered."""

    effect: str


_EXAMPLE = {
    "token": _TOKEN_EXAMPLE,
    "name": "approve",
    "payload": {"amount": 40},
    "source": {"type": "user", "identity": "ann"},
    "idempotency_key": "mail-4711",
}


@routes.post(
    "/v1/signals/{waitpoint}",
    scope=Scope.PUBLIC,
    role=Role.SUBMITTER,
    errors=_REFUSALS,
    example=_EXAMPLE,
)
async def send(call: Call, waitpoint: str, body: SignalBody) -> EffectView:
    """Answer a waitpoint. The token authorizes the answer; no API key is needed.

    An unknown waitpoint and a wrong token get the same response.
    """
    signal = body.signal(waitpoint)
    effect = await call.engine.waitpoints.signal(signal, body.token)
    tenant = await _tenant(call, signal.waitpoint)
    call.identity = Identity(key="token", tenant=tenant, roles=frozenset())
    return EffectView(effect=effect)


class QuestionView(WaitpointView):
    """A waitpoint, as the holder of a token reads it."""

    #: The person that the token names; empty if it names none.
    person: str


class TokenBody(Body):
    """The token that authorizes an answer."""

    token: Token


@routes.post(
    "/v1/signals/{waitpoint}/read",
    scope=Scope.PUBLIC,
    errors=(
        errors.InvalidToken,
        errors.TokenExpired,
        errors.RateLimited,
        errors.StoreUnavailable,
    ),
    example={"token": _TOKEN_EXAMPLE},
)
async def read(call: Call, waitpoint: str, body: TokenBody) -> QuestionView:
    """Read a waitpoint with its token: its question and its deadline. No API key is needed."""
    full = _full_id(waitpoint, body.token)
    point = await call.engine.waitpoints.read(full, body.token)
    return QuestionView.copy(point, person=person_of(body.token))


async def _tenant(call: Call, waitpoint: str) -> str | None:
    """Return the tenant whose audit log records the call; the signal has been accepted."""
    execution_id, _ = parse_waitpoint_id("waitpoint", waitpoint)
    try:
        return await call.engine.owner(execution_id)
    except HoldfastError:
        return None


class BatchSignalBody(SignalBody, kw_only=True):
    """A signal of a batch."""

    waitpoint: WaitpointId


class SignalsBody(Body):
    """Signals, each accepted or refused independently."""

    items: Annotated[list[BatchSignalBody], Meta(max_length=bounds.BATCH_ITEMS)]


class SignalAnswer(View):
    """The answer for one signal: `effect`, or `code` and `detail`."""

    effect: str | UnsetType = UNSET
    code: str | UnsetType = UNSET
    detail: str | UnsetType = UNSET


class SignalAnswers(View):
    """An answer for each signal, in order."""

    items: list[SignalAnswer]


@routes.post(
    "/v1/signals:batch",
    scope=Scope.PUBLIC,
    role=Role.SUBMITTER,
    errors=_OF_ALL,
    most_bytes=BATCH_BYTES,
    example={"items": [{"waitpoint": "x1~w1", **_EXAMPLE}]},
)
async def send_batch(call: Call, body: SignalsBody) -> SignalAnswers:
    """Answer up to 1,000 waitpoints, each with its token. Each answer counts as a call."""
    call.count_address(len(body.items[1:]))
    answers: list[Effect | HoldfastError | None] = [None] * len(body.items)
    good: list[tuple[NewSignal, str | None]] = []
    places: list[int] = []
    for place, item in enumerate(body.items):
        try:
            good.append((item.signal(item.waitpoint), item.token))
            places.append(place)
        except HoldfastError as error:
            answers[place] = error
    found = await call.engine.waitpoints.signal_many(good)
    for place, answer in zip(places, found, strict=True):
        answers[place] = answer
    problems.raise_if_all_will_pass(answers)
    if any(isinstance(answer, Effect) for answer in answers):
        call.identity = Identity(key="token", tenant=None, roles=frozenset())
    return SignalAnswers(items=[_view(answer) for answer in answers])


def _view(answer: Effect | HoldfastError | None) -> SignalAnswer:
    if isinstance(answer, HoldfastError):
        return SignalAnswer(code=answer.code, detail=answer.message)
    return SignalAnswer(effect=str(answer))
