"""Every error that Holdfast raises, in one tree.

HoldfastError
├─ InvalidInput            the caller's fault; nothing was written
├─ AccessDenied            Unauthorized: no valid credentials; Forbidden: valid, but not enough
├─ NotFound                the resource does not exist, or no longer exists
├─ Conflict                the state of the resource does not allow this
├─ LeaseLost               the holder must stop and write nothing more
├─ TaskError               a task and its code do not fit together
├─ NotSerializable         a result has no JSON form, or does not fit its hint
├─ ExecutionFailed         raised by a wait for a result if the execution did not complete
├─ GraphFailed             the same for a graph
├─ Refused                 not now; try again later
├─ NotDeliverable          a webhook is genuine, but nothing takes it now
├─ ReadCancelled           a waiting read was cancelled
├─ StoreUnavailable        nothing was sent, safe to retry
├─ BackendFailed, BackendUnfit, InvalidRecord    errors of object stores
├─ ProviderFailed          a provider of a pack failed
├─ OutcomeUnknown          sent, but no answer came before the deadline; it may have happened
├─ StoreFault              the store answered with an error that it should never give
├─ InternalError           a bug in the server
└─ StoreIncompatible       the store must be changed before Holdfast can use it

Programs compare `code`, which is stable; `context` holds ids and values. docs/errors.md lists all
codes.
"""

from __future__ import annotations

from typing import Any, ClassVar


class HoldfastError(Exception):
    """The root of all errors of Holdfast."""

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
    """A payload exceeds its size limit."""

    code = "too_large"


class FileRefused(InvalidInput):
    """A file is of a kind that is not taken, or its content is not what its name says."""

    code = "file_refused"


class InvalidCondition(InvalidInput):
    """The condition of a wait has an unknown form, or names a waitpoint that the wait lacks."""

    code = "invalid_condition"


class InvalidPayload(InvalidInput):
    """The payload of a signal does not fit the schema of its waitpoint."""

    code = "invalid_payload"


class InvalidGraph(InvalidInput):
    """A graph has an invalid shape; `context["problem"]` is a word for what is wrong."""

    code = "invalid_graph"


class CycleDetected(InvalidGraph):
    """Edges of a graph form a cycle; `context["cycle"]` lists its members."""

    code = "cycle_detected"


class InvalidPack(InvalidInput):
    """A pack is damaged, unsafe or wrong; `context["problem"]` is a word for what is wrong."""

    code = "invalid_pack"


class Malformed(InvalidInput):
    """A request is not valid HTTP or JSON."""

    code = "malformed"


class MethodNotAllowed(InvalidInput):
    """The path exists, but does not support this method."""

    code = "method_not_allowed"


class NotOverHttp(InvalidInput):
    """The operation needs direct access to the store; servers do not offer it."""

    code = "not_over_http"


class NotFound(HoldfastError):
    """The resource does not exist, or no longer exists."""

    code = "not_found"


class ExecutionNotFound(NotFound):
    """No execution has this id."""

    code = "execution_not_found"


class WorkerNotFound(NotFound):
    """No live worker has this instance name."""

    code = "worker_not_found"


class StepNotFound(NotFound):
    """The journal has no step with this name."""

    code = "step_not_found"


class ResultNotReady(NotFound):
    """The execution has not completed, so it has no result."""

    code = "result_not_ready"


class WaitpointNotFound(NotFound):
    """The execution has no waitpoint with this id."""

    code = "waitpoint_not_found"


class GraphNotFound(NotFound):
    """No graph has this id."""

    code = "graph_not_found"


class WebChatNotFound(NotFound):
    """The server has opened no web chat at this address, or what it led to is gone."""

    code = "web_chat_not_found"


class FileNotFound(NotFound):
    """The session has no file with this id."""

    code = "file_not_found"


class ScheduleNotFound(NotFound):
    """No schedule has this id."""

    code = "schedule_not_found"


class BudgetNotFound(NotFound):
    """No budget has this id."""

    code = "budget_not_found"


class QuotaNotFound(NotFound):
    """No quota has this id."""

    code = "quota_not_found"


class EndpointNotFound(NotFound):
    """No endpoint of the tenant has this id in this env."""

    code = "endpoint_not_found"


