# ruff: noqa: D102 - the methods are those of the protocol
"""Object stores for tests: all kinds behind one fixture, an S3 server, and a store with faults."""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field

import boto3
from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import make_server

from holdfast.errors import BackendFailed
from holdfast.fencing.cloud import RemoteObjects
from holdfast.fencing.memory import MemoryObjects
from holdfast.fencing.objects import Entry, Stored
from holdfast.model.writer_leases import Version

BUCKET = "fencing-tests"
_KEYS = {"access_key_id": "test", "secret_access_key": "test", "region": "us-east-1"}


@contextlib.contextmanager
def start_s3() -> Iterator[str]:
    """Run an S3 server with a bucket; yields its address.

    One request at a time, so that comparing and writing are surely one step.
    """
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    app = DomainDispatcherApplication(create_backend_app)
    server = make_server("127.0.0.1", 0, app, threaded=False)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    address = f"http://127.0.0.1:{server.server_port}"
    client = boto3.client(
        "s3",
        endpoint_url=address,
        aws_access_key_id="test",
        aws_secret_access_key="test",  # noqa: S106 - of the server above
        region_name="us-east-1",
    )
    client.create_bucket(Bucket=BUCKET)
    try:
        yield address
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def s3_objects(address: str, prefix: str) -> RemoteObjects:
    """Return the objects under a prefix of the test bucket."""
    return RemoteObjects(f"s3://{BUCKET}/{prefix}", options={"endpoint": address, **_KEYS})


@dataclass
class Fault:
    """What goes wrong at a call: before its effect, after it, or with an effect that comes late."""

    verb: str
    when: str
    #: How many calls of the verb pass first.
    after: int = 0


@dataclass
class FaultyObjects:
    """Objects in memory whose calls fail as told."""

    inner: MemoryObjects = field(default_factory=MemoryObjects)
    faults: list[Fault] = field(default_factory=list)
    calls: list[tuple[str, str]] = field(default_factory=list)
    #: What was given up and is still on its way.
    late: list[tuple[str, bytes]] = field(default_factory=list)
    #: Called before every effect, to let others act in between.
    before: Callable[[str, str], None] | None = None
    name: str = "faulty"

    __hash__ = object.__hash__

    def _fault(self, verb: str, when: str) -> None:
        for fault in self.faults:
            if (fault.verb, fault.when) == (verb, when):
                if fault.after:
                    fault.after -= 1
                else:
                    self.faults.remove(fault)
                    raise BackendFailed(f"{verb} failed {when}", maybe_done=when != "unsent")
                return

    def _start(self, verb: str, key: str) -> None:
        self.calls.append((verb, key))
        if self.before is not None:
            self.before(verb, key)
        self._fault(verb, "unsent")
        self._fault(verb, "before")

    async def get(self, key: str) -> Stored | None:
        self._start("get", key)
        return await self.inner.get(key)

    async def get_range(self, key: str, start: int, length: int) -> bytes | None:
        self._start("get_range", key)
        return await self.inner.get_range(key, start, length)

    async def put_if_absent(self, key: str, body: bytes) -> Version:
        self._start("put", key)
        try:
            self._fault("put", "late")
        except BackendFailed:
            self.late.append((key, body))
            raise
        version = await self.inner.put_if_absent(key, body)
        self._fault("put", "after")
        return version

    async def land(self) -> None:
        """Let what is on its way arrive."""
        for key, body in self.late:
            await self.inner.put_if_absent(key, body)

    async def put_if_version(self, key: str, body: bytes, version: Version) -> Version:
        self._start("put", key)
        new = await self.inner.put_if_version(key, body, version)
        self._fault("put", "after")
        return new

    async def delete(self, key: str) -> None:
        self._start("delete", key)
        await self.inner.delete(key)
        self._fault("delete", "after")

    async def list(self, prefix: str) -> AsyncIterator[Entry]:
        self._start("list", prefix)
        async for entry in self.inner.list(prefix):
            yield entry
            self._fault("list", "after")


class FakeTimes:
    """Clocks that move when told; sleeping moves them."""

    def __init__(self, wall_ms: int = 1_700_000_000_000) -> None:
        self.now_ms: float = 1_000_000.0
        self.offset_ms: int = wall_ms - 1_000_000

    def monotonic_ms(self) -> float:
        return self.now_ms

    def wall_ms(self) -> int:
        return int(self.now_ms) + self.offset_ms

    async def sleep(self, ms: float) -> None:
        self.now_ms += ms
