"""The `holdfast` command against a worker that runs, as a person uses both."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from holdfast.engine import Engine, open_engine
from holdfast.testing.polling import wait_for
from tests.support import commands

COMMAND = str(Path(sys.executable).with_name("holdfast"))
TIMEOUT_S = 30

SHOP = '''
import asyncio
from pathlib import Path

from holdfast import App, Context, GiveUp, Retry

app = App()


@app.task
async def greet(name: str, times: int = 1) -> str:
    """Greet somebody."""
    return "Hello " * times + name


@app.task
def broken(why: str = "no way") -> None:
    raise GiveUp(why)


@app.task
def flaky() -> None:
    raise Retry("again", after=0.01)


@app.task(lane="mail")
async def send(ctx: Context, to: list[str]) -> int:
    found = await ctx.step("count", len, to)
    await ctx.step("double", float, 2)
    return found


@app.task
async def hold(gate: str) -> str:
    """Run until a file is there."""
    Path(gate + ".started").touch()
    while not Path(gate).exists():
        await asyncio.sleep(0.01)
    return "released"
'''


def write_shop(folder: Path, source: str = SHOP) -> Path:
    """Write the app of these tests into a folder.

    Python takes the bytecode of an earlier one for it if both have the same second and size.
    """
    shutil.rmtree(folder / "__pycache__", ignore_errors=True)
    (folder / "shop.py").write_text(source)
    return folder


def environment() -> dict[str, str]:
    """Return an environment in which the default store is in the working folder."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("HOLDFAST_")}
    return {**kept, "COLUMNS": "100"}


def holdfast(
    *args: str, folder: Path, stdin: str = "", **variables: str
) -> subprocess.CompletedProcess[str]:
    """Run a command to its end."""
    variables = {**environment(), **variables}
    return commands.run(
        args, folder=folder, environment=variables, typed=stdin, timeout_s=TIMEOUT_S
    )


def done(*args: str, folder: Path, stdin: str = "") -> str:
    """Run a command that must succeed and return what it writes to stdout."""
    shown = holdfast(*args, folder=folder, stdin=stdin)
    assert shown.returncode == 0, shown.stderr
    return shown.stdout


def asked(*args: str, folder: Path) -> Any:
    """Run a command with --json that must succeed and return its answer."""
    return json.loads(done(*args, "--json", folder=folder))


@dataclass
class Background:
    """A command that runs while a test goes on."""

    process: commands.Command
    log: Path

    def text(self) -> str:
        """Return what it has written so far."""
        return self.log.read_text()

    async def wait_for_text(self, text: str, times: int = 1) -> None:
        """Wait until it has written something."""

        async def written() -> bool:
            ended = self.process.poll() is not None
            assert not ended or text in self.text(), f"it ended early: {self.text()}"
            return self.text().count(text) >= times

        await wait_for(written, timeout_s=TIMEOUT_S)

    def end(self, number: int = signal.SIGTERM) -> int:
        """Send a signal and return the exit code."""
        self.process.send_signal(number)
        return self.process.wait(TIMEOUT_S)