class SecretNotFound(NotFound):
    """The tenant has no secret with this name."""

    code = "secret_not_found"


class ReservationNotFound(NotFound):
    """The budget has no reservation with this key, or no longer remembers it."""

    code = "reservation_not_found"


class ConversationNotFound(NotFound):
    """No worker ever published a conversation of this name."""

    code = "conversation_not_found"


class SessionNotFound(NotFound):
    """No session has this id."""

    code = "session_not_found"


class ProviderNotFound(NotFound):
    """No pack of the revision has a provider of this type."""

    code = "provider_not_found"


class FlowNotFound(NotFound):
    """No pack has this flow, or it cannot be started from outside."""

    code = "flow_not_found"


class EnvNotFound(NotFound):
    """No env has this name."""

    code = "env_not_found"


class PackNotFound(NotFound):
    """No pack with this digest was uploaded."""

    code = "pack_not_found"


class DeploymentNotFound(NotFound):
    """The env has no deployment with this id."""

    code = "deployment_not_found"


class RevisionNotFound(NotFound):
    """The deployment has no revision with this id."""

    code = "revision_not_found"


class GenerationNotFound(NotFound):
    """The split has no earlier generation of this number that it could return to."""

    code = "generation_not_found"


class BulkNotFound(NotFound):
    """The tenant has no bulk action with this id."""

    code = "bulk_not_found"


class RolloutNotFound(NotFound):
    """The deployment has no rollout with this id."""

    code = "rollout_not_found"


class ReplyNotFound(NotFound):
    """The session has no such reply, or it is not dead."""

    code = "reply_not_found"


class QueueNotFound(NotFound):
    """No queue has this name."""

    code = "queue_not_found"


class GroupNotFound(NotFound):
    """The queue has no group with this name."""

    code = "group_not_found"


class MessageNotFound(NotFound):
    """The queue has no message with this id."""

    code = "message_not_found"


class UnknownDelivery(NotFound):
    """This queue never issued the handle."""

    code = "unknown_delivery"


class KeyNotFound(NotFound):
    """No API key has this id."""

    code = "key_not_found"


class Conflict(HoldfastError):
    """The state of the resource does not allow this."""

    code = "conflict"


class IdConflict(Conflict):
    """An execution with different content has this id."""

    code = "id_conflict"


class IdempotencyConflict(Conflict):
    """The idempotency key was used with different content."""

    code = "idempotency_conflict"


class AlreadyTerminal(Conflict):
    """The execution has ended."""

    code = "already_terminal"


class NotTerminal(Conflict):
    """The execution has not ended."""

    code = "not_terminal"


class ReplayLimit(Conflict):
    """The execution reached its maximum number of replays."""

    code = "replay_limit"


class TooManySteps(Conflict):
    """The journal of the execution is full."""

    code = "too_many_steps"


class ReplyRejected(Conflict):
    """A sender raises it: the receiver will never take this reply, so it is not tried again."""

    code = "reply_rejected"


class AmbiguousFlow(Conflict):
    """Several flows are meant; a message has to name one."""

    code = "ambiguous_flow"


class AmbiguousProvider(Conflict):
    """Several packs have a provider of this type, and none is preferred."""

    code = "provider_ambiguous"


class AmbiguousIdentity(Conflict):
    """It is not certain whose a request is."""

    code = "ambiguous_identity"


class SessionBusy(Conflict):
    """A turn runs, and the conversation rejects messages meanwhile."""

    code = "session_busy"


class SessionFull(Conflict):
    """The session has too many messages that the conversation has not received yet."""

    code = "session_full"


class FilesFull(Conflict):
    """The session has as many files, or as many bytes of them, as it may have."""

    code = "files_full"


class FilesNotTaken(Conflict):
    """The web chat takes no files."""

    code = "files_not_taken"


class LaneDraining(Conflict):
    """The lane accepts no new executions."""

    code = "lane_draining"


class AmbiguousDeployment(Conflict):
    """Several tenants have a deployment with this id; name the tenant."""

    code = "ambiguous_deployment"


class DeploymentConflict(Conflict):
    """A deployment with different content has this id."""

    code = "deployment_conflict"


