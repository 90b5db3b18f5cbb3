"""The doctor's findings from the facts that servers and the store report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import astuple
from typing import TYPE_CHECKING

from holdfast.model.findings import Finding, error, ok, warning
from holdfast.model.queues import QueueStats
from holdfast.model.services import ServiceProcess
from holdfast.store.valkey.acks import Ack
from holdfast.store.valkey.urls import StoreUrl

if TYPE_CHECKING:
    from holdfast.archive import Survey

Facts = Mapping[str, str]

#: The share of memory at which to warn: a full store refuses new work.
_FULL = 0.8
#: The difference of clocks at which to warn, in ms.
_SKEW_MS = 1_000
#: The number of executions waiting for the archive at which to warn; a run archives as many
#: within seconds.
_MANY_WAITING = 10_000


def parse_info(text: str) -> Facts:
    """Return the facts of an INFO reply."""
    return dict(line.split(":", 1) for line in text.splitlines() if ":" in line)


def durability(settings: Facts | None, ack: Ack | None = None) -> Finding:
    """Report what an acknowledgement survives, from one server's configuration."""
    check = "durability"
    if settings is None:
        text = "the server does not allow reading its configuration"
        return warning(check, text, "make sure that it is set to appendonly yes")
    if settings.get("appendonly") != "yes":
        text = "appendonly is off: a restart of the server loses everything since its last dump"
        return error(check, text, "CONFIG SET appendonly yes, and add it to the configuration file")
    fsync = settings.get("appendfsync", "unknown")
    if fsync == "always":
        return ok(check, "appendonly yes, appendfsync always: acknowledged means on disk")
    if ack is not None and ack.disk:
        return ok(
            check, f"appendonly yes, appendfsync {fsync}, ack=disk: acknowledged means on disk"
        )
    if fsync == "everysec":
        text = "appendonly yes, appendfsync everysec: a crash of the machine may lose a second"
        return ok(check, text)
    text = f"appendonly yes, appendfsync {fsync}: a crash of the machine may lose half a minute"
    return warning(check, text, "CONFIG SET appendfsync everysec, or always")


def replication(
    servers: Sequence[Facts], settings: Sequence[Facts | None], url: StoreUrl
) -> Finding:
    """Report whether a primary that dies has a successor, and whether that has everything."""
    check = "replication"
    replicas = [int(facts.get("connected_slaves", 0)) for facts in servers]
    writes = [(one or {}).get("min-replicas-to-write", "unknown") for one in settings]
    # Of numbers as texts, the shorter are the smaller.
    least = min(writes, key=lambda text: (len(text), text))
    wanted = url.ack.replicas if url.ack else 0
    if url.path is not None:
        return ok(check, "an embedded server, without replicas")
    text = f"one server with {_replicas(replicas[0])}, "
    if url.cluster:
        text = f"{_replicas(min(replicas))} or more for each of {len(servers)} primaries, "
    text += f"min-replicas-to-write {least}" + (f", ack={url.ack}" if wanted else "")
    if min(replicas) < wanted:
        return error(check, text, f"no call is acknowledged without {_replicas(wanted)}: add some")
    if min(replicas) == 0:
        fix = "the data of a primary without a replica is gone if its disk is: add one"
        return warning(check, text, fix)
    if least == "0" and not wanted:
        fix = "a failover may lose the last writes: use ack=replicas:1 in the store URL, or set it"
        return warning(check, text, fix)
    return ok(check, text)


def _replicas(number: int) -> str:
    return f"{number} replica{'' if number == 1 else 's'}"


def memory(facts: Facts) -> Finding:
    """Report how full a server is."""
    check = "memory"
    used, most = int(facts.get("used_memory", 0)), int(facts.get("maxmemory", 0))
    policy = facts.get("maxmemory_policy", "unknown")
    text = f"{facts.get('used_memory_human', used)} used"
    text += f" of {facts.get('maxmemory_human', most)}" if most else ", no limit"
    text += f", policy {policy}"
    if policy != "noeviction":
        fix = "the server may evict accepted work: CONFIG SET maxmemory-policy noeviction"
        return error(check, text, fix)
    if most and used > most * _FULL:
        return warning(check, text, "free memory, raise maxmemory, or shorten retention")
    return ok(check, text)


