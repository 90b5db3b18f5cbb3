"""Every error that Holdfast raises, in one tree.

HoldfastError
├─ InvalidInput            the caller's fault; nothing was written
│  ├─ TooLarge             a payload over its limit
│  ├─ Malformed            a body that is not JSON
│  └─ MethodNotAllowed     a path without this method
├─ NotFound                ExecutionNotFound, WorkerNotFound, StepNotFound, ResultNotReady,
│                          KeyNotFound
├─ Conflict                IdConflict, IdempotencyConflict, AlreadyTerminal, NotTerminal,
│                          ReplayLimit, TooManySteps, LaneDraining, TooManyKeys
├─ AccessDenied            Unauthorized, Forbidden
├─ LeaseLost               StaleLease, LeaseRevoked, NotActive: stop work, write nothing more
├─ TaskError               a task and its code do not fit together
│                          JournalMismatch, DuplicateStep, TaskNotFound
├─ ExecutionFailed         what waiting for a result raises when the execution did not complete
├─ Refused                 StoreFull, RateLimited: try again later
├─ StoreUnavailable        nothing was sent, safe to retry
├─ OutcomeUnknown          sent, the answer is lost and the deadline passed; it may have happened
├─ StoreFault              the store answered with an error that it should never give
├─ InternalError           a bug of the server
└─ StoreIncompatible       the store must be changed before Holdfast can use it

`code` is stable and is what programs compare; `context` holds ids and values.
"""

from __future__ import annotations

from typing import Any, ClassVar


class HoldfastError(Exception):
    """Root of all errors of Holdfast."""

    code: ClassVar[str] = "error"

    def __init__(self, message: str, **context: Any) -> None:
        super().__init__(message)
        self.message = message
        self.context = context

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (type(self), self.message, self.context)


def _restore(cls: type[HoldfastError], message: str, context: dict[str, Any]) -> HoldfastError:
    return cls(message, **context)


class InvalidInput(HoldfastError):
    """A value is of the wrong type, form or size; `context["field"]` names it."""

    code = "invalid_input"


class TooLarge(InvalidInput):
    """A payload is over its limit."""

    code = "too_large"


class Malformed(InvalidInput):
    """A request is not what HTTP or JSON allow."""

    code = "malformed"


class MethodNotAllowed(InvalidInput):
    """The path exists, but not with this method."""

    code = "method_not_allowed"


class NotFound(HoldfastError):
    """There is no such thing, or no longer."""

    code = "not_found"


class ExecutionNotFound(NotFound):
    """No execution has this id."""

    code = "execution_not_found"


class WorkerNotFound(NotFound):
    """No live worker has this instance name."""

    code = "worker_not_found"


class StepNotFound(NotFound):
    """The journal has no step of this name."""

    code = "step_not_found"


class ResultNotReady(NotFound):
    """The execution has not completed, so it has no result."""

    code = "result_not_ready"


class KeyNotFound(NotFound):
    """No API key has this id."""

    code = "key_not_found"


class Conflict(HoldfastError):
    """The thing is not in a state that allows this."""

    code = "conflict"


class IdConflict(Conflict):
    """The id belongs to an execution with other content."""

    code = "id_conflict"


class IdempotencyConflict(Conflict):
    """The idempotency key was used with other content."""

    code = "idempotency_conflict"


class AlreadyTerminal(Conflict):
    """The execution has ended."""

    code = "already_terminal"


class NotTerminal(Conflict):
    """The execution has not ended."""

    code = "not_terminal"


class ReplayLimit(Conflict):
    """The execution was replayed as often as it may be."""

    code = "replay_limit"


class TooManySteps(Conflict):
    """The journal of the execution is full."""

    code = "too_many_steps"


class LaneDraining(Conflict):
    """The lane accepts no new executions."""

    code = "lane_draining"


class TooManyKeys(Conflict):
    """There are as many API keys as there may be."""

    code = "too_many_keys"


class AccessDenied(HoldfastError):
    """The caller may not do this."""

    code = "access_denied"


class Unauthorized(AccessDenied):
    """The API key is missing, unknown, expired or revoked."""

    code = "unauthorized"


class Forbidden(AccessDenied):
    """The API key is valid, but neither its roles nor its tenant allow this."""

    code = "forbidden"


class LeaseLost(HoldfastError):
    """The caller no longer holds the lease: it must stop and write nothing more."""

    code = "lease_lost"


class StaleLease(LeaseLost):
    """The lease expired, or a later one superseded it."""

    code = "stale_lease"


class LeaseRevoked(LeaseLost):
    """An operator took the lease away."""

    code = "lease_revoked"


class NotActive(LeaseLost):
    """The execution is not running; `context["state"]` says what it is."""

    code = "not_active"


class TaskError(HoldfastError):
    """A task and its code do not fit together."""

    code = "task_error"


class JournalMismatch(TaskError):
    """The function asks for other steps than earlier attempts of it recorded."""

    code = "journal_mismatch"


class DuplicateStep(TaskError):
    """Two steps of an execution have the same name."""

    code = "duplicate_step"


class TaskNotFound(TaskError):
    """The app has no task of this name."""

    code = "task_not_found"


class ExecutionFailed(HoldfastError):
    """The execution ended without a result; `context` has `state` and `error`."""

    code = "execution_failed"


class Refused(HoldfastError):
    """Not now; the same call may succeed later."""

    code = "refused"


class StoreFull(Refused):
    """The store has no memory left for new work."""

    code = "store_full"


class RateLimited(Refused):
    """Too many calls at once; `context["retry_after_ms"]` says how long to wait."""

    code = "rate_limited"


class StoreUnavailable(HoldfastError):
    """The store could not be reached; nothing was sent."""

    code = "store_unavailable"


class OutcomeUnknown(HoldfastError):
    """The call was sent and its answer lost; it may have happened.

    Not a kind of StoreUnavailable, so that a plain retry cannot catch it by accident.
    """

    code = "outcome_unknown"


class StoreFault(HoldfastError):
    """The store answered with an error that it should never give; please report it."""

    code = "store_fault"


class InternalError(HoldfastError):
    """The server failed where it never should; its log has the request id."""

    code = "internal_error"


class StoreIncompatible(HoldfastError):
    """The server or its data cannot be used as they are; the message says what to do."""

    code = "store_incompatible"
