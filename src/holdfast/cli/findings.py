"""What the doctor finds, and its judgement of facts that servers report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from holdfast.cli.terminal import output
from holdfast.model.queues import QueueStats
from holdfast.model.services import ServiceProcess

if TYPE_CHECKING:
    from holdfast.archive import Survey

Facts = Mapping[str, str]

#: A fuller store is worth a warning: soon it will refuse new work.
_FULL = 0.8
#: A difference of clocks that is worth a warning, in ms.
_SKEW_MS = 1_000
#: Executions that wait for the archive; one run takes as many in seconds.
_MANY_WAITING = 10_000


class Status(StrEnum):
    """How bad it is."""

    OK = "ok"
    WARNING = "warning"
    PROBLEM = "problem"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """The answer to one question."""

    check: str
    status: Status
    detail: str
    advice: str = ""


def ok(check: str, detail: str) -> Finding:
    """All is well."""
    return Finding(check=check, status=Status.OK, detail=detail)


def warning(check: str, detail: str, advice: str) -> Finding:
    """It works, but one should know."""
    return Finding(check=check, status=Status.WARNING, detail=detail, advice=advice)


def problem(check: str, detail: str, advice: str) -> Finding:
    """It does not work, or not as promised."""
    return Finding(check=check, status=Status.PROBLEM, detail=detail, advice=advice)


def parse_info(text: str) -> Facts:
    """Return the facts of an INFO reply."""
    return dict(line.split(":", 1) for line in text.splitlines() if ":" in line)


def durability(settings: Facts | None) -> Finding:
    """Say what an acknowledgement survives, from one server's configuration."""
    check = "durability"
    if settings is None:
        detail = "the server does not let us read its configuration"
        return warning(check, detail, "make sure that it has appendonly yes")
    if settings.get("appendonly") != "yes":
        detail = "appendonly is off: a restart of the server forgets everything since its last dump"
        return problem(
            check, detail, "CONFIG SET appendonly yes, and put it into its configuration"
        )
    fsync = settings.get("appendfsync", "unknown")
    if fsync == "always":
        return ok(check, "appendonly yes, appendfsync always: acknowledged means on disk")
    if fsync == "everysec":
        detail = "appendonly yes, appendfsync everysec: a crash of the machine may lose a second"
        return ok(check, detail)
    detail = f"appendonly yes, appendfsync {fsync}: a crash of the machine may lose half a minute"
    return warning(check, detail, "CONFIG SET appendfsync everysec, or always")


def replication(servers: Sequence[Facts], settings: Facts | None, *, cluster: bool) -> Finding:
    """Say whether a primary that dies has a successor."""
    check = "replication"
    replicas = [int(facts.get("connected_slaves", 0)) for facts in servers]
    least = (settings or {}).get("min-replicas-to-write", "unknown")
    detail = f"{min(replicas)} replicas or more for each of {len(servers)} primaries, "
    detail += f"min-replicas-to-write {least}"
    if not cluster:
        return ok(check, f"one server with {replicas[0]} replicas")
    if min(replicas) == 0:
        return warning(check, detail, "a primary without replica takes its data along when it dies")
    if least == "0":
        return warning(check, detail, "a failover may lose the last writes; set it to 1")
    return ok(check, detail)


def memory(facts: Facts) -> Finding:
    """Say how full a server is."""
    check = "memory"
    used, most = int(facts.get("used_memory", 0)), int(facts.get("maxmemory", 0))
    policy = facts.get("maxmemory_policy", "unknown")
    detail = f"{facts.get('used_memory_human', used)} used"
    detail += f" of {facts.get('maxmemory_human', most)}" if most else ", no limit"
    detail += f", policy {policy}"
    if policy != "noeviction":
        advice = "the server may throw work away: CONFIG SET maxmemory-policy noeviction"
        return problem(check, detail, advice)
    if most and used > most * _FULL:
        return warning(check, detail, "free memory, raise maxmemory, or shorten retention")
    return ok(check, detail)