class DeploymentInUse(Conflict):
    """Hosts serve a revision of the deployment."""

    code = "deployment_in_use"


class EnvInUse(Conflict):
    """The env has deployments."""

    code = "env_in_use"


class PackInUse(Conflict):
    """A revision that can be loaded needs the pack."""

    code = "pack_in_use"


class PackMismatch(Conflict):
    """The digest is that of another pack than the deployment runs."""

    code = "pack_mismatch"


class UntrustedPack(Conflict):
    """The env trusts no key that signed the pack."""

    code = "untrusted_pack"


class RevisionConflict(Conflict):
    """Another revision has this id."""

    code = "revision_conflict"


class TooManyRevisions(Conflict):
    """The deployment has too many revisions."""

    code = "too_many_revisions"


class IllegalTransition(Conflict):
    """The lifecycle of the revision has no such step."""

    code = "illegal_transition"


class StaleLifecycle(Conflict):
    """The lifecycle has changed since the caller saw it."""

    code = "stale_lifecycle"


class RevisionRoutable(Conflict):
    """The split routes new sessions to the revision."""

    code = "revision_routable"


class RevisionNotReady(Conflict):
    """A split can route only to revisions that are ready."""

    code = "revision_not_ready"


class RevisionDraining(Conflict):
    """The revision starts nothing more; route to another."""

    code = "revision_draining"


class InboxFull(Conflict):
    """The execution has too many unread signals; `context["limit"]` is how many it may have."""

    code = "inbox_full"


class ParentEnded(Conflict):
    """The child is bound to a parent that has ended, does not exist, or was replayed."""

    code = "parent_ended"


class StaleGeneration(Conflict):
    """The split has changed; `context["generation"]` is its generation."""

    code = "stale_generation"


class NoSplit(Conflict):
    """A rollout needs a split that it can start from and return to."""

    code = "no_split"


class RolloutActive(Conflict):
    """The deployment has a rollout that is not over; `context["rollout"]` is its id."""

    code = "rollout_active"


class RolloutConflict(Conflict):
    """Another rollout has this id."""

    code = "rollout_conflict"


class RolloutOver(Conflict):
    """The rollout is completed or aborted."""

    code = "rollout_over"


class BulkConflict(Conflict):
    """Another bulk action of the tenant has this id."""

    code = "bulk_conflict"


class SelectionChanged(Conflict):
    """Clearly more or fewer executions match than expected; `context["count"]` is how many."""

    code = "selection_changed"


class StaleRollout(Conflict):
    """The rollout has changed; `context["version"]` is its version."""

    code = "stale_rollout"


class NotSuspended(Conflict):
    """The execution is not waiting for signals; `context["state"]` is its state."""

    code = "not_suspended"


class WaitpointExists(Conflict):
    """The execution already has an open waitpoint with this name."""

    code = "waitpoint_exists"


class WaitpointClosed(Conflict):
    """The waitpoint accepts no more signals; `context["why"]` says why."""

    code = "waitpoint_closed"


class TooManyWaitpoints(Conflict):
    """The execution reached its maximum number of waitpoints."""

    code = "too_many_waitpoints"


class TooManySignals(Conflict):
    """The execution reached its maximum number of signals."""

    code = "too_many_signals"


class TokenUsedUp(Conflict):
    """The token reached its maximum number of uses."""

    code = "token_used_up"


class RotationConflict(Conflict):
    """The kid is taken, by another secret or by a key that has been retired."""

    code = "rotation_conflict"


class GraphFinished(Conflict):
    """The graph has ended or was cancelled: it accepts no members and cannot end again."""

    code = "graph_finished"


class GraphNotFinished(Conflict):
    """The graph has members that have not ended."""

    code = "graph_not_finished"


class StaleGraph(Conflict):
    """The graph has changed since the caller read it; `context["revision"]` is its version."""

    code = "stale_graph_revision"


class MemberStarted(Conflict):
    """The member has started and accepts no new upstreams."""

    code = "member_started"


class MemberOfGraph(Conflict):
    """The execution belongs to a graph, which must be replayed as a whole."""

    code = "member_of_graph"


