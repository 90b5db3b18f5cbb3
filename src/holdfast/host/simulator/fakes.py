"""Answers in place of components, models, web servers and providers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

import msgspec

from holdfast.host.flows.model import NodeKind
from holdfast.host.flows.runners import (
    ComponentCall,
    HttpCall,
    Invocation,
    ModelCall,
    NodeFailed,
    ProviderCall,
    Runners,
)
from holdfast.host.simulator.script import Fake, Target

#: The code of a failure for which no fake was given.
NOT_FAKED = "not_faked"
C = TypeVar("C")
Run: TypeAlias = Callable[[C], Awaitable[Any]]


class Call(msgspec.Struct, frozen=True, kw_only=True):
    """A call that a node makes."""

    kind: NodeKind
    name: str
    input: Any
    #: The same when the call is repeated after a crash, and another one in every attempt.
    key: str
    execution: str

    def fits(self, target: Target) -> bool:
        """Whether this is a call that a target describes."""
        if (self.kind, self.name) != (target.kind, target.name):
            return False
        return target.given is None or contains(self.input, target.given)

    def __str__(self) -> str:
        return f"{self.kind} {self.name} with {msgspec.json.encode(self.input).decode()}"


class Answer(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a call gets: a value, or a failure."""

    value: Any = None
    code: str = ""
    message: str = ""
    retryable: bool = False

    def taken(self) -> Any:
        """Return the value, or raise the failure as NodeFailed."""
        if self.code:
            raise NodeFailed(self.code, self.message, retryable=self.retryable)
        return self.value


#: Returns the answer to a call; None: there is no fake for it.
Ask = Callable[[Call], Awaitable[Answer | None]]


def contains(value: Any, wanted: Any) -> bool:
    """Whether a value has all that is wanted; maps may have more keys."""
    if isinstance(wanted, Mapping):
        return isinstance(value, Mapping) and all(
            key in value and contains(value[key], part) for key, part in wanted.items()
        )
    if isinstance(wanted, list):
        return (
            isinstance(value, list)
            and len(value) == len(wanted)
            and all(map(contains, value, wanted))
        )
    # In Python, True equals 1.
    return isinstance(value, bool) == isinstance(wanted, bool) and bool(value == wanted)


@dataclass(slots=True)
class _Used:
    fake: Fake
    left: int | None


class Fakes:
    """The fakes of one test, and the calls that came."""

    def __init__(self, fakes: Sequence[Fake] = ()) -> None:
        self._fakes = [_Used(fake, fake.times) for fake in fakes]
        self._answers: dict[str, Answer | None] = {}
        self.calls: list[Call] = []
        #: Calls for which there was no fake.
        self.unknown: list[Call] = []

    def add(self, fakes: Sequence[Fake]) -> None:
        """Let fakes answer before those that there are."""
        self._fakes[:0] = [_Used(fake, fake.times) for fake in fakes]

    def count(self, target: Target) -> int:
        """Return how many calls a target describes."""
        return sum(call.fits(target) for call in self.calls)

    async def ask(self, call: Call) -> Answer | None:
        """Answer a call; the same call again, after a crash, gets the same answer."""
        if call.key not in self._answers:
            self.calls.append(call)
            self._answers[call.key] = self._answer(call)
            if self._answers[call.key] is None:
                self.unknown.append(call)
        return self._answers[call.key]

    def _answer(self, call: Call) -> Answer | None:
        for used in self._fakes:
            if used.left != 0 and call.fits(used.fake.target):
                if used.left is not None:
                    used.left -= 1
                return _answer_of(used.fake)
        return None


def _answer_of(fake: Fake) -> Answer:
    if fake.fails is not None:
        failure = fake.fails
        return Answer(code=failure.code, message=failure.message, retryable=failure.retryable)
    value = fake.returns
    if fake.target.kind is NodeKind.LLM:
        usage = {"input_tokens": 0, "output_tokens": 0}
        given = value if isinstance(value, Mapping) else {"text": value}
        value = {"usage": usage, "calls": [], **given}
    elif fake.target.kind is NodeKind.HTTP and isinstance(value, Mapping):
        value = {"status": 200, "headers": {}, "body": None, **value}
    return Answer(value=value)


def runners(ask: Ask, real: Runners | None = None) -> Runners:
    """Return runners that ask for fakes, and leave calls without one to the real runners."""

    def faked(described: Callable[[C], Call], run: Run[C] | None) -> Run[C]:
        async def answer(call: C) -> Any:
            about = described(call)
            found = await ask(about)
            if found is not None:
                return found.taken()
            if run is None:
                raise NodeFailed(NOT_FAKED, f"no fake answers {about}")
            return await run(call)

        return answer

    real = real or Runners()
    return Runners(
        call=faked(_component_call, real.call),
        http=faked(_http_call, real.http),
        llm=faked(_model_call, real.llm),
        provider=faked(_provider_call, real.provider),
        state=real.state,
        reach=real.reach,
    )


def watched(real: Runners, note: Callable[[Call, Answer], object]) -> Runners:
    """Return runners that note what others answer."""

    def noted(described: Callable[[C], Call], run: Run[C] | None) -> Run[C] | None:
        if run is None:
            return None

        async def answer(call: C) -> Any:
            try:
                value = await run(call)
            except NodeFailed as failure:
                failed = Answer(
                    code=failure.code, message=str(failure), retryable=failure.retryable
                )
                note(described(call), failed)
                raise
            note(described(call), Answer(value=value))
            return value

        return answer

    return Runners(
        call=noted(_component_call, real.call),
        http=noted(_http_call, real.http),
        llm=noted(_model_call, real.llm),
        provider=noted(_provider_call, real.provider),
        state=real.state,
        reach=real.reach,
    )


def _component_call(call: ComponentCall) -> Call:
    return Call(
        kind=NodeKind.CALL,
        name=f"{call.component}.{call.operation}",
        input=call.input,
        key=_key(call.about),
        execution=call.about.execution,
    )


def _provider_call(call: ProviderCall) -> Call:
    return Call(
        kind=NodeKind.PROVIDER,
        name=f"{call.type}.{call.operation}",
        input=call.input,
        key=_key(call.about),
        execution=call.about.execution,
    )


def _http_call(call: HttpCall) -> Call:
    return Call(
        kind=NodeKind.HTTP,
        name=f"{call.method} {call.url}",
        input=call.json if call.has_body else {},
        key=_key(call.about),
        execution=call.about.execution,
    )


def _model_call(call: ModelCall) -> Call:
    return Call(
        kind=NodeKind.LLM,
        name=call.model,
        input={
            "system": call.system,
            "messages": call.messages,
            "tools": list(call.tools),
            "max_tokens": call.max_tokens,
        },
        key=_key(call.about),
        execution=call.about.execution,
    )


def _key(about: Invocation) -> str:
    """Name an attempt at a call: a retry asks again, and a repetition after a crash does not."""
    key = about.idempotency_key
    return key if about.attempt == 1 else f"{key}~{about.attempt}"