def library_denied() -> Finding:
    """Report that there is no room for the function library."""
    text = "the store is too full to load it; calls that free memory still work, slowly"
    fix = "raise maxmemory, shorten retention or cancel executions; then `holdfast doctor --fix`"
    return error("library", text, fix)


def library(loaded: Sequence[tuple[int, str]], ours: tuple[int, str]) -> Finding:
    """Compare the function library of each primary with that of this installation."""
    check = "library"
    release, digest = ours
    oldest, newest = min(loaded), max(loaded)
    text = f"release {newest[0]} in the store, {release} here"
    if oldest == newest == ours:
        return ok(check, f"release {release}, the same as here")
    if oldest[0] == 0:
        fix = "a worker loads it when it starts; `holdfast doctor --fix` loads it now"
        return error(check, "a primary has none", fix)
    if oldest[0] < newest[0]:
        fix = "start a process of the newer version, or its `holdfast doctor --fix`"
        return error(check, f"the primaries disagree: releases {oldest[0]} to {newest[0]}", fix)
    if newest[0] > release:
        return warning(check, text, "the store is newer: upgrade this installation")
    if newest[0] < release:
        return error(
            check, text, "a worker of this version loads it; `holdfast doctor --fix` loads it now"
        )
    text = f"release {release}, but another text ({newest[1]}, here {digest})"
    return error(check, text, "`holdfast doctor --fix` loads ours")


def clock(skews_ms: Sequence[float]) -> Finding:
    """Report how far the servers' clocks are from this machine's; only theirs decide."""
    worst = max(skews_ms, key=abs)
    text = f"{worst:+.0f} ms from this machine's"
    if len(skews_ms) > 1:
        text += f", {max(skews_ms) - min(skews_ms):.0f} ms between primaries"
    if abs(worst) > _SKEW_MS or max(skews_ms) - min(skews_ms) > _SKEW_MS:
        fix = "due times follow the store's clock: run a time service on both machines"
        return warning("clock", text, fix)
    return ok("clock", text)


def queues(stats: Mapping[str, QueueStats]) -> Finding:
    """Report whether every pushed message is accounted for."""
    check = "queues"
    wrong = [name for name, counts in stats.items() if not _adds_up(counts)]
    if wrong:
        text = f"counts do not add up: {', '.join(wrong[:5])}"
        return error(check, text, "please report this, with the output of `holdfast queues stats`")
    groups = [group for counts in stats.values() for group in counts.groups.values()]
    ready, dead = sum(group.ready for group in groups), sum(group.dead for group in groups)
    return ok(check, f"{len(stats)}, with {ready} messages ready and {dead} dead")


def _adds_up(stats: QueueStats) -> bool:
    """Whether `pushed` is the sum of the other counts, in each group and in a fanout queue."""
    in_groups = all(2 * group.pushed == sum(astuple(group)) for group in stats.groups.values())
    counted = stats.stored + stats.collected + stats.expired + stats.purged
    return in_groups and (stats.mode == "work" or stats.pushed == counted)


def services(processes: Sequence[ServiceProcess]) -> Finding:
    """Report whether the services of all processes run."""
    check = "services"
    stopped = [
        f"{service.name} of {process.name} ({service.last_error})"
        for process in processes
        for service in process.services
        if not service.running
    ]
    if stopped:
        fix = "the log of the process says why; it restarts the service by itself"
        return error(check, f"not running: {', '.join(stopped[:5])}", fix)
    if not processes:
        return ok(check, "no process runs any service")
    restarts = sum(service.restarts for process in processes for service in process.services)
    running = sum(len(process.services) for process in processes)
    text = f"{running} in {len(processes)} {'process' if len(processes) == 1 else 'processes'}"
    return ok(check, text + (f", restarted {restarts} times" if restarts else ""))


def executions(number: int) -> str:
    """Return a number of executions with its noun."""
    return f"{number:,} execution{'' if number == 1 else 's'}"


def archive(survey: Survey) -> Finding:
    """Report whether ended executions reach the archive."""
    check = "archive"
    if survey.archive is None:
        return ok(check, "none: retention deletes ended executions")
    held = executions(survey.archive.executions)
    text = f"{survey.url}, {held}, {survey.waiting} waiting for it"
    if survey.waiting > _MANY_WAITING:
        fix = "they stay in memory: start a server or `holdfast archive run`"
        return warning(check, text, fix)
    return ok(check, text)
