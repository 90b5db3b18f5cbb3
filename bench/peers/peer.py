"""The peers: what each needs, how it submits, and how its users start a worker."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).parent
PROGRAMS = HERE / "programs"


@dataclass(frozen=True, slots=True)
class Peer:
    """A queue or an engine; its commands are files of its folder, or commands that it installs."""

    name: str
    program: tuple[str, ...]
    work: tuple[str, ...]
    needs: tuple[str, ...] = ()
    #: How many tasks a measurement takes: slow ones take fewer.
    share: float = 1.0
    fsync: str = "everysec"
    folder: Path = field(default=PROGRAMS)
    #: Where it keeps its tasks.
    store: str = "redis://127.0.0.1:{port}/0"
    #: The command of a server of its own, which must be installed; it listens on the port.
    server: tuple[str, ...] = ()
    #: The end is when the store has every result, not when the last task ran.
    settles: bool = False

    def submit(self, python: Path, count: int) -> list[str]:
        """Return the command that submits tasks."""
        first, *rest = self.program
        return [*_command(first, python), str(count), *rest]

    def worker(self, python: Path, store: str) -> list[str]:
        """Return the command of its worker."""
        first, *rest = self.work
        return [*_command(first, python), *(word.format(store=store) for word in rest)]


def _command(word: str, python: Path) -> list[str]:
    if word.endswith(".mjs"):
        return ["node", word]
    if word.endswith(".py"):
        return [str(python), word]
    return [str(python.parent / word)]


def _holdfast(name: str, task: str, fsync: str) -> Peer:
    return Peer(
        name,
        ("holdfast_tasks.py", task),
        ("holdfast", "worker", "holdfast_tasks:app", "--slots", "400", "--log-level", "error"),
        fsync=fsync,
        store="valkey://127.0.0.1:{port}",
        settles=True,
    )


#: Fast ones first.
PEERS = (
    _holdfast("Holdfast", "nothing", "always"),
    _holdfast("Holdfast, everysec", "nothing", "everysec"),
    _holdfast("Holdfast, one step", "stepping", "always"),
    Peer("BullMQ", ("producer.mjs",), ("worker.mjs",), ("bullmq",), folder=HERE / "bullmq"),
    Peer(
        "Dramatiq",
        ("dramatiq_tasks.py",),
        ("dramatiq", "dramatiq_tasks", "--processes", "1"),
        ("dramatiq[redis]>=2.2,<3",),
        share=0.5,
    ),
    Peer(
        "taskiq",
        ("taskiq_tasks.py",),
        ("taskiq", "worker", "taskiq_tasks:broker", "--workers", "1"),
        ("taskiq>=0.13,<1", "taskiq-redis>=1.2,<2"),
        share=0.5,
    ),
    Peer(
        "SAQ",
        ("saq_tasks.py",),
        ("saq", "saq_tasks.settings"),
        ("saq[redis,hiredis]>=0.26,<1", "typing_extensions"),
        share=0.5,
    ),
    Peer("arq", ("arq_tasks.py",), ("arq", "arq_tasks.WorkerSettings"), ("arq>=0.28,<1",), 0.5),
    Peer(
        "Celery",
        ("celery_tasks.py",),
        ("celery", "-A", "celery_tasks", "worker", "--loglevel", "ERROR"),
        ("celery[redis]>=5.7,<6",),
        share=0.5,
    ),
    Peer("RQ", ("rq_tasks.py",), ("rq", "worker", "--url", "{store}"), ("rq>=2.12,<3",), 0.1),
    Peer(
        "DBOS",
        ("dbos_tasks.py",),
        ("dbos_tasks.py", "worker"),
        ("dbos>=3.3,<4",),
        share=0.05,
        store="sqlite:///{folder}/bench.sqlite",
    ),
    Peer(
        "Temporal",
        ("temporal_tasks.py",),
        ("temporal_tasks.py", "worker"),
        ("temporalio>=1.7,<2",),
        share=0.05,
        store="127.0.0.1:{port}",
        server=(
            *("temporal", "server", "start-dev", "--headless", "--port", "{port}"),
            *("--db-filename", "{folder}/temporal.sqlite", "--log-level", "error"),
        ),
    ),
)
