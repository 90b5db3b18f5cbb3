"""Every error that Holdfast raises, in one tree.

HoldfastError
├─ InvalidInput            the caller's fault; nothing was written
├─ AccessDenied            Unauthorized: not proved that it may; Forbidden: known, and may not
├─ NotFound                there is no such thing, or no longer
├─ Conflict                the thing is not in a state that allows this
├─ LeaseLost               stop work, write nothing more
├─ TaskError               a task and its code do not fit together
├─ NotSerializable         a result has no JSON form, or does not fit its hint
├─ ExecutionFailed         what waiting for a result raises when the execution did not complete
├─ GraphFailed             the same of a graph
├─ Refused                 try again later
├─ ReadCancelled           a read that waited was told to stop
├─ StoreUnavailable        nothing was sent, safe to retry
├─ BackendFailed, BackendUnfit, InvalidRecord    of object stores
├─ OutcomeUnknown          sent, the answer is lost and the deadline passed; it may have happened
├─ StoreFault              the store answered with an error that it should never give
├─ InternalError           a bug of the server
└─ StoreIncompatible       the store must be changed before Holdfast can use it

`code` is stable and is what programs compare; `context` holds ids and values. docs/errors.md lists
all codes.
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


class InvalidCondition(InvalidInput):
    """The condition of a wait has a form that does not exist, or names what is not there."""

    code = "invalid_condition"


class InvalidPayload(InvalidInput):
    """The payload of a signal does not fit the schema of its waitpoint."""

    code = "invalid_payload"


class InvalidGraph(InvalidInput):
    """A graph's shape makes no sense; `context["problem"]` is a word for what is wrong."""

    code = "invalid_graph"


class CycleDetected(InvalidGraph):
    """Edges of a graph form a cycle; `context["cycle"]` lists its members."""

    code = "cycle_detected"


class Malformed(InvalidInput):
    """A request is not what HTTP or JSON allow."""

    code = "malformed"


class MethodNotAllowed(InvalidInput):
    """The path exists, but not with this method."""

    code = "method_not_allowed"


class NotOverHttp(InvalidInput):
    """What was asked for is done where the store is; a server does not offer it."""

    code = "not_over_http"


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


class WaitpointNotFound(NotFound):
    """The execution has no such waitpoint."""

    code = "waitpoint_not_found"


class GraphNotFound(NotFound):
    """No graph has this id."""

    code = "graph_not_found"


class ScheduleNotFound(NotFound):
    """No schedule has this id."""

    code = "schedule_not_found"


class BudgetNotFound(NotFound):
    """No budget has this id."""

    code = "budget_not_found"


class QuotaNotFound(NotFound):
    """No quota has this id."""

    code = "quota_not_found"


class ReservationNotFound(NotFound):
    """Nothing was reserved under this key, or it is too long ago."""

    code = "reservation_not_found"


class ConversationNotFound(NotFound):
    """No worker ever published a conversation of this name."""

    code = "conversation_not_found"


class SessionNotFound(NotFound):
    """No session has this id."""

    code = "session_not_found"


class ReplyNotFound(NotFound):
    """The session has no such reply, or it is not dead."""

    code = "reply_not_found"


class QueueNotFound(NotFound):
    """No queue has this name."""

    code = "queue_not_found"


class GroupNotFound(NotFound):
    """The queue has no group of this name."""

    code = "group_not_found"


class MessageNotFound(NotFound):
    """The queue has no message of this id that has arrived."""

    code = "message_not_found"


class UnknownDelivery(NotFound):
    """The handle was never issued by this queue."""

    code = "unknown_delivery"


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


class ReplyRejected(Conflict):
    """A sender raises it: the receiver will never take this reply, so it is not tried again."""

    code = "reply_rejected"


class SessionBusy(Conflict):
    """A turn runs, and the conversation rejects messages meanwhile."""

    code = "session_busy"


class SessionFull(Conflict):
    """The session has too many messages that the conversation has not received yet."""

    code = "session_full"


class LaneDraining(Conflict):
    """The lane accepts no new executions."""

    code = "lane_draining"


class NotSuspended(Conflict):
    """The execution does not wait for signals; `context["state"]` says what it is."""

    code = "not_suspended"


class WaitpointExists(Conflict):
    """The execution has an open waitpoint of this name."""

    code = "waitpoint_exists"


class WaitpointClosed(Conflict):
    """The waitpoint takes no more signals; `context["why"]` says since what."""

    code = "waitpoint_closed"


class TooManyWaitpoints(Conflict):
    """The execution has had as many waitpoints as it may."""

    code = "too_many_waitpoints"


class TooManySignals(Conflict):
    """The execution has had as many signals as it may."""

    code = "too_many_signals"


class TokenUsedUp(Conflict):
    """The token was used as often as it may be."""

    code = "token_used_up"


class RotationConflict(Conflict):
    """The kid is taken, by another secret or by a key that has been retired."""

    code = "rotation_conflict"


class GraphFinished(Conflict):
    """The graph has ended or was cancelled: it takes no members and no second end."""

    code = "graph_finished"


class GraphNotFinished(Conflict):
    """The graph has members that have not ended."""

    code = "graph_not_finished"


class StaleGraph(Conflict):
    """The graph has another shape than the caller knows; `context["revision"]` is its version."""

    code = "stale_graph_revision"


class MemberStarted(Conflict):
    """The member has started and takes no new upstreams."""

    code = "member_started"


class MemberOfGraph(Conflict):
    """The execution belongs to a graph, which must be replayed as a whole."""

    code = "member_of_graph"


class NothingToReplay(Conflict):
    """No failure of the graph counts, so there is nothing to run again."""

    code = "nothing_to_replay"


