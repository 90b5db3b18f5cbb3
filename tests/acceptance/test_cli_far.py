"""Every command over a server: what it does near the store, or a refusal in one sentence."""

from __future__ import annotations

import asyncio
import itertools
import json
import shlex
import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from holdfast.cli.terminal import opening
from holdfast.model.frames import NewFrame
from tests.acceptance.test_cli import background, write_shop
from tests.acceptance.test_cli_docs import COMMANDS
from tests.support.far_cli import Place, Shown, command, place, session_key

Make = Callable[[Place, str], Awaitable[object]]

_numbers = itertools.count(1)


@pytest.fixture(scope="module")
async def here() -> AsyncIterator[Place]:
    """The store and the server of these tests."""
    async with place() as found:
        yield found


@dataclass(frozen=True)
class Case:
    """A command, what is made before it, and a command that shows its effect.

    @ is a name, and @@ the session of a user of that name.
    """

    command: str
    make: Make
    args: str = ""
    look: str = ""
    #: What happens while it runs.
    meanwhile: Make = Place.nothing

    def __str__(self) -> str:
        return f"{self.command} {self.args} after {self.make.__name__}"


FAR = [
    Case("submit", Place.nothing, "work --id @ --lane @ -i '[1.50]' --retries 2", "show @"),
    Case("submit", Place.tasks, "@ --id @ -i '{\"n\":1}' --tag a=b --key k@ --delay 1h", "show @"),
    Case("submit", Place.tasks, '@ -i \'{"n":"x"}\''),
    Case("submit", Place.tasks, "@ --id @ --no-check --timeout 3 --retention 1h", "show @"),
    Case("submit", Place.tenants_tasks, "@ --tenant @ --id @", "show @"),
    Case("submit", Place.nothing, "work --lane @ --wait", "ls --lane @", Place.complete_later),
    Case("submit", Place.nothing, "work --id @ --budget none"),
    Case("submit", Place.waiting, "other --id @"),
    Case("ls", Place.completed, "--lane @ --tag name=@ --since 1h"),
    Case("ls", Place.waiting, "--all --lane @ --state waiting"),
    Case("ls", Place.graph, "--graph @ --limit 2"),
    Case("ls", Place.nothing, "--tenant @"),
    Case("show", Place.completed, "@"),
    Case("show", Place.failed, "@"),
    Case("show", Place.suspended, "@"),
    Case("show", Place.bytes_, "@"),
    Case("show", Place.nothing, "@"),
    Case("history", Place.failed, "@"),
    Case("logs", Place.failed, "@ --level info"),
    Case("history", Place.waiting, "@ --follow", "show @", Place.complete_later),
    Case("stream", Place.completed, "@ --after 1"),
    Case("stream", Place.completed, "@ --follow"),
    Case("stream", Place.nothing, "@ --follow"),
    Case("result", Place.completed, "@"),
    Case("result", Place.bytes_, "@"),
    Case("result", Place.failed, "@"),
    Case("result", Place.waiting, "@"),
    Case("result", Place.nothing, "@"),
    Case("result", Place.waiting, "@ --wait 20", "show @", Place.complete_later),
    Case("result", Place.waiting, "@ --wait 0.1"),
    Case("explain", Place.waiting, "@"),
    Case("explain", Place.suspended, "@"),
    Case("cancel", Place.waiting, "@ --reason why", "show @"),
    Case("cancel", Place.completed, "@"),
    Case("replay", Place.completed, "@ --from-step count --reason why", "show @"),
    Case("replay", Place.completed, "@ --from-step none"),
    Case("resubmit", Place.nothing, "@"),
    Case("bulk cancel", Place.waiting, "--lane @ --dry-run"),
    Case("bulk cancel", Place.waiting, "--lane @ --expect 7"),
    Case("bulk cancel", Place.completed, "--lane @ --state completed --dry-run"),
    Case("bulk replay", Place.completed, "--lane @ --state completed --dry-run"),
    Case("bulk prioritize", Place.waiting, "--tag name=@ --priority 7 --dry-run"),
    Case("bulk resubmit", Place.failed, "--kind work --id @ --dry-run"),
    Case("bulk show", Place.bulk, "b-@"),
    Case("bulk show", Place.nothing, "b-@"),
    Case("bulk ls", Place.bulk),
    Case("bulk abort", Place.bulk, "b-@ --reason why"),
    Case("find", Place.waiting, "@"),
    Case("find", Place.suspended, "@~w1 --tenant default"),
    Case("find", Place.nothing, "@"),
    Case("prioritize", Place.waiting, "@ -7", "show @"),
    Case("revoke", Place.active, "@ --reason why", "show @"),
    Case("revoke", Place.waiting, "@"),
    Case("tasks", Place.tasks),
    Case("tasks", Place.tasks, "@"),
    Case("tasks", Place.nothing, "@"),
    Case("tasks", Place.tenants_tasks, "@ --tenant @"),
    Case("top", Place.waiting, "--once"),
    Case("waitpoints ls", Place.suspended),
    Case("waitpoints ls", Place.suspended, "--limit 1 --tenant default"),
    Case("waitpoints show", Place.answered, "@"),
    Case("waitpoints token", Place.suspended, "@~w1"),
    Case("waitpoints token", Place.waiting, "@~w1"),
    Case("waitpoints revoke", Place.suspended, "@~w1", "waitpoints show @"),
    Case("approve", Place.suspended, "@~w1 --as ann --comment ok", "waitpoints show @"),
    Case("approve", Place.answered, "@~w1"),
    Case("deny", Place.suspended, "@~w1 --as ann", "waitpoints show @"),
    Case("signal", Place.suspended, "@~w1 go -p '[1.50]' --key k", "waitpoints show @"),
    Case("signal", Place.suspended, "@~w1 stop"),
    Case("signal", Place.nothing, "@~w1 go"),
    Case("resume", Place.suspended, "@ -p 1", "explain @"),
    Case("resume", Place.waiting, "@"),
    Case("sessions ls", Place.session, "--user @ --limit 1"),
    Case("sessions show", Place.session, "@@"),
    Case("sessions show", Place.nothing, "@@"),
    Case("sessions transcript", Place.session, "@@ --after 1"),
    Case("sessions file", Place.session, f"@@ {'0' * 20} kept.txt"),
    Case("sessions say", Place.session, "@@ Hello --author bea --key k", "sessions show @@"),
    Case("sessions handover", Place.session, "@@ bea", "sessions show @@"),
    Case("sessions handover", Place.session, "@@ --back", "sessions show @@"),
    Case("sessions end", Place.session, "@@ --reason why", "sessions show @@"),
    Case("sessions resend", Place.session, "@@ 2"),
    Case("sessions erase", Place.session, "@@ --yes", "sessions show @@"),
    Case("explain", Place.session, "@@~1"),
    Case("show", Place.session, "@@~1"),
    Case("env ls", Place.nothing),
    Case("env put", Place.nothing, "@ --unsigned-packs", "env show @"),
    Case("env show", Place.nothing, "@"),
    Case("env delete", Place.nothing, "@"),
    Case("env delete", Place.nothing, "local"),
    Case("packs ls", Place.nothing),
    Case("packs delete", Place.nothing, f"sha256:{'0' * 64}"),
    Case("deployments ls", Place.released, "--limit 1000"),
    Case("deployments show", Place.released, "@"),
    Case("deployments show", Place.nothing, "@"),
    Case("deployments create", Place.nothing, "@ --app talk --path /a", "deployments show @"),
    Case("deployments create", Place.deployment, "@ --pack shop"),
    Case("deployments events", Place.released, "@ --limit 3"),
    Case("deployments explain", Place.released, "@ somebody"),
    Case("deployments set", Place.released, "@ --restart-text Again", "deployments show @"),
    Case("deployments delete", Place.released, "@"),
    Case("deployments delete", Place.deployment, "@", "deployments show @"),
    Case("revisions ls", Place.released, "@"),
    Case("revisions needs", Place.released, "@ v1-@"),
    Case("revisions stage", Place.deployment, "@ --id v3-@ --config '{}'", "revisions ls @"),
    Case("revisions stage", Place.deployment, "@ --id v1-@ --config '{\"a\": 1}'"),
    Case("revisions warm", Place.deployment, "@ v1-@", "revisions ls @"),
    Case("revisions ready", Place.deployment, "@ v1-@", "revisions ls @"),
    Case("revisions archive", Place.deployment, "@ v1-@", "revisions ls @"),
    Case("revisions archive", Place.released, "@ v1-@"),
    Case("split show", Place.released, "@"),
    Case("split set", Place.released, "@ v1-@=25.5% v2-@=74.5", "split show @"),
    Case("split set", Place.deployment, "@ v1-@=100"),
    Case("split clear", Place.released, "@", "split show @"),
    Case("split rollback", Place.released, "@ --to 1", "split show @"),
    Case("revisions show", Place.released, "@ v1-@ --window 10m"),
    Case("revisions show", Place.released, "@ gone"),
    Case("rollout start", Place.released, "@ v1-@ --steps 5%,100% --min-turns 9", "split show @"),
    Case("rollout start", Place.deployment, "@ v1-@"),
    Case("rollout ls", Place.rolling, "@"),
    Case("rollout show", Place.rolling, "@"),
    Case("rollout show", Place.released, "@"),
    Case("rollout pause", Place.rolling, "@ --reason why", "rollout ls @"),
    Case("rollout continue", Place.rolling, "@ --id r-@", "rollout ls @"),
    Case("rollout promote", Place.rolling, "@", "split show @"),
    Case("rollout abort", Place.rolling, "@ --reason why", "split show @"),
    Case("drain", Place.released, "@ v1-@ --deadline 1h", "revisions ls @"),
    Case("drain", Place.released, "@ v2-@"),
    Case("keyring show", Place.nothing),
    Case("keyring rotate", Place.ring, "--grace 2h"),
    Case("keyring rotate", Place.nothing, "--kid @ --secret-hex xy"),
    Case("graphs ls", Place.tenants_graph, "--tenant @"),
    Case("graphs ls", Place.failed_graph, "--state failed --limit 1"),
    Case("graphs show", Place.failed_graph, "@"),
    Case("graphs show", Place.graph, "@ --mermaid"),
    Case("graphs show", Place.nothing, "@"),
    Case("graphs cancel", Place.graph, "@ --reason why --wait 10", "graphs show @"),
    Case("graphs replay", Place.failed_graph, "@ --reason why", "graphs show @"),
    Case("graphs replay", Place.graph, "@"),
    Case("lanes ls", Place.lane),
    Case("lanes pause", Place.nothing, "@", "lanes ls"),
    Case("lanes resume", Place.lane, "@", "lanes ls"),
    Case("lanes drain", Place.lane, "@", "lanes ls"),
    Case("lanes weights", Place.nothing, "@ acme=2.5 other=", "lanes ls"),
    Case("lanes weights", Place.nothing, "@ acme=0"),
    Case("retention ls", Place.nothing),
    Case("retention set", Place.nothing, "completed=1h failed= --tenant @", "retention ls"),
    Case("retention set", Place.nothing, "waiting=1h"),
    Case("schedules ls", Place.schedule),
    Case("schedules show", Place.schedule, "@"),
    Case("schedules show", Place.nothing, "@"),
    Case(
        "schedules create",
        Place.nothing,
        "@ work --cron '0 6 * * *' -i '[1.50]'",
        "schedules show @",
    ),
    Case(
        "schedules create",
        Place.nothing,
        "@ work --at 2h --tenant @",
        "schedules show @ --tenant @",
    ),
    Case("schedules create", Place.schedule, "@ work --every 1h"),
    Case("schedules create", Place.tasks, "@ @ --every 1h --no-check", "schedules trigger @"),
    Case("schedules create", Place.tasks, "@ @ --every 1h"),
    Case("schedules pause", Place.schedule, "@", "schedules show @"),
    Case("schedules resume", Place.paused_schedule, "@", "schedules show @"),
    Case("schedules trigger", Place.schedule, "@ --key k", "schedules show @"),
    Case("schedules delete", Place.schedule, "@", "schedules show @"),
    Case("schedules next", Place.schedule, "@ --count 3"),
    Case("budgets ls", Place.budget),
    Case("budgets ls", Place.budget, "--tenant @"),
    Case("budgets show", Place.budget, "@ --tenant @"),
    Case("budgets create", Place.nothing, "@ --hard n=9 --soft n=5 --reset 1h", "budgets show @"),
    Case("budgets create", Place.budget, "@ --tenant @ --hard tokens=1"),
    Case(
        "budgets set",
        Place.budget,
        "@ --tenant @ --hard tokens=20 --soft tokens=",
        "budgets show @ --tenant @",
    ),
    Case("budgets reset", Place.budget, "@ --tenant @", "budgets show @ --tenant @"),
    Case("budgets breaches", Place.budget, "@ --tenant @"),
    Case("quotas ls", Place.quota, "--tenant @"),
    Case("quotas show", Place.quota, "@ --tenant @"),
    Case(
        "quotas create",
        Place.nothing,
        "@ --max-concurrent 1 --tenant @",
        "quotas show @ --tenant @",
    ),
    Case("quotas create", Place.nothing, "@"),
    Case(
        "quotas set",
        Place.quota,
        "@ --tenant @ --max-per-window 9 --window 1m",
        "quotas show @ --tenant @",
    ),
    Case("quotas delete", Place.quota, "@ --tenant @", "quotas show @ --tenant @"),
    Case(
        "secrets set",
        Place.nothing,
        f"@ --tenant @ --from-file {__file__}",
        "secrets ls --tenant @",
    ),
    Case("secrets set", Place.nothing, "@ --from-file nowhere"),
    Case("secrets ls", Place.secret, "--tenant @ --env prod"),
    Case("secrets rm", Place.secret, "@ --tenant @ --env prod", "secrets ls --tenant @ --env prod"),
    Case("secrets rm", Place.nothing, "@"),
    Case("workers ls", Place.worker),
    Case("workers drain", Place.worker, "@", "workers ls"),
    Case("workers drain", Place.nothing, "@"),
    Case("queues ls", Place.fanout),
    Case("queues define", Place.nothing, "@ --dead-letter @.dead --ttl 1h", "queues show @"),
    Case("queues define", Place.fanout, "@ --mode work"),
    Case("queues show", Place.fanout, "@"),
    Case("queues rm", Place.queue, "@", "queues show @"),
    Case("queues group", Place.fanout, "@ new --start at:2026-01-31T12:00", "queues show @"),
    Case("queues ungroup", Place.fanout, "@ g", "queues show @"),
    Case("queues pause", Place.fanout, "@ --group g", "queues show @"),
    Case("queues resume", Place.fanout, "@ --group h", "queues show @"),
    Case("queues stats", Place.fanout, "@"),
    Case("queues stats", Place.reading, "@"),
    Case("queues purge", Place.reading, "@", "queues stats @"),
    Case("queues move", Place.letters, "@.dead @ --limit 5", "queues stats @.dead"),
    Case("queues redrive", Place.letters, "@.dead --reason spoil --rate 1000", "queues stats @"),
    Case("queues push", Place.queue, "@ '[1.50]' --dedup d --priority -5", "queues peek @"),
    Case("queues push", Place.queue, "@ 9 --id m1"),
    Case("queues push", Place.nothing, "@ 1"),
    Case("queues read", Place.queue, "@ --count 3 --ack", "queues stats @"),
    Case("queues read", Place.fanout, "@ --group g --wait 5s", "queues pending @ --group g"),
    Case("queues read", Place.reading, "@ --right", "queues pending @"),
    Case("queues tail", Place.queue, "@ --limit 3", "queues stats @"),
    Case("queues settle", Place.nothing, "@ ack none"),
    Case("queues peek", Place.queue, "@"),
    Case("queues peek", Place.letters, "@.dead"),
    Case("queues pending", Place.reading, "@"),
    Case(
        "redactions add",
        Place.nothing,
        "a.pin --kind mail.* --tenant @",
        "redactions ls --tenant @",
    ),
    Case("redactions ls", Place.nothing, "--tenant @"),
    Case("redactions rm", Place.nothing, "a.pin --tenant @"),
    Case("charts lanes", Place.nothing, "--tenant @ --week"),
    Case("charts queues", Place.nothing, "--tenant @"),
]