class NothingToReplay(Conflict):
    """No failure of the graph counts, so there is nothing to run again."""

    code = "nothing_to_replay"


class StagingLost(Conflict):
    """A large graph was not uploaded in time; submitting it again is safe."""

    code = "staging_lost"


class ScheduleConflict(Conflict):
    """A schedule with different content has this id."""

    code = "schedule_conflict"


class ScheduleChanged(Conflict):
    """Another caller changed the schedule in the meantime."""

    code = "schedule_changed"


class ScheduleMoved(Conflict):
    """The schedule has passed this tick, or no longer exists: the tick was handled."""

    code = "schedule_moved"


class BudgetConflict(Conflict):
    """A budget with different content has this id."""

    code = "budget_conflict"


class BudgetTooDeep(Conflict):
    """The budget would have too many ancestors."""

    code = "budget_too_deep"


class QuotaConflict(Conflict):
    """A quota with different content has this id."""

    code = "quota_conflict"


class QueueConflict(Conflict):
    """The mode of the queue, which never changes, does not allow this."""

    code = "queue_conflict"


class InvalidDeadLetter(Conflict):
    """A queue cannot be the dead-letter queue of another, or cannot have one."""

    code = "invalid_dead_letter"


class TooManyGroups(Conflict):
    """The queue reached its maximum number of groups."""

    code = "too_many_groups"


class DedupConflict(Conflict):
    """The message's id or dedup key was used with a different body."""

    code = "dedup_conflict"


class StaleDelivery(Conflict):
    """The delivery was settled in another way, expired, or now belongs to another consumer."""

    code = "stale_delivery"


class Held(Conflict):
    """Another holder has the writer lease; `context` has `holder` and `expires_at_ms`."""

    code = "held"


class LostRace(Conflict):
    """Another contender acquired the writer lease, or committed, just before this one."""

    code = "lost_race"


class VersionConflict(Conflict):
    """An object is missing, already exists, or has a different version than expected."""

    code = "version_conflict"


class TooManyKeys(Conflict):
    """The store reached its maximum number of API keys."""

    code = "too_many_keys"


class TooManyViews(Conflict):
    """The API key has as many saved views as it can have."""

    code = "too_many_views"


class TooManySecrets(Conflict):
    """The tenant has as many secrets in this env as it can have."""

    code = "too_many_secrets"


class EndpointConflict(Conflict):
    """An endpoint of another tenant has this id in this env."""

    code = "endpoint_conflict"


class TooManyEndpoints(Conflict):
    """The env has as many endpoints as it can have."""

    code = "too_many_endpoints"


class SecretUnreadable(Conflict):
    """A secret cannot be opened: its key is not here, or it was altered."""

    code = "secret_unreadable"


class StateFull(Conflict):
    """A pack keeps as much state for a tenant as it can."""

    code = "state_full"


class AccessDenied(HoldfastError):
    """The caller may not do this."""

    code = "access_denied"


class Unauthorized(AccessDenied):
    """The API key is missing, unknown, expired or revoked."""

    code = "unauthorized"


class Forbidden(AccessDenied):
    """The API key is valid, but neither its roles nor its tenant allow this."""

    code = "forbidden"


class InvalidSignature(Unauthorized):
    """A webhook is not genuine or too late; an unknown endpoint gives the same error."""

    code = "invalid_signature"


class InvalidToken(Unauthorized):
    """The token is not valid for this waitpoint; an unknown waitpoint gives the same error."""

    code = "invalid_token"


class TokenExpired(Unauthorized):
    """The key that signed the token was retired, and its grace period is over."""

    code = "token_expired"


class SignalNotAllowed(Forbidden):
    """The waitpoint does not accept a signal of this name, or from this source."""

    code = "signal_not_allowed"


class OperationDenied(Forbidden):
    """The provider does not declare this operation."""

    code = "operation_denied"


class LeaseLost(HoldfastError):
    """The caller no longer holds the lease: it must stop and write nothing more."""

    code = "lease_lost"


class StaleLease(LeaseLost):
    """The lease expired, or a later one superseded it."""

    code = "stale_lease"


class LeaseRevoked(LeaseLost):
    """An operator revoked the lease."""

    code = "lease_revoked"


