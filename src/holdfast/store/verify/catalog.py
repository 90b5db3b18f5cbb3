"""Rules of lists and small records: cells, ready work, schedules, workers, deployments."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from holdfast.store.verify import graphs
from holdfast.store.verify.drifts import Drift, Entry, Kind
from holdfast.store.verify.view import View

_unpack = msgspec.msgpack.Decoder().decode
_ACTIVE = (b"running", b"paused")
#: A larger state of a pack has its bytes not added up: that would occupy the server.
MOST_VALUES = 200


def cell(view: View, name: str) -> Iterator[Entry]:
    """Return what a cell that has members needs: to be found by its tenant."""
    if view.has(f"c:{name}"):
        tenant, _, rest = name.partition("|")
        yield Entry(f"cells:{tenant}", rest.encode())
        yield Entry("tenants", tenant.encode())


def cause(view: View, name: str) -> Iterator[Entry]:
    """Return the place of a cause that executions ended for."""
    if view.has(f"cause:{name}"):
        tenant, _, rest = name.partition("|")
        yield Entry(f"causes:{tenant}", rest.encode())


def thread(view: View, thread_id: str) -> Iterator[Entry]:
    """Return the timer of a thread of checkpoints that is not kept for good."""
    if view.has(f"thread:{thread_id}") or view.has(f"thread_written:{thread_id}"):
        yield Entry("timers", b"t:" + thread_id.encode(), optional=True)


def memories(view: View, tenant: str) -> Iterator[Entry]:
    """Return the timer of memories that expire."""
    if view.has(f"memory_due:{tenant}"):
        yield Entry("timers", b"m:" + tenant.encode(), default=0.0)


def cells(view: View, tenant: str) -> Iterator[Entry]:
    """Return the place of a tenant that has cells."""
    if view.has(f"cells:{tenant}"):
        yield Entry("tenants", tenant.encode())


def ready(view: View, name: str) -> Iterator[Entry]:
    """Return what a set of ready executions needs: a turn, and a route of its lane."""
    if view.has(f"q:{name}"):
        route, _, tenant = name.rpartition("|")
        yield Entry(f"turns:{route}", tenant.encode(), default=0.0)
        yield from turns(view, route)


def turns(view: View, route: str) -> Iterator[Entry]:
    """Return the place of a route on which tenants take turns."""
    if view.has(f"turns:{route}"):
        lane, _, rest = route.partition("|")
        yield Entry(f"routes:{lane}", rest.encode(), 0.0)


def graph_cell(view: View, name: str) -> Iterator[Entry]:
    """Return the place of the tenant of listed graphs."""
    yield from graph_tenant(view, name.partition("|")[0])


def graph_tenant(view: View, tenant: str) -> Iterator[Entry]:
    """Return the place of a tenant that has graphs."""
    if any(view.has(f"gc:{tenant}|{state}") for state in graphs.STATES):
        yield Entry("gtenants", tenant.encode())


def session_list(view: View, tenant: str) -> Iterator[Entry]:
    """Return the place of a tenant that has sessions."""
    if view.has(f"sessions:{tenant}"):
        yield Entry("stenants", tenant.encode())


def user_list(view: View, name: str) -> Iterator[Entry]:
    """Return the place of a user who has several sessions."""
    if view.has(f"usessions:{name}"):
        tenant, _, user = name.partition("|")
        yield Entry(f"users:{tenant}", user.encode(), b"")


def schedule(view: View, name: str) -> Iterator[Entry]:
    """Return the places of a schedule."""
    record = view.record(f"schedule:{name}")
    if record is None:
        return
    member = name.encode()
    yield Entry("schedules", member, 0.0)
    if record["due"]:
        yield Entry("dues", member, float(record["due"]))
        # The timer of one that is due rings again and again, so its time is its own.
        yield Entry("timers", b"s:" + member, default=0.0)


def line(view: View, name: str) -> Iterator[Drift]:
    """Check that what lines up waits for something."""
    if not view.has(f"fired:{name}"):
        yield Drift(Kind.RECORD, f"schedule {name}:", "has executions that wait for nothing")


def worker(view: View, instance: str) -> Iterator[Entry]:
    """Return the places of a worker."""
    expires = view.member(f"worker:{instance}", b"expires_at")
    if expires is not None:
        yield Entry("workers", instance.encode())
        yield Entry("timers", b"k:" + instance.encode(), float(expires))


def access(view: View, key_id: str) -> Iterator[Entry]:
    """Return the places of an API key; one with an end has a timer."""
    if view.has(f"access:{key_id}"):
        yield Entry("accesses", key_id.encode())
        yield Entry("timers", b"a:" + key_id.encode(), optional=True)


def feed_timer(view: View, tenant: str) -> Iterator[Entry]:
    """Return the timer of a feed that is kept."""
    if view.member("feeds", tenant.encode()) is not None:
        yield Entry("feeds", tenant.encode())
        yield Entry("timers", b"f:" + tenant.encode(), default=0.0)


def stored_object(view: View, name: str) -> Iterator[Entry]:
    """Return the place of an object in the list."""
    if view.has(f"o:{name}"):
        yield Entry("objects", name.encode(), 0.0)


def env(view: View, name: str) -> Iterator[Entry]:
    """Return the place of an env; that of `local` need not be put."""
    if view.has(f"env:{name}"):
        yield Entry("envs", name.encode(), optional=True)


def deployment(view: View, name: str) -> Iterator[Entry]:
    """Return the places of a deployment `ENV|TENANT|ID`."""
    record = view.record(f"deployment:{name}")
    if record is None:
        return
    env_name, tenant, deployment_id = name.split("|")
    member = f"{tenant}|{deployment_id}".encode()
    yield Entry(f"deployments:{env_name}", member, 0.0)
    yield Entry(f"dtenants:{env_name}|{deployment_id}", tenant.encode())
    if "change" in record:
        yield Entry(f"dchanges:{env_name}", member, float(record["change"]))


def revision(view: View, revision_id: str) -> Iterator[Entry]:
    """Return the places of a revision."""
    record = view.record(f"revision:{revision_id}")
    if record is None:
        return
    name, member = record["deployment"].decode(), revision_id.encode()
    yield Entry(f"revisions:{name}", member, float(record["number"]))
    if record["lifecycle"] == b"draining":
        yield Entry("draining", f"{name}|{revision_id}".encode())


def rollout(view: View, rollout_id: str) -> Iterator[Entry]:
    """Return the place of a rollout that is not over."""
    record = view.record(f"rollout:{rollout_id}")
    if record is not None and record["state"] in _ACTIVE:
        yield Entry("rolling", record["deployment"] + b"|" + rollout_id.encode())


def endpoint(view: View, name: str) -> Iterator[Entry]:
    """Return the place of an endpoint `ENV|ID`."""
    tenant = view.member(f"endpoint:{name}", b"tenant")
    if tenant is not None:
        env_name, _, endpoint_id = name.partition("|")
        yield Entry(f"endpoints:{env_name}", tenant + b"|" + endpoint_id.encode(), 0.0)


def pack(view: View, digest: str) -> Iterator[Entry]:
    """Return the places of a pack, one for each tenant that uploaded it."""
    for tenant in view.value(f"pack:{digest}") or {}:
        yield Entry("packs", tenant + b"|" + digest.encode(), 0.0)


def service(view: View, process: str) -> Iterator[Entry]:
    """Return the two places of the report of a process."""
    member = process.encode()
    if view.member("services", member) is not None:
        yield Entry("services", member)
        yield Entry("service_expiries", member, default=0.0)


def value_of_pack(view: View, place: str) -> Iterator[Entry]:
    """Return the places of a value of a pack's state: scope and name, with a zero byte between."""
    scope, _, name = place.partition("\0")
    member = name.encode()
    packed = view.member(f"state:{scope}", member)
    if packed is not None:
        yield Entry(f"state:{scope}", member, packed)
        until = _unpack(packed).get("until_ms")
        if until is not None:
            yield Entry(f"state_due:{scope}", member, float(until))


def state_of_pack(view: View, scope: str) -> Iterator[Drift]:
    """Add up the bytes of a pack's state."""
    if view.size(f"state:{scope}") > MOST_VALUES:
        return
    values = view.value(f"state:{scope}") or {}
    size = sum(len(name) + len(packed) for name, packed in values.items())
    says = int(view.member(f"state_meta:{scope}", b"bytes") or 0)
    if size != says:
        repair = ("HSET", f"state_meta:{scope}", "bytes", str(size))
        text = f"is said to have {says} bytes, has {size}"
        yield Drift(Kind.COUNT, f"state {scope}:", text, (repair,))


def seen(view: View, name: str) -> Iterator[Entry]:
    """Return the two places of an id or key that a queue remembers."""
    member = name.encode()
    if view.member("seen", member) is not None:
        yield Entry("seen", member)
        yield Entry("seen_until", member, default=0.0)