#: Those that work far and have a test of their own, below or in tests/server (test_far_commands.py,
#: test_operability.py, test_deployments.py), or in test_cli_sessions.py, test_cli_waiting.py and
#: test_cli_endpoints.py.
APART = (
    *("endpoints ls", "endpoints put", "endpoints rm", "endpoints show", "view"),
    *("dead-replies ls", "dead-replies resend"),
    *("bench", "chat", "config show", "deploy", "doctor", "mcp", "pack test", "webhooks secret"),
    "worker",
    *("archive export", "archive parquet", "archive status"),
    *("budgets attach", "budgets detach", "budgets rules"),
    *("keys create", "keys ls", "keys me", "keys revoke"),
    *("quotas attach", "quotas detach", "quotas rules"),
    *("writer-lease acquire", "writer-lease hand-over", "writer-lease release"),
    *("writer-lease repair", "writer-lease show"),
)

#: By nature on the store itself. `dev` with an app runs a worker, far as well.
LOCAL = {
    "archive disable": "",
    "archive enable": "file:///nowhere",
    "archive erase": "acme --yes",
    "archive forget": "file:///nowhere --yes",
    "archive import": "@FILE",
    "archive run": "--once",
    "archive verify": "",
    "backup": "file:///nowhere",
    "restore": "file:///nowhere",
    "verify": "",
    "dev": "",
    "host": "",
    "secrets rotate": "",
    "server": "--listen 127.0.0.1:0",
}