class NotActive(LeaseLost):
    """The execution is not running; `context["state"]` is its state."""

    code = "not_active"


class Fenced(LeaseLost):
    """A writer with a newer token exists; `context` has `current_term`."""

    code = "fenced"


class TaskError(HoldfastError):
    """A task and its code do not fit together."""

    code = "task_error"


class JournalMismatch(TaskError):
    """The function asks for different steps than earlier attempts recorded."""

    code = "journal_mismatch"


class DuplicateStep(TaskError):
    """Two steps of an execution have the same name."""

    code = "duplicate_step"


class NotSerializable(HoldfastError):
    """A value has no JSON form, or does not fit its hint."""

    code = "not_serializable"


class TaskNotFound(TaskError):
    """The app has no task with this name."""

    code = "task_not_found"


class ExecutionFailed(HoldfastError):
    """The execution ended without a result; `context` has `state` and `error`."""

    code = "execution_failed"


class GraphFailed(HoldfastError):
    """The graph did not complete; `context` has `state` and the members that failed."""

    code = "graph_failed"


class Refused(HoldfastError):
    """Not now; the same call may succeed later."""

    code = "refused"


class ProviderNotLoaded(Refused):
    """This host has not loaded the revision, or the component of its provider."""

    code = "provider_not_loaded"


class WebChatUnavailable(Refused):
    """The deployment behind a web chat takes no messages now."""

    code = "web_chat_unavailable"


class StoreFull(Refused):
    """The store has no memory left for new work."""

    code = "store_full"


class RotationBusy(Refused):
    """A rotation of the signing keys is under way."""

    code = "rotation_busy"


class TooManyTails(Refused):
    """The tenant reached its maximum of live streams; retry after `context["retry_after_ms"]`."""

    code = "too_many_tails"


class BudgetExceeded(Refused):
    """The charge would exceed a hard limit; `context` has budget, dimension, current and limit."""

    code = "budget_exceeded"


class QueueFull(Refused):
    """The queue reached its maximum number of messages."""

    code = "queue_full"


class ReadCancelled(HoldfastError):
    """A read that waited for messages was cancelled; nothing was handed out."""

    code = "read_cancelled"


class RateLimited(Refused):
    """Too many calls in a short time; `context["retry_after_ms"]` says how long to wait."""

    code = "rate_limited"


class NotDeliverable(HoldfastError):
    """A webhook is genuine, but what should answer it does not; its provider sends it again."""

    code = "not_deliverable"


class StoreUnavailable(HoldfastError):
    """The store could not be reached; nothing was sent."""

    code = "store_unavailable"


class StoreReadOnly(StoreUnavailable):
    """The server is a read-only replica; nothing was changed."""

    code = "store_read_only"


class OutcomeUnknown(HoldfastError):
    """The call was sent, but its answer was lost; it may have happened.

    This is not a StoreUnavailable, so that a plain retry cannot catch it by accident.
    """

    code = "outcome_unknown"


class BackendFailed(HoldfastError):
    """An object store failed or did not answer; `maybe_done` says whether it may have happened."""

    code = "backend"

    @property
    def maybe_done(self) -> bool:
        """Whether the request may have taken effect, or may still do so."""
        return bool(self.context.get("maybe_done", True))


class BackendUnfit(HoldfastError):
    """An object store ignores conditions, so it cannot fence writers; `context` has `check`."""

    code = "backend_unfit"


class InvalidRecord(HoldfastError):
    """A lease or manifest object is damaged or invalid; an operator must inspect it."""

    code = "invalid_record"


class ProviderFailed(HoldfastError):
    """The component of a provider failed; `context["reason"]` is its code."""

    code = "provider_failed"


class PayloadUnreadable(InvalidRecord):
    """A payload cannot be opened: its key is not here, or it was altered or moved."""

    code = "payload_unreadable"


class StoreFault(HoldfastError):
    """The store answered with an error that it should never give; please report it."""

    code = "store_fault"


class InternalError(HoldfastError):
    """The server failed because of a bug; its log has the request id."""

    code = "internal_error"


class StoreIncompatible(HoldfastError):
    """The server or its data cannot be used as they are; the message says what to do."""

    code = "store_incompatible"
