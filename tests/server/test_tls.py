"""TLS: a real server with a certificate of a private CA, and those who call it."""

from __future__ import annotations

import asyncio
import re
import ssl
from pathlib import Path

import httpx
import pytest

from holdfast.client import Client
from holdfast.errors import InvalidInput, StoreIncompatible
from holdfast.server.http import tls
from holdfast.testing.servers import TestServer
from tests.acceptance.processes import python
from tests.support.certificates import Certificates, make_certificates
from tests.support.http_servers import server_process


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return make_certificates(tmp_path_factory.mktemp("tls"))


@pytest.fixture(scope="module")
def wrong(made: Certificates) -> dict[str, Path]:
    """Files by what is wrong with them."""
    folder = made.ca.parent
    (folder / "junk.pem").write_text("not a certificate, and no key")
    other = folder / "other"
    other.mkdir()
    return {
        "a certificate": made.certificate,
        "a key": made.key,
        "nothing": folder / "nothing.pem",
        "a folder": other,
        "junk": folder / "junk.pem",
        "a key of another": make_certificates(other).key,
        "a locked key": made.locked_key,
    }


async def test_calls_over_tls(
    real_server: TestServer,
    made: Certificates,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With the CA they are answered; without, and without TLS, they fail, and nobody breaks."""
    store = f"valkey://127.0.0.1:{real_server.port}?prefix=tls"
    files = ("--tls-cert", str(made.certificate), "--tls-key", str(made.key))
    async with server_process(store, tmp_path, *files) as (url, _):
        assert url.startswith("https://")
        trusting = ssl.create_default_context(cafile=made.ca)
        async with httpx.AsyncClient(base_url=url, verify=trusting) as client:
            assert (await client.get("/readyz")).json() == {"status": "ready"}

            async with httpx.AsyncClient(base_url=url.replace("https:", "http:")) as plain:
                with pytest.raises(httpx.RemoteProtocolError):
                    await plain.get("/healthz")
            async with Client(url) as stranger:
                with pytest.raises(StoreIncompatible, match=r"not trusted.*SSL_CERT_FILE"):
                    await stranger.submit("work")

            monkeypatch.setenv("SSL_CERT_FILE", str(made.ca))
            async with Client(url) as far:
                submitted = await far.submit("work")
                shown = await asyncio.to_thread(_holdfast, tmp_path, "show", submitted.id, url)
            assert shown == (0, "")
            found = await client.get(f"/v1/executions/{submitted.id}")
            assert found.json()["state"] == "waiting"
    assert "Traceback" not in (tmp_path / "server.log").read_text()


def _holdfast(folder: Path, command: str, argument: str, store: str) -> tuple[int, str]:
    done = python("-m", "holdfast.cli", command, argument, "--store", store, folder=folder)
    return done.returncode, done.stderr


@pytest.mark.parametrize(
    ("certificate", "key", "told"),
    [
        ("nothing", "a key", "tls-cert: {certificate} cannot be read: No such file"),
        ("a folder", "a key", "tls-cert: {certificate} cannot be read: Is a directory"),
        ("junk", "a key", "tls-cert: {certificate} is not a PEM certificate"),
        ("a key", "a certificate", "tls-cert: {certificate} is not a PEM certificate"),
        ("a certificate", "nothing", "tls-key: {key} cannot be read: No such file"),
        ("a certificate", "junk", "tls-key: {key} is not a PEM key without a password"),
        ("a certificate", "a locked key", "tls-key: {key} is not a PEM key without a password"),
        ("a certificate", "a key of another", "tls-key: {key} is not the key of {certificate}"),
    ],
)
def test_files_that_do_not_do(
    wrong: dict[str, Path], certificate: str, key: str, told: str
) -> None:
    """Each is told what is wrong with it."""
    files = {"certificate": wrong[certificate], "key": wrong[key]}
    with pytest.raises(InvalidInput, match=re.escape(told.format(**files))):
        tls.check(**files)


def test_wrong_files_stop_the_server(wrong: dict[str, Path], tmp_path: Path) -> None:
    """In one line, before the store is opened."""
    code, said = _serve(tmp_path, "127.0.0.1:0", wrong["a certificate"], wrong["a key of another"])
    assert (code, said.count("\n")) == (2, 1), said
    assert "is not the key of" in said
    assert not (tmp_path / "store").exists()


def test_tls_does_not_replace_keys(made: Certificates, tmp_path: Path) -> None:
    """A public address is refused without an API key, certificate or not."""
    code, said = _serve(tmp_path, "0.0.0.0:0", made.certificate, made.key)
    assert code == 4
    assert "holdfast keys create --role admin" in said.splitlines()[-1]


def _serve(folder: Path, listen: str, certificate: Path, key: Path) -> tuple[int, str]:
    done = python(
        *("-m", "holdfast.cli", "server", "--listen", listen, "--log-level", "error"),
        *("--store", f"embedded://{folder / 'store'}"),
        *("--tls-cert", str(certificate), "--tls-key", str(key)),
        folder=folder,
    )
    return done.returncode, done.stderr