#: They work on files and need no store.
FILES = (
    *("pack build", "pack keygen", "pack lint", "pack new", "pack show", "pack sign"),
    *("pack verify", "codec keygen"),
)


def test_every_command_is_in_one_of_the_tables() -> None:
    """A new command works far, or says why not."""
    known = [*{case.command for case in FAR}, *APART, *LOCAL, *FILES]
    assert sorted(known) == sorted(COMMANDS)


@pytest.mark.parametrize("case", FAR, ids=str)
async def test_a_command_does_and_says_far_what_it_does_and_says_near(
    here: Place, case: Case
) -> None:
    """Twins, one near and one far: the same words, the same code, the same effect."""
    number = next(_numbers)
    found: list[object] = []
    for store, letter in ((here.near, "a"), (here.far, "b")):
        # A list of everything has the same things in it, near and far.
        name = f"t{number}{letter}" if "@" in case.args else f"t{number}"
        if not found or "@" in case.args:
            await case.make(here, name)
        words = [*_words(f"{case.command} {case.args}", name), "--store", store]
        said, _ = await asyncio.gather(command(*words), case.meanwhile(here, name))
        found.append((said.of(name), await _beside(here, case, words, name)))
    assert found[1] == found[0]


async def _beside(here: Place, case: Case, words: list[str], name: str) -> object:
    """Return its effect as the store itself shows it; of a command that only asks, its JSON."""
    if not case.look:
        return (await command(*words, "--json")).of(name)
    shown = (await command(*_words(case.look, name), "--store", here.near)).of(name)
    # Of a list, the lines with the name.
    return shown if "@" in case.look else shown.lines("NAME")


