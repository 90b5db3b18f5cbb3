"""The engine: all nouns, and short forms of the calls on executions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Concatenate, Generic, ParamSpec, TypeVar

from holdfast.api.activities import Activities
from holdfast.api.api_keys import ApiKeys
from holdfast.api.archive import Archive
from holdfast.api.audit import Audit
from holdfast.api.budgets import Budgets
from holdfast.api.bulk import BulkActions
from holdfast.api.changes import Changes
from holdfast.api.dead_replies import DeadReplies
from holdfast.api.deployments import Deployments
from holdfast.api.endpoints import Endpoints
from holdfast.api.envs import Envs
from holdfast.api.executions import Executions
from holdfast.api.feeds import Feeds
from holdfast.api.files import Files
from holdfast.api.graphs import Graphs
from holdfast.api.histories import Histories
from holdfast.api.keyring import SigningKeys
from holdfast.api.lanes import Lanes
from holdfast.api.operability import Operability
from holdfast.api.packs import Packs
from holdfast.api.queues import Queues
from holdfast.api.quotas import Quotas
from holdfast.api.redactions import Redactions
from holdfast.api.rollouts import Rollouts
from holdfast.api.saved_views import SavedViews
from holdfast.api.schedules import Schedules
from holdfast.api.secrets import Secrets
from holdfast.api.sessions import Sessions
from holdfast.api.streams import Streams
from holdfast.api.tasks import Tasks
from holdfast.api.waitpoints import Waitpoints
from holdfast.api.webhooks import Webhooks
from holdfast.api.workers import Workers
from holdfast.api.writer_leases import WriterLeases
from holdfast.model.pulse import Pulse

P = ParamSpec("P")
R = TypeVar("R")


class _Short(Generic[P, R]):
    """A call on executions that an engine has under the same name."""

    def __init__(self, call: Callable[Concatenate[Executions, P], R]) -> None:
        self._name = call.__name__
        self.__doc__ = call.__doc__

    def __get__(self, engine: Engine | None, owner: type[Engine]) -> Callable[P, R]:
        """Return the call itself, so that no other frame is between."""
        executions = Executions if engine is None else engine.executions
        call: Callable[P, R] = getattr(executions, self._name)
        return call


class Engine(ABC):
    """Holdfast, near (`open_engine`) or over HTTP (`Client`)."""

    executions: Executions
    bulk: BulkActions
    graphs: Graphs
    waitpoints: Waitpoints
    sessions: Sessions
    files: Files
    streams: Streams
    schedules: Schedules
    budgets: Budgets
    quotas: Quotas
    queues: Queues
    lanes: Lanes
    workers: Workers
    tasks: Tasks
    api_keys: ApiKeys
    redactions: Redactions
    histories: Histories
    audit: Audit
    keyring: SigningKeys
    secrets: Secrets
    webhooks: Webhooks
    writer_leases: WriterLeases
    archive: Archive
    endpoints: Endpoints
    dead_replies: DeadReplies
    envs: Envs
    packs: Packs
    deployments: Deployments
    rollouts: Rollouts
    activities: Activities
    feeds: Feeds
    changes: Changes
    operability: Operability
    saved_views: SavedViews

    @abstractmethod
    async def pulse(self) -> Pulse:
        """Return the health of the store: waiting times, overdue timers, incidents."""

    @abstractmethod
    async def ping(self) -> None:
        """Check that the engine and its store answer."""

    @abstractmethod
    async def close(self) -> None:
        """Stop listening and close everything that this engine opened."""

    # Short forms

    submit = _Short(Executions.submit)
    submit_many = _Short(Executions.submit_many)
    resubmit = _Short(Executions.resubmit)
    claimer = _Short(Executions.claimer)
    beats = _Short(Executions.beats)
    renew = _Short(Executions.renew)
    complete = _Short(Executions.complete)
    fail = _Short(Executions.fail)
    delay = _Short(Executions.delay)
    progress = _Short(Executions.progress)
    checkpoint = _Short(Executions.checkpoint)
    continue_as = _Short(Executions.continue_as)
    cancel = _Short(Executions.cancel)
    replay = _Short(Executions.replay)
    revoke_lease = _Short(Executions.revoke_lease)
    prioritize = _Short(Executions.prioritize)
    signal = _Short(Executions.signal)
    receive = _Short(Executions.receive)
    await_signal = _Short(Executions.await_signal)
    set_view = _Short(Executions.set_view)
    view = _Short(Executions.view)
    describe = _Short(Executions.describe)
    owner = _Short(Executions.owner)
    input = _Short(Executions.input)
    history = _Short(Executions.history)
    attempts = _Short(Executions.attempts)
    steps = _Short(Executions.steps)
    outcome = _Short(Executions.outcome)
    wait = _Short(Executions.wait)
    result = _Short(Executions.result)
    export = _Short(Executions.export)
    list = _Short(Executions.list)
    count = _Short(Executions.count)
    causes = _Short(Executions.causes)
    explain = _Short(Executions.explain)