class StagingLost(Conflict):
    """A large graph was not put in place in time; submitting it again is safe."""

    code = "staging_lost"


class ScheduleConflict(Conflict):
    """The id belongs to a schedule that says something else."""

    code = "schedule_conflict"


class ScheduleChanged(Conflict):
    """Somebody else has changed the schedule meanwhile."""

    code = "schedule_changed"


class ScheduleMoved(Conflict):
    """The schedule no longer stands at this tick, or is gone: the tick was dealt with."""

    code = "schedule_moved"


class BudgetConflict(Conflict):
    """The id belongs to a budget with other content."""

    code = "budget_conflict"


class BudgetTooDeep(Conflict):
    """The budget would have too many ancestors."""

    code = "budget_too_deep"


class QuotaConflict(Conflict):
    """The id belongs to a quota with other content."""

    code = "quota_conflict"


class QueueConflict(Conflict):
    """The mode of the queue does not allow this, and it never changes."""

    code = "queue_conflict"


class InvalidDeadLetter(Conflict):
    """A queue cannot be the dead-letter queue of another, or cannot have one."""

    code = "invalid_dead_letter"


class TooManyGroups(Conflict):
    """The queue has as many groups as it may have."""

    code = "too_many_groups"


class DedupConflict(Conflict):
    """The message's id or dedup key was used with another body."""

    code = "dedup_conflict"


class StaleDelivery(Conflict):
    """The delivery was settled otherwise, or expired, or is another consumer's now."""

    code = "stale_delivery"


class Held(Conflict):
    """Another holder has the writer lease; `context` has `holder` and `expires_at_ms`."""

    code = "held"


class LostRace(Conflict):
    """Another contender took the writer lease, or committed, a moment before us."""

    code = "lost_race"


class VersionConflict(Conflict):
    """An object is not there, is there already, or has another version than expected."""

    code = "version_conflict"


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


class InvalidToken(Unauthorized):
    """The token is not one of ours, or not of this waitpoint; an unknown waitpoint looks alike."""

    code = "invalid_token"


class TokenExpired(Unauthorized):
    """The token is signed with a key whose grace is over."""

    code = "token_expired"


class SignalNotAllowed(Forbidden):
    """The waitpoint does not accept a signal of this name, or from this source."""

    code = "signal_not_allowed"


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


class Fenced(LeaseLost):
    """A writer of a newer token was seen; `context` has `current_term`."""

    code = "fenced"


class TaskError(HoldfastError):
    """A task and its code do not fit together."""

    code = "task_error"


class JournalMismatch(TaskError):
    """The function asks for other steps than earlier attempts of it recorded."""

    code = "journal_mismatch"


class DuplicateStep(TaskError):
    """Two steps of an execution have the same name."""

    code = "duplicate_step"


class NotSerializable(HoldfastError):
    """A value has no JSON form, or does not fit its hint."""

    code = "not_serializable"


class TaskNotFound(TaskError):
    """The app has no task of this name."""

    code = "task_not_found"


class ExecutionFailed(HoldfastError):
    """The execution ended without a result; `context` has `state` and `error`."""

    code = "execution_failed"


class GraphFailed(HoldfastError):
    """The graph did not complete; `context` has `state` and the members that ended badly."""

    code = "graph_failed"


class Refused(HoldfastError):
    """Not now; the same call may succeed later."""

    code = "refused"


class StoreFull(Refused):
    """The store has no memory left for new work."""

    code = "store_full"


class RotationBusy(Refused):
    """A rotation of the signing keys is under way."""

    code = "rotation_busy"


class TooManyTails(Refused):
    """The tenant reads as many streams live as it may; `context["retry_after_ms"]` says when."""

    code = "too_many_tails"


class BudgetExceeded(Refused):
    """It would pass a hard limit; `context` has budget, dimension, current and limit."""

    code = "budget_exceeded"


class QueueFull(Refused):
    """The queue has as many messages as it may have."""

    code = "queue_full"


class ReadCancelled(HoldfastError):
    """A read that waited for messages was told to stop; nothing was handed out."""

    code = "read_cancelled"


class RateLimited(Refused):
    """Too many calls at once; `context["retry_after_ms"]` says how long to wait."""

    code = "rate_limited"


class StoreUnavailable(HoldfastError):
    """The store could not be reached; nothing was sent."""

    code = "store_unavailable"


class StoreReadOnly(StoreUnavailable):
    """The server is a replica that accepts no writes; nothing was changed."""

    code = "store_read_only"


class OutcomeUnknown(HoldfastError):
    """The call was sent and its answer lost; it may have happened.

    Not a kind of StoreUnavailable, so that a plain retry cannot catch it by accident.
    """

    code = "outcome_unknown"


class BackendFailed(HoldfastError):
    """An object store did not answer or could not; `maybe_done` says if it may have happened."""

    code = "backend"

    @property
    def maybe_done(self) -> bool:
        """Whether the request may have had its effect, or may have it later."""
        return bool(self.context.get("maybe_done", True))


class BackendUnfit(HoldfastError):
    """An object store ignores conditions, so it cannot fence writers; `context` has `check`."""

    code = "backend_unfit"


class InvalidRecord(HoldfastError):
    """A lease or manifest object is not what it should be; an operator must look at it."""

    code = "invalid_record"


class StoreFault(HoldfastError):
    """The store answered with an error that it should never give; please report it."""

    code = "store_fault"


class InternalError(HoldfastError):
    """The server failed where it never should; its log has the request id."""

    code = "internal_error"


class StoreIncompatible(HoldfastError):
    """The server or its data cannot be used as they are; the message says what to do."""

    code = "store_incompatible"