def library_denied() -> Finding:
    """Say that there is no room for the function library."""
    detail = "the store is too full to load it; what frees memory works without it, slowly"
    advice = "raise maxmemory, shorten retention or cancel executions, then --fix again"
    return problem("library", detail, advice)


def library(loaded: Sequence[tuple[int, str]], ours: tuple[int, str]) -> Finding:
    """Compare the function library of each primary with ours."""
    check = "library"
    release, digest = ours
    oldest, newest = min(loaded), max(loaded)
    detail = f"release {newest[0]} in the store, {release} here"
    if oldest == newest == ours:
        return ok(check, f"release {release}, the same as here")
    if oldest[0] == 0:
        advice = "a worker loads it when it starts; --fix loads it now"
        return problem(check, "a primary has none", advice)
    if oldest[0] < newest[0]:
        advice = "start a process of the newer version, or use --fix of it"
        return problem(
            check, f"the primaries disagree: releases {oldest[0]} to {newest[0]}", advice
        )
    if newest[0] > release:
        return warning(check, detail, "the store is newer: upgrade this installation")
    if newest[0] < release:
        return problem(check, detail, "a worker of this version loads it; --fix loads it now")
    detail = f"release {release}, but another text ({newest[1]}, here {digest})"
    return problem(check, detail, "--fix loads ours")


def clock(skews_ms: Sequence[float]) -> Finding:
    """Say how far servers' clocks are from ours; only theirs decide."""
    worst = max(skews_ms, key=abs)
    detail = f"{worst:+.0f} ms from this machine's"
    if len(skews_ms) > 1:
        detail += f", {max(skews_ms) - min(skews_ms):.0f} ms between primaries"
    if abs(worst) > _SKEW_MS or max(skews_ms) - min(skews_ms) > _SKEW_MS:
        advice = "due times are on the store's clock: run a time service on both machines"
        return warning("clock", detail, advice)
    return ok("clock", detail)


def queues(stats: Mapping[str, QueueStats]) -> Finding:
    """Say whether every message that was pushed is accounted for."""
    check = "queues"
    wrong = [name for name, one in stats.items() if not _adds_up(one)]
    if wrong:
        detail = f"counts do not add up: {', '.join(wrong[:5])}"
        return problem(check, detail, "please report it, with `holdfast queues stats`")
    groups = [group for one in stats.values() for group in one.groups.values()]
    ready, dead = sum(one.ready for one in groups), sum(one.dead for one in groups)
    return ok(check, f"{len(stats)}, with {ready} messages ready and {dead} dead")


def _adds_up(one: QueueStats) -> bool:
    """Pushed is the sum of what became of messages: in each group, and in a fanout queue."""
    in_groups = all(2 * group.pushed == sum(astuple(group)) for group in one.groups.values())
    known = one.stored + one.collected + one.expired + one.purged
    return in_groups and (one.mode == "work" or one.pushed == known)


def services(processes: Sequence[ServiceProcess]) -> Finding:
    """Say whether the services of all processes run."""
    check = "services"
    stopped = [
        f"{service.name} of {process.name} ({service.last_error})"
        for process in processes
        for service in process.services
        if not service.running
    ]
    if stopped:
        advice = "the log of the process says why; it restarts the service by itself"
        return problem(check, f"not running: {', '.join(stopped[:5])}", advice)
    if not processes:
        return ok(check, "no process runs any now")
    restarts = sum(service.restarts for process in processes for service in process.services)
    running = sum(len(process.services) for process in processes)
    detail = f"{running} in {len(processes)} {'process' if len(processes) == 1 else 'processes'}"
    return ok(check, detail + (f", restarted {restarts} times" if restarts else ""))


def archive(found: Survey) -> Finding:
    """Say whether what has ended gets into the archive."""
    check = "archive"
    if found.archive is None:
        return ok(check, "none: retention forgets")
    held = output.count(found.archive.executions, "execution")
    detail = f"{found.url}, {held}, {found.waiting} waiting for it"
    if found.waiting > _MANY_WAITING:
        advice = "they stay in memory: start a server, or `holdfast archive run`"
        return warning(check, detail, advice)
    return ok(check, detail)