@contextmanager
def background(args: Sequence[str], folder: Path, **variables: str) -> Iterator[Background]:
    """Start a command; both its streams go to a file."""
    log = folder / f"{args[0]}.log"
    with log.open("wb") as stream:
        process = commands.start(
            args,
            folder=folder,
            environment={**environment(), **variables},
            stdout=stream,
            stderr=stream,
        )
    try:
        yield Background(process, log)
    finally:
        if process.poll() is None:
            process.terminate()
            try:
                process.wait(TIMEOUT_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


async def wait_for_file(path: Path) -> None:
    """Wait until a file is there."""

    async def there() -> bool:
        return os.access(path, os.F_OK)

    await wait_for(there, timeout_s=TIMEOUT_S)


@dataclass
class Shop:
    """A folder with an app and its store, which a worker runs."""

    folder: Path
    #: The same store, for what is quicker than a command.
    engine: Engine

    async def submit(self, kind: str, arguments: object = None, **fields: Any) -> str:
        """Submit an execution and return its id; those that nobody runs need no arguments."""
        payload = json.dumps(arguments).encode()
        return (await self.engine.submit(kind, input=payload, check=False, **fields)).id

    async def ended(self, kind: str, arguments: object = None, **fields: Any) -> str:
        """Submit an execution, wait for its end, and return its id."""
        execution_id = await self.submit(kind, arguments, **fields)
        await self.engine.wait(execution_id, timeout_s=TIMEOUT_S)
        return execution_id


@pytest.fixture(scope="module")
async def shop(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Shop]:
    """The shop of this module."""
    folder = write_shop(tmp_path_factory.mktemp("shop"))
    with background(["worker", "shop:app", "--lease", "2s"], folder) as worker:
        await worker.wait_for_text("holdfast is running shop:app")
        async with open_engine(f"embedded://{folder}/.holdfast", maintenance=False) as engine:
            yield Shop(folder, engine)


def test_submit_and_wait_prints_the_result_and_nothing_else_on_stdout(shop: Shop) -> None:
    """Stdout is the result alone, so that it can be piped; the id is on stderr."""
    shown = holdfast("submit", "greet", "-i", '{"name": "Ada"}', "--wait", folder=shop.folder)
    assert (shown.returncode, shown.stdout) == (0, '"Hello Ada"\n')
    assert shown.stderr.startswith("submitted ")


def test_input_comes_from_a_file_or_from_stdin(shop: Shop) -> None:
    """@FILE and - are read as they are."""
    (shop.folder / "input.json").write_text('{"name": "file"}')
    read = done("submit", "greet", "--input", "@input.json", "--wait", folder=shop.folder)
    piped = '{"name": "pipe"}'
    fed = done("submit", "greet", "--input", "-", "--wait", folder=shop.folder, stdin=piped)
    assert (read, fed) == ('"Hello file"\n', '"Hello pipe"\n')


async def test_a_task_is_submitted_to_its_own_lane(shop: Shop) -> None:
    """Without --lane the lane is the one that the task was published with."""
    found = asked("submit", "send", "-i", '{"to": ["a", "b"]}', "--wait", folder=shop.folder)
    assert found["result"] == 2
    assert (await shop.engine.describe(found["id"])).lane == "mail"


async def test_all_options_of_submit_reach_the_execution(shop: Shop) -> None:
    """What was asked for is what is stored, and the same key finds the same execution."""
    options = ("--tenant", "acme", "--priority", "-5", "--delay", "1h", "--deadline", "2h")
    more = ("--retries", "2", "--key", "order-1", "--tag", "shop=east", "--requires", "gpu,disk")
    named = ("--lane", "slow", "--id", "my-own", "--input", '{"name": "Ada"}')
    command = ("submit", "greet", *options, *more, *named)
    first = asked(*command, folder=shop.folder)
    again = asked(*command, folder=shop.folder)
    assert first == {"id": "acme=my-own", "state": "delayed", "duplicate": False}
    assert again == {"id": "acme=my-own", "state": "delayed", "duplicate": True}
    stored = await shop.engine.describe("acme=my-own")
    assert (stored.tenant, stored.priority, stored.lane) == ("acme", -5, "slow")
    assert (stored.tags, stored.requires) == ({"shop": "east"}, ("disk", "gpu"))
    assert stored.run_at is not None
    assert stored.deadline_at is not None
    assert stored.run_at - stored.created_at == timedelta(hours=1)
    assert stored.deadline_at - stored.created_at == timedelta(hours=2)


async def test_input_is_checked_before_it_is_submitted(shop: Shop) -> None:
    """The field is named, and nothing is created; whoever knows better says so."""
    wrong = ("submit", "greet", "-i", '{"name": 7}', "--id", "unchecked", "--lane", "nobody")
    shown = holdfast(*wrong, folder=shop.folder)
    assert shown.returncode == 2
    assert "input.name: 7 is not of type 'string'" in shown.stderr
    assert asked(*wrong, "--no-check", folder=shop.folder)["id"] == "unchecked"


async def test_timeout_and_retention_reach_the_execution(shop: Shop) -> None:
    """What the task declares is not all that can be said."""
    long = ("submit", "hold", "-i", json.dumps({"gate": str(shop.folder / "never")}))
    shown = holdfast(*long, "--timeout", "500ms", "--retention", "1h", "--wait", folder=shop.folder)
    assert shown.returncode == 1
    row = await shop.engine.describe(shown.stderr.split()[1])
    assert row.error is not None
    assert row.error["type"] == "attempt_timeout"
    assert row.forget_at is not None
    assert row.completed_at is not None
    assert row.forget_at - row.completed_at == timedelta(hours=1)


async def test_retries_are_tried(shop: Shop) -> None:
    """A task that fails is tried as often as asked for."""
    lost = asked("submit", "flaky", "--retries", "1", folder=shop.folder)["id"]
    told = holdfast("result", lost, "--wait", "20", folder=shop.folder)
    assert (told.returncode, len(await shop.engine.attempts(lost))) == (1, 2)


def test_an_execution_that_failed_ends_the_command_with_1(shop: Shop) -> None:
    """One line says what failed; with --json it is an object, and its error is whole."""
    shown = holdfast("submit", "broken", "--wait", folder=shop.folder)
    assert (shown.returncode, shown.stdout) == (1, "")
    execution_id = shown.stderr.split()[1]
    line = f"holdfast: execution {execution_id} ended as failed: GiveUp: no way (execution_failed)"
    assert shown.stderr.splitlines()[1] == line
    told = holdfast("result", execution_id, "--json", folder=shop.folder)
    error = json.loads(told.stderr)["error"]
    assert (told.returncode, error["code"]) == (1, "execution_failed")
    assert error["context"]["error"]["type"] == "GiveUp"


async def test_show_has_attempts_steps_history_input_and_result(shop: Shop) -> None:
    """One screen tells the whole life, and --json has the same for programs."""
    sent = await shop.ended("send", {"to": ["a"]}, lane="mail")
    screen = done("show", sent, folder=shop.folder)
    for part in ("state       completed", 'input       {"to": ["a"]}', "result      1", "█"):
        assert part in screen
    for part in ("Attempts", "#1", "Steps", "count", "double", "History", "claimed"):
        assert part in screen
    value = asked("show", sent, folder=shop.folder)
    assert [step["name"] for step in value["steps"]] == ["count", "double"]
    assert value["attempts"][0]["outcome"] == "completed"
    assert (value["input"], value["result"]) == ({"to": ["a"]}, 1)
    assert value["history"][0]["event"] == "created"


async def test_history_prints_the_events_and_follow_to_the_end(shop: Shop) -> None:
    """With -f the command ends when the execution has ended, having shown everything once."""
    gate = shop.folder / "gate-logs"
    held = await shop.submit("hold", {"gate": str(gate)})
    with background(["history", held, "-f", "--json"], shop.folder) as follower:
        await follower.wait_for_text("created")
        gate.touch()
        assert follower.process.wait(TIMEOUT_S) == 0
    events = [json.loads(line)["event"] for line in follower.text().splitlines()]
    assert events == ["created", "claimed", "completed"]
    lines = done("history", held, folder=shop.folder).splitlines()
    assert [line.split()[2] for line in lines] == events


async def test_ctrl_c_ends_a_command_that_waits_with_130(shop: Shop) -> None:
    """Without a traceback."""
    stuck = await shop.submit("greet", lane="nobody")
    with background(["history", stuck, "--follow"], shop.folder) as follower:
        await follower.wait_for_text("created")
        assert follower.end(signal.SIGINT) == 130
    assert len(follower.text().splitlines()) == 1


async def test_ls_filters_and_pages(shop: Shop) -> None:
    """A cursor goes on where a page ended; filters combine; --all has everything."""
    ids = [await shop.submit("greet", lane="paged", tags={"n": str(n)}) for n in range(3)]
    first = asked("ls", "--lane", "paged", "--limit", "2", folder=shop.folder)
    more = ("--cursor", first["next_cursor"], "--all")
    rest = asked("ls", "--lane", "paged", *more, folder=shop.folder)
    assert [item["id"] for item in [*first["items"], *rest["items"]]] == ids[::-1]
    assert rest["next_cursor"] is None
    tagged = asked("ls", "--tag", "n=1", "--since", "1h", "--state", "waiting", folder=shop.folder)
    assert [item["id"] for item in tagged["items"]] == [ids[1]]
    table = done("ls", "--lane", "paged", folder=shop.folder)
    assert all(execution_id in table for execution_id in ids)
    assert done("ls", "--lane", "nothing-here", folder=shop.folder) == "no executions\n"


async def test_explain_says_why_in_a_sentence(shop: Shop) -> None:
    """People get the sentence, programs the holds behind it."""
    stuck = await shop.submit("greet", lane="nobody")
    sentence = "It waits for a worker: no live worker serves lane nobody.\n"
    assert done("explain", stuck, folder=shop.folder) == sentence
    value = asked("explain", stuck, folder=shop.folder)
    assert (value["state"], value["holds"][0]["type"]) == ("waiting", "no_worker")


async def test_cancel_prioritize_and_replay_change_an_execution(shop: Shop) -> None:
    """Each says what it did; a second cancel is refused with 1."""
    stuck = await shop.submit("greet", lane="nobody")
    moved = asked("prioritize", stuck, "-7", folder=shop.folder)
    assert (moved["priority"], moved["previous"]) == (-7, 0)
    cancelled = done("cancel", stuck, "--reason", "not needed", folder=shop.folder)
    assert cancelled == f"cancelled {stuck}\n"
    assert (await shop.engine.describe(stuck)).reason == "not needed"
    refused = holdfast("cancel", stuck, folder=shop.folder)
    assert refused.returncode == 1
    assert refused.stderr.endswith("(already_terminal)\n")
    assert asked("replay", stuck, folder=shop.folder) == {"id": stuck, "state": "waiting"}


async def test_replay_from_a_step_keeps_the_steps_before_it(shop: Shop) -> None:
    """The step and what follows run again; a step that does not exist is not found."""
    sent = await shop.ended("send", {"to": []}, lane="mail")
    before = await shop.engine.steps(sent)
    assert "replayed" in done("replay", sent, "--from-step", "double", folder=shop.folder)
    assert asked("result", sent, "--wait", "10", folder=shop.folder)["result"] == 0
    after = await shop.engine.steps(sent)
    assert after[0] == before[0]
    assert after[1].at > before[1].at
    assert holdfast("replay", sent, "--from-step", "no-such", folder=shop.folder).returncode == 3


async def test_revoke_takes_a_running_execution_from_its_worker(shop: Shop) -> None:
    """The history says so, and the execution runs again to its end."""
    gate = shop.folder / "gate-revoke"
    held = await shop.submit("hold", {"gate": str(gate)})
    await wait_for_file(Path(f"{gate}.started"))
    assert "revoked the lease" in done("revoke", held, "--reason", "test", folder=shop.folder)
    gate.touch()
    assert await shop.engine.result(held, timeout_s=TIMEOUT_S) == b'"released"'
    assert "lease_revoked" in [event.event for event in await shop.engine.history(held)]


async def test_result_of_an_execution_that_has_not_ended_is_not_ready(shop: Shop) -> None:
    """Without --wait it says so at once, with --wait after that time."""
    stuck = await shop.submit("greet", lane="nobody")
    for options in ((), ("--wait", "0.1")):
        shown = holdfast("result", stuck, *options, folder=shop.folder)
        assert shown.returncode == 1
        assert shown.stderr.endswith("(result_not_ready)\n")


def test_a_kind_that_nobody_has_published_is_pointed_out(shop: Shop) -> None:
    """It is accepted, since a worker may come, but a typing error is noticed."""
    shown = holdfast("submit", "gret", "--lane", "nobody", folder=shop.folder)
    assert shown.returncode == 0
    assert "no worker has published a task 'gret'; known tasks: broken, flaky" in shown.stderr


def test_lanes_are_listed_paused_resumed_drained_and_weighted(shop: Shop) -> None:
    """Without a verb they are listed."""
    folder = shop.folder
    assert done("lanes", "pause", "billing", folder=folder) == "lane billing is paused\n"
    weighted = asked("lanes", "weights", "billing", "acme=3", folder=folder)
    assert weighted["weights"] == {"acme": 3.0}
    listed = {lane["lane"]: lane for lane in asked("lanes", folder=folder)["items"]}
    assert (listed["billing"]["setting"], listed["billing"]["weights"]) == ("paused", {"acme": 3})
    assert listed["mail"]["workers"] == 1
    assert asked("lanes", "drain", "billing", folder=folder)["setting"] == "draining"
    assert "billing  draining" in done("lanes", "ls", folder=folder)
    assert done("lanes", "resume", "billing", folder=folder) == "lane billing is open\n"


def test_workers_and_tasks_are_listed(shop: Shop) -> None:
    """The worker of this store with its lanes, its tasks with their signatures."""
    (worker,) = asked("workers", folder=shop.folder)["items"]
    assert worker["lanes"] == ["default", "mail"]
    assert worker["instance"] in done("workers", "ls", folder=shop.folder)
    table = done("tasks", folder=shop.folder)
    assert "greet(name: string, times: integer = 1) -> string" in table
    assert "Greet somebody." in table
    (task,) = asked("tasks", "greet", folder=shop.folder)["items"]
    assert task["input"]["required"] == ["name"]
    page = done("tasks", "greet", folder=shop.folder)
    assert 'holdfast submit greet --input \'{"name": "text"}\' --wait' in page


async def test_top_once_shows_counts_workers_and_the_oldest(shop: Shop) -> None:
    """The numbers are those of the store."""
    await shop.submit("greet", lane="crowded")
    value = asked("top", "--once", folder=shop.folder)
    lanes = {lane["lane"]: lane["counts"] for lane in value["lanes"]}
    assert lanes["crowded"] == {"waiting": 1}
    assert len(value["workers"]) == 1
    assert value["oldest_waiting"]["state"] == "waiting"
    screen = done("top", "--once", folder=shop.folder)
    assert "oldest waiting:" in screen
    assert value["workers"][0]["instance"] in screen


async def test_bench_measures_and_leaves_nothing_behind(shop: Shop) -> None:
    """Rates are positive and the lane of the bench is gone."""
    found = asked("bench", "--count", "200", folder=shop.folder)["items"]
    assert [rate["what"] for rate in found] == ["submit", "claim and complete"]
    assert all(rate["count"] == 200 and rate["per_second"] > 0 for rate in found)
    counts = await shop.engine.count()
    assert not [cell for cell in counts if cell.lane.startswith("bench")]


def test_a_reader_that_leaves_early_gets_no_traceback(shop: Shop) -> None:
    """What a pipe does to `holdfast ... | head` is quiet."""
    with subprocess.Popen(
        [COMMAND, "tasks", "greet"],
        cwd=shop.folder,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as reader:
        assert reader.stdout is not None
        assert reader.stderr is not None
        reader.stdout.close()
        assert reader.stderr.read() == ""
    assert reader.returncode == 1


def test_the_shell_completes_commands_and_options(tmp_path: Path) -> None:
    """Typer's completion works for what is installed."""
    words = {"_HOLDFAST_COMPLETE": "complete_bash", "COMP_WORDS": "holdfast su", "COMP_CWORD": "1"}
    assert holdfast(folder=tmp_path, **words).stdout.split() == ["submit"]
    words |= {"COMP_WORDS": "holdfast ls --st", "COMP_CWORD": "2"}
    assert holdfast(folder=tmp_path, **words).stdout.split() == ["--state", "--store"]
