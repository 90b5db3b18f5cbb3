"""Connections that end, hang or move: what callers learn, and that calls and channels go on."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from holdfast.errors import StoreUnavailable
from holdfast.store.valkey.client import Client
from holdfast.store.valkey.cluster import Cluster, slot_of
from holdfast.store.valkey.failures import CallFailed
from holdfast.store.valkey.node import Node
from holdfast.store.valkey.urls import StoreUrl
from holdfast.store.valkey.wire import Dial
from holdfast.testing.polling import wait_for
from holdfast.testing.servers import TestServer

Handle = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@contextlib.asynccontextmanager
async def connected(
    port: int, *, timeout_ms: int = 5_000, tls: bool = False
) -> AsyncIterator[Client]:
    """Connect to a server on loopback."""
    url = StoreUrl(addresses=(("127.0.0.1", port),), tls=tls)
    client = await Client.connect(url, timeout_ms=5_000, try_timeout_ms=timeout_ms)
    try:
        yield client
    finally:
        await client.close()


@contextlib.asynccontextmanager
async def serving(handle: Handle, context: ssl.SSLContext | None = None) -> AsyncIterator[int]:
    """Serve connections in this process; yields the port."""
    server = await asyncio.start_server(handle, "127.0.0.1", 0, ssl=context)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()


def forwarding(port: int) -> Handle:
    """Return what connects a caller with the server on a port."""

    async def copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while data := await reader.read(65_536):
                writer.write(data)
        finally:
            writer.close()

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        inner_reader, inner_writer = await asyncio.open_connection("127.0.0.1", port)
        with contextlib.suppress(ConnectionError, ssl.SSLError):
            await asyncio.gather(copy(reader, inner_writer), copy(inner_reader, writer))

    return handle


async def kill(client: Client, kind: str) -> None:
    """Cut the connections of a kind from the side of the servers."""
    with contextlib.suppress(CallFailed):
        await client.on_primaries(["CLIENT", "KILL", "TYPE", kind, "SKIPME", "no"])


async def test_a_call_under_way_may_have_happened_when_its_connection_ends(
    single_server: TestServer,
) -> None:
    """The caller learns just that, and the next call has a new connection."""
    async with connected(single_server.port) as client, connected(single_server.port) as other:
        waiting = asyncio.ensure_future(client.call(["BLPOP", "nothing", "0"]))

        async def is_blocked() -> bool:
            return b"blocked_clients:1" in await other.call(["INFO", "clients"])

        await wait_for(is_blocked)
        identities = await other.call(["CLIENT", "LIST"])
        blocked = next(line for line in identities.split(b"\n") if b"cmd=blpop" in line)
        await other.call(["CLIENT", "KILL", "ID", blocked.split()[0].removeprefix(b"id=")])
        with pytest.raises(CallFailed) as failed:
            await waiting
        assert (failed.value.sent, failed.value.answered) == (True, False)
        assert await client.call(["ECHO", "after"]) == b"after"


async def test_a_server_that_stops_answering_is_left(single_server: TestServer) -> None:
    """Its calls end in time, as ones that may have happened."""
    async with connected(single_server.port, timeout_ms=100) as client:
        with pytest.raises(CallFailed, match="no answer within") as failed:
            await client.call(["BLPOP", "nothing", "0"])
        assert failed.value.sent
        assert await client.call(["ECHO", "after"]) == b"after"


async def test_calls_that_were_not_sent_survive_a_lost_connection(
    single_server: TestServer,
) -> None:
    """More calls than may be under way: those behind them use the next connection."""
    async with connected(single_server.port) as client:
        calls = [asyncio.ensure_future(client.call(["ECHO", str(n)])) for n in range(3_000)]
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        client._source._wire.close("cut")  # type: ignore[union-attr]
        replies = await asyncio.gather(*calls, return_exceptions=True)
    lost = [reply for reply in replies if isinstance(reply, CallFailed)]
    assert 0 < len(lost) <= 1_024
    assert all(failure.sent for failure in lost)
    assert replies[-1] == b"2999"


async def test_a_server_that_does_not_speak_the_protocol_is_refused() -> None:
    """A web server, for instance."""

    async def chatter(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        writer.close()

    async with serving(chatter) as port:
        with pytest.raises(StoreUnavailable):
            async with connected(port):
                pass


async def test_a_server_that_comes_back_is_found_by_the_next_calls(
    single_server: TestServer,
) -> None:
    """While it is away, calls fail immediately, and certainly did not happen."""
    async with serving(forwarding(single_server.port)) as port, connected(port) as client:
        assert await client.call(["PING"]) == b"PONG"
        places = client._source
        assert not isinstance(places, Cluster)
        places.address = ("127.0.0.1", 1)
        places._wire.close("cut")  # type: ignore[union-attr]

        async def is_away() -> bool:
            return places._wire is None

        await wait_for(is_away)
        for _ in range(2):
            with pytest.raises(CallFailed) as failed:
                await client.call(["PING"])
            assert not failed.value.sent
        places.address = ("127.0.0.1", port)

        async def answers() -> bool:
            with contextlib.suppress(CallFailed):
                return bool(await client.call(["PING"]))
            return False

        await wait_for(answers)


async def test_tls_checks_the_certificate(
    single_server: TestServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server whose certificate this machine trusts is used; others are not."""
    certificate, key = _certificate(tmp_path)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate, key)
    async with serving(forwarding(single_server.port), context) as port:
        with pytest.raises(StoreUnavailable):
            async with connected(port, tls=True):
                pass
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
        async with connected(port, tls=True) as client:
            assert await client.call(["ECHO", "safe"]) == b"safe"


