"""An open store: boot, tags, calls, and one typed module per domain."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property

from holdfast.errors import BudgetNotFound, HoldfastError, QuotaNotFound, StoreUnavailable
from holdfast.model import checks, codec, names
from holdfast.model.codec import Codec
from holdfast.model.executions import NewExecution
from holdfast.model.limit_refs import LimitRef, encode_all
from holdfast.model.partitions import MOST_OF_LIMITS, partition_of, partition_of_limit
from holdfast.model.sealing import Sealing
from holdfast.outages import Outage
from holdfast.store.api_keys import ApiKeys
from holdfast.store.archives import Archives
from holdfast.store.audit import Audit
from holdfast.store.budgets import Budgets
from holdfast.store.bulk import BulkActions
from holdfast.store.dead_replies import DeadReplies
from holdfast.store.declarations import Declarations
from holdfast.store.deployments import Deployments
from holdfast.store.endpoints import Endpoints
from holdfast.store.envs import Envs
from holdfast.store.executions import Executions
from holdfast.store.feeds import Feeds
from holdfast.store.graphs import Graphs
from holdfast.store.histories import Histories
from holdfast.store.inboxes import Inboxes
from holdfast.store.keyrings import KeyRings
from holdfast.store.lanes import Lanes
from holdfast.store.leases import Leases
from holdfast.store.memories import Memories
from holdfast.store.needs import RevisionNeeds
from holdfast.store.objects import Objects
from holdfast.store.outboxes import Outboxes
from holdfast.store.packs import Packs
from holdfast.store.pins import Pins
from holdfast.store.queries import Queries
from holdfast.store.queues import Queues
from holdfast.store.quotas import Quotas
from holdfast.store.rollouts import Rollouts
from holdfast.store.rules import Rules
from holdfast.store.schedules import Schedules
from holdfast.store.secrets import Secrets
from holdfast.store.services import Services
from holdfast.store.sessions import Sessions
from holdfast.store.states import States
from holdfast.store.streams import Streams
from holdfast.store.tasks import Tasks
from holdfast.store.threads import Threads
from holdfast.store.timers import Timers
from holdfast.store.valkey import boot, keys, urls
from holdfast.store.valkey.call import Caller
from holdfast.store.valkey.client import TRY_TIMEOUT_MS, Client
from holdfast.store.valkey.embedded import EmbeddedServer
from holdfast.store.valkey.loader import Loader
from holdfast.store.valkey.subscriptions import Subscriptions
from holdfast.store.valkey.urls import StoreUrl
from holdfast.store.views import Views
from holdfast.store.waitpoints import Waitpoints
from holdfast.store.webhooks import Webhooks
from holdfast.store.workers import Workers


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreSettings:
    """The settings of an open store."""

    #: A call is retried until it is answered or this long has passed.
    call_timeout_ms: int = 15_000
    #: How long to wait for a server that is starting.
    boot_timeout_ms: int = 30_000
    #: Test builds only: the library whose clock can be set.
    fake_clock: bool = False
    #: Seals payloads before they reach the store; by default with the keys that the environment
    #: names, if any. None stores them as they are.
    codec: Codec | None = field(default_factory=codec.of_environment, repr=False)

    def __post_init__(self) -> None:
        checks.integer("call_timeout_ms", self.call_timeout_ms, 1, 3_600_000)
        checks.integer("boot_timeout_ms", self.boot_timeout_ms, 1, 3_600_000)


class Store:
    """An open store. Make it with `open_store`."""

    #: Those of the partitions.
    _tags: tuple[str, ...] = ()

    def __init__(self, client: Client, url: StoreUrl, settings: StoreSettings) -> None:
        self.client = client
        self.url = url
        self.settings = settings
        self.prefix: str = url.prefix
        self.partitions: int = 0
        self.loader: Loader = Loader(client, fake_clock=settings.fake_clock)
        self.caller = Caller(client, timeout_ms=settings.call_timeout_ms, loader=self.loader)
        self.sealing: Sealing = Sealing(settings.codec)
        self.global_tag: str = keys.global_tag(self.prefix)
        self.executions: Executions = Executions(self)
        self.leases: Leases = Leases(self)
        self.queries: Queries = Queries(self)
        self.lanes: Lanes = Lanes(self)
        self.workers: Workers = Workers(self)
        self.timers: Timers = Timers(self)
        self.waitpoints: Waitpoints = Waitpoints(self)
        self.inboxes: Inboxes = Inboxes(self)
        self.views: Views = Views(self)
        self.keyrings: KeyRings = KeyRings(self)
        self.secrets: Secrets = Secrets(self)
        self.tasks: Tasks = Tasks(self)
        self.services: Services = Services(self)
        self.graphs: Graphs = Graphs(self)
        self.sessions: Sessions = Sessions(self)
        self.pins: Pins = Pins(self)
        self.states: States = States(self)
        self.streams: Streams = Streams(self)
        self.schedules: Schedules = Schedules(self)
        self.budgets: Budgets = Budgets(self)
        self.quotas: Quotas = Quotas(self)
        self.rules: Rules = Rules(self)
        self.outboxes: Outboxes = Outboxes(self)
        self.webhooks: Webhooks = Webhooks(self)
        self.queues: Queues = Queues(self)
        self.objects: Objects = Objects(self)
        self.archives: Archives = Archives(self)
        self.api_keys: ApiKeys = ApiKeys(self)
        self.audit: Audit = Audit(self)
        self.feeds: Feeds = Feeds(self)
        self.envs: Envs = Envs(self)
        self.endpoints: Endpoints = Endpoints(self)
        self.dead_replies: DeadReplies = DeadReplies(self)
        self.packs: Packs = Packs(self)
        self.deployments: Deployments = Deployments(self)
        self.needs: RevisionNeeds = RevisionNeeds(self)
        self.rollouts: Rollouts = Rollouts(self)
        self.subscriptions: Subscriptions = Subscriptions(client)
        self.declarations: Declarations = Declarations(self)

    @cached_property
    def bulk(self) -> BulkActions:
        """Records of bulk actions."""
        return BulkActions(self)

    @cached_property
    def threads(self) -> Threads:
        """Threads of checkpoints, which few processes use."""
        return Threads(self)

    @cached_property
    def memories(self) -> Memories:
        """What agents remember, likewise."""
        return Memories(self)

    @cached_property
    def histories(self) -> Histories:
        """Short history for charts."""
        return Histories(self)

    async def boot(self) -> None:
        """Check the servers and the format, load the library, agree on the partitions."""
        timeout_ms = self.settings.boot_timeout_ms
        await boot.wait_until_loaded(self.client, timeout_ms)
        await boot.until_answered(lambda: boot.check_servers(self.client), timeout_ms)
        await boot.until_answered(
            lambda: boot.check_stored_format(self.client, self.global_tag), timeout_ms
        )
        await boot.until_answered(self.loader.load, timeout_ms)
        asked = self.url.partitions
        default = boot.default_partitions(self.client)
        stored, stored_format = await self.caller.write(
            "hf_admin_boot",
            self.global_tag,
            str(asked or 0),
            str(default),
            str(boot.FORMAT),
        )
        self.partitions = boot.check_partitions(int(stored), asked, int(stored_format))
        self._tags = tuple(keys.partition_tag(self.prefix, n) for n in range(self.partitions))

    def tag_of(self, execution_id: str) -> str:
        """Return the tag of the partition in which an execution lives."""
        return self._tags[partition_of(execution_id, self.partitions)]

    def queue_tag(self, name: str) -> str:
        """Return the tag of a message queue."""
        return keys.queue_tag(self.prefix, name)

    def tags(self) -> Iterator[str]:
        """Return the tags of all partitions."""
        return iter(self._tags)

    def budget_tag(self, root: str) -> str:
        """Return the tag of the partition of the budgets under a root."""
        return keys.budget_tag(self.prefix, partition_of_limit(root, self.partitions))

    def limit_tag(self, limit: LimitRef) -> str:
        """Return the tag of the partition in which a budget or quota lives."""
        if limit.kind == "quota":
            return self.quota_tag(limit.id)
        return self.budget_tag(limit.root or limit.id)

    def quota_tag(self, name: str) -> str:
        """Return the tag of the partition of a quota, for any value of its tag."""
        quota_id = LimitRef.quota(name).id
        return keys.quota_tag(self.prefix, partition_of_limit(quota_id, self.partitions))

    def limit_tags(self) -> Iterator[str]:
        """Return the tags of all partitions of budgets and quotas."""
        count = min(self.partitions, MOST_OF_LIMITS)
        return (make(self.prefix, n) for make in _LIMIT_TAGS for n in range(count))

    def timed_tags(self) -> Iterator[str]:
        """Return the tags of everything that has timers."""
        return itertools.chain(self.tags(), self.limit_tags(), [self.global_tag])

    async def attach(self, item: NewExecution) -> str:
        """Return the limits of a new execution in the form of the library; raises NotFound."""
        budgets, quotas = (
            [names.stored(item.tenant, name) for name in given]
            for given in (item.budgets, item.quotas)
        )
        try:
            addresses = await self.budgets.addresses(budgets)
            await self.quotas.check(quotas)
        except (BudgetNotFound, QuotaNotFound) as error:
            raise _no_limit(error, item) from None
        return encode_all([*addresses, *map(LimitRef.quota, quotas)])


def _no_limit(error: BudgetNotFound | QuotaNotFound, item: NewExecution) -> HoldfastError:
    """Say which task names a missing limit, and how to create it."""
    name = names.seen(error.context["id"], item.tenant)
    kind = item.kind
    is_budget = isinstance(error, BudgetNotFound)
    what, cap = ("budget", "--hard DIMENSION=N") if is_budget else ("quota", "--max-concurrent N")
    message = f"no {what} is called {name} (task {kind} names it): create it with "
    return type(error)(f"{message}`holdfast {what}s create {name} {cap}`", id=name)


_LIMIT_TAGS = (keys.budget_tag, keys.quota_tag)


@contextlib.asynccontextmanager
async def open_store(
    url: str | StoreUrl, settings: StoreSettings | None = None
) -> AsyncIterator[Store]:
    """Open a store: start or find its server, check it, close it cleanly at the end."""
    settings = settings or StoreSettings()
    async with connected(url, settings) as (client, target):
        store = Store(client, target, settings)
        await store.boot()
        yield store


@contextlib.asynccontextmanager
async def connected(
    url: str | StoreUrl, settings: StoreSettings
) -> AsyncIterator[tuple[Client, StoreUrl]]:
    """Start or find the server of a store and connect, without a look at its data."""
    target = urls.parse(url) if isinstance(url, str) else url
    async with contextlib.AsyncExitStack() as stack:
        if target.path is not None:
            server = EmbeddedServer(target.path, target.fsync)
            stack.push_async_callback(server.stop)
            await server.start()
            target = replace(
                target,
                addresses=(("127.0.0.1", server.port),),
                password=server.password,
            )
        client = await _connect(target, settings)
        stack.push_async_callback(client.close)
        yield client, target


async def _connect(url: StoreUrl, settings: StoreSettings) -> Client:
    """Connect to a server that may still be starting."""
    timeout_ms = settings.boot_timeout_ms
    try_timeout_ms = min(TRY_TIMEOUT_MS, settings.call_timeout_ms)
    loop = asyncio.get_running_loop()
    deadline = loop.time() + timeout_ms / 1000
    pause = 0.05
    away = Outage("%s; the store is opened when it answers", "the store answers, after %.1f s")
    while True:
        try:
            client = await Client.connect(
                url, timeout_ms=min(timeout_ms, 5_000), try_timeout_ms=try_timeout_ms
            )
        except StoreUnavailable as error:
            away.failed(error.message)
            if loop.time() + pause > deadline:
                raise
            await asyncio.sleep(pause)
            pause = min(pause * 2, 1)
        else:
            away.worked()
            return client