def _words(line: str, name: str) -> list[str]:
    return shlex.split(line.replace("@@", session_key(name).id).replace("@", name))


@pytest.fixture(scope="module")
async def exported(here: Place, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A file for `archive import`."""
    await here.completed("x")
    file = tmp_path_factory.mktemp("exported") / "x.json"
    assert (await command("archive", "export", "x", str(file), "--store", here.near)).code == 0
    return str(file)


@pytest.mark.parametrize(("line", "args"), LOCAL.items())
async def test_what_needs_the_store_itself_says_so(
    here: Place, exported: str, line: str, args: str
) -> None:
    """In one line, with a code for programs."""
    words = shlex.split(f"{line} {args}".replace("@FILE", exported))
    shown = await command(*words, "--store", here.far)
    why = (
        f"this needs the store itself, and {here.far} is a server: "
        "pass the store's URL with --store"
    )
    assert shown == Shown(2, "", f"holdfast: {why} (not_over_http)\n")


async def test_a_message_that_was_read_far_is_settled_far(here: Place) -> None:
    """The handle that `read` shows is good for `settle`."""
    await here.queue(name := f"t{next(_numbers)}")
    read = await command("queues", "read", name, "--json", "--store", here.far)
    handle = json.loads(read.out)["handle"]
    done = [
        await command("queues", "settle", name, "ack", handle, "--store", here.far)
        for _ in range(2)
    ]
    assert done == [Shown(0, "done\n", ""), Shown(0, "repeated\n", "")]
    assert (await here.engine.queues.stats(name)).groups["default"].acked == 1


async def test_bench_measures_a_server_and_leaves_nothing(here: Place) -> None:
    """All are submitted and completed over HTTP; the server forgets them."""
    shown = await command("bench", "--count", "100", "--json", "--store", here.far)
    rates = json.loads(shown.out)["items"]
    assert [rate["what"] for rate in rates] == ["submit", "claim and complete"]
    assert [rate["count"] for rate in rates] == [100, 100]
    assert not any(cell.kind == "holdfast.bench" for cell in await here.engine.count())


async def test_config_shows_the_server_and_no_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    """It opens nothing."""
    monkeypatch.setenv("HOLDFAST_STORE", "https://ada:s3cret@server:1")
    monkeypatch.setenv("HOLDFAST_KEY", "s3cret")
    shown = await command("config", "show", "--json")
    found = json.loads(shown.out)
    assert (found["store"], found["store.from"]) == ("https://***@server:1", "HOLDFAST_STORE")
    assert (found["store.tls"], found["HOLDFAST_KEY"]) == (True, "***")
    assert "s3cret" not in shown.out + shown.err


async def test_a_worker_and_its_submitter_need_nothing_but_the_server(
    here: Place, tmp_path: Path
) -> None:
    """The task is published, run and drained over HTTP."""
    args = ["worker", "shop:app", "--store", here.far]
    with background(args, write_shop(tmp_path)) as worker:
        await worker.wait_for_text("holdfast is running shop:app")
        asked = ("submit", "greet", "-i", '{"name": "Ada"}', "--wait")
        shown = await command(*asked, "--store", here.far)
        assert (shown.code, shown.out) == (0, '"Hello Ada"\n')
        assert await asyncio.to_thread(worker.end) == 0


async def test_ctrl_c_ends_a_tail_with_130(here: Place, tmp_path: Path) -> None:
    """Without a traceback."""
    claim = await here.active(name := f"t{next(_numbers)}")
    await here.engine.streams.append(claim.id, claim.lease, [NewFrame.from_view("text", "Hello\n")])
    with background(["stream", name, "--follow", "--store", here.far], tmp_path) as tail:
        await tail.wait_for_text("Hello")
        assert await asyncio.to_thread(tail.end, signal.SIGINT) == 130
    assert tail.text() == "Hello\n"


async def test_a_key_that_may_not_says_what_it_lacks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a key, with a wrong one, without the role, and for another tenant."""
    async with place() as own:
        await own.waiting("x")

        async def ended(secret: str, line: str) -> tuple[int, str]:
            monkeypatch.setenv("HOLDFAST_KEY", secret)
            shown = await command(*line.split(), "--store", own.far)
            return shown.code, shown.err

        _, viewer = await own.engine.api_keys.create(roles=["viewer"])
        _, tenants = await own.engine.api_keys.create(roles=["admin"], tenant="acme")
        no_key = "an API key is needed: send `Authorization: Bearer KEY`"
        hint = "(the key comes from HOLDFAST_KEY) (unauthorized)"
        assert await ended("", "ls") == (1, f"holdfast: {no_key} {hint}\n")
        assert await ended("wrong", "ls") == (1, f"holdfast: there is no such API key {hint}\n")
        needed = "this needs an API key with the role operator (forbidden)"
        assert await ended(viewer, "cancel x") == (1, f"holdfast: {needed}\n")
        code, told = await ended(tenants, "show x")
        assert (code, told) == (3, "holdfast: no execution has the id x (execution_not_found)\n")
        assert await ended(tenants, "submit work --id mine") == (0, "")
        assert (await own.engine.describe("acme=mine")).tenant == "acme"
        system = "this needs an API key that belongs to no tenant (forbidden)"
        assert await ended(tenants, "lanes pause slow") == (1, f"holdfast: {system}\n")


async def test_a_server_that_is_not_there_is_told_with_4(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sooner than a worker would give up."""
    monkeypatch.setattr(opening, "BOOT_TIMEOUT_MS", 300)
    async with asyncio.timeout(opening.CALL_TIMEOUT_MS / 2000):
        shown = await command("ls", "--store", "http://ada:s3cret@127.0.0.1:1")
    assert (shown.code, shown.out) == (4, "")
    (line,) = shown.err.splitlines()
    assert line.startswith("holdfast: http://***@127.0.0.1:1 cannot be reached (")
    assert line.endswith(" (store_unavailable)")


async def test_another_server_is_told_with_4() -> None:
    """A page is no answer."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n<a/>")
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        shown = await command("ls", "--store", f"http://127.0.0.1:{port}")
    told = f"holdfast: http://127.0.0.1:{port} does not answer like a Holdfast server ("
    assert (shown.code, shown.err[: len(told)]) == (4, told)


async def test_an_address_that_is_none_is_told_with_2() -> None:
    """Before anything is sent."""
    shown = await command("ls", "--store", "http://server:port")
    assert (shown.code, shown.err.endswith("(invalid_input)\n")) == (2, True)