def _certificate(folder: Path) -> tuple[Path, Path]:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False
        )
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    paths = folder / "certificate.pem", folder / "key.pem"
    paths[0].write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    paths[1].write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    return paths


@pytest.mark.parametrize("kind", ["single", "cluster"])
async def test_channels_survive_their_connections(
    kind: str, single_client: Client, cluster_client: Client
) -> None:
    """A listener whose connection the server cuts hears the next messages."""
    client, verb = (single_client, "PUBLISH") if kind == "single" else (cluster_client, "SPUBLISH")
    heard: list[str] = []
    channels = [f"{{{kind}{number}}}:news" for number in range(6)]
    await client.subscribe(dict.fromkeys(channels, heard.append))
    try:
        await kill(client, "pubsub")

        async def all_heard() -> bool:
            for number, channel in enumerate(channels):
                await client.call([verb, channel, str(number)])
            return set(heard) == {"0", "1", "2", "3", "4", "5"}

        await wait_for(all_heard)
        await client.unsubscribe(channels)

        async def is_silent() -> bool:
            return not any([await client.call([verb, channel, "x"]) for channel in channels])

        await wait_for(is_silent)
    finally:
        await client.unsubscribe(channels)


async def test_slots_are_those_of_the_server(single_client: Client) -> None:
    """Tags in braces count; empty and unclosed ones do not."""
    keys = ["plain", "{tag}:x", "a{tag}b", "{}x", "{open", "x}{y}", "{a}{b}", "é", "", "{hf:p3}:x"]
    for key in keys:
        assert slot_of(key) == await single_client.call(["CLUSTER", "KEYSLOT", key])


@pytest.fixture
def cluster(cluster_client: Client) -> Cluster:
    """The servers that the client knows."""
    assert isinstance(cluster_client._source, Cluster)
    return cluster_client._source


async def test_a_call_follows_a_slot_that_has_moved(
    cluster_client: Client, cluster: Cluster
) -> None:
    """The client believed another server, and learns better from its answer."""
    await cluster_client.call(["SET", "{moved}", "1"])
    slot = slot_of("{moved}")
    owner = cluster._owners[slot]
    cluster._owners[slot] = next(node for node in cluster._owners if node is not owner)
    assert await cluster_client.call(["GET", "{moved}"]) == b"1"
    assert cluster._owners[slot] is owner


async def test_a_call_does_not_follow_a_slot_that_is_moving(
    cluster_client: Client, cluster: Cluster
) -> None:
    """The new server may have a part of the keys; the caller tries again until the move ends."""
    slot = slot_of("{moving}")
    owner = cluster._owners[slot]
    other = next(node for node in cluster._owners if node is not owner)
    assert owner is not None
    assert other is not None
    names = [(await node.call(["CLUSTER", "MYID"])).decode() for node in (owner, other)]
    await other.call(["CLUSTER", "SETSLOT", str(slot), "IMPORTING", names[0]])
    await owner.call(["CLUSTER", "SETSLOT", str(slot), "MIGRATING", names[1]])
    try:
        with pytest.raises(CallFailed, match="ASK"):
            await cluster_client.call(["SET", "{moving}:new", "1"])
        assert await other.call(["CLUSTER", "COUNTKEYSINSLOT", str(slot)]) == 0
    finally:
        for node in (other, owner):
            await node.call(["CLUSTER", "SETSLOT", str(slot), "STABLE"])
    await cluster_client.call(["SET", "{moving}:new", "1"])
    await cluster_client.call(["DEL", "{moving}:new"])


async def test_channels_follow_a_slot_that_has_moved(
    cluster_client: Client, cluster: Cluster
) -> None:
    """The server that loses the slot ends the subscription; the client asks the next one."""
    channel = "{wandering}:news"
    slot = slot_of(channel)
    owner = cluster._owners[slot]
    other = next(node for node in cluster._owners if node is not owner)
    assert owner is not None
    assert other is not None
    name = (await other.call(["CLUSTER", "MYID"])).decode()
    heard: list[str] = []
    await cluster_client.subscribe({channel: heard.append})
    home = (await owner.call(["CLUSTER", "MYID"])).decode()
    try:
        for node in (other, owner):
            await node.call(["CLUSTER", "SETSLOT", str(slot), "NODE", name])

        async def is_heard() -> bool:
            with contextlib.suppress(CallFailed):
                await cluster_client.call(["SPUBLISH", channel, "after"])
            return "after" in heard

        await wait_for(is_heard)
    finally:
        for node in (owner, other):
            await node.call(["CLUSTER", "SETSLOT", str(slot), "NODE", home])
        await cluster_client.unsubscribe([channel])


async def test_an_odd_host_name_is_an_answer() -> None:
    """Whatever keeps a connection from being opened, its calls fail in time."""
    dial = Dial(tls=False, username=None, password=None, connect_timeout_s=1, timeout_s=1)
    node = Node(("a" * 80 + ".example", 6379), dial)
    with pytest.raises(CallFailed):
        await asyncio.wait_for(node.call(("PING",)), 5)
    await node.close()
