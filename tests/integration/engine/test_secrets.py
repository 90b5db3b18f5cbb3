"""Secrets from end to end: sealed at rest, by keys that change, for one tenant only."""

from __future__ import annotations

import logging

import pytest

from holdfast.engine.engine import Engine
from holdfast.engine.secrets import SEALING_KEYS_VARIABLE, Secrets
from holdfast.errors import InvalidInput, SecretNotFound, SecretUnreadable, TooLarge
from holdfast.model.secrets import SecretRef
from tests.support.lifecycle import Dump

VALUE = "pa55word-that-nobody-reads"
KEY_A, KEY_B = "a1:" + "0a" * 32, "b2:" + "0b" * 32
REF = SecretRef(name="api_key", tenant="acme", env="prod")


async def _set(secrets: Secrets, value: str = VALUE) -> str:
    return (await secrets.set("api_key", value, tenant="acme", env="prod")).kid


async def _reveal(secrets: Secrets) -> str:
    return await secrets.reveal("api_key", tenant="acme", env="prod")


async def test_a_dump_of_the_store_holds_no_plaintext(
    engine: Engine, dump: Dump, caplog: pytest.LogCaptureFixture
) -> None:
    """Neither keys nor lists nor logs hold a value; a process that has the store reads it."""
    caplog.set_level(logging.DEBUG)
    await engine.secrets.set("api_key", VALUE, tenant="acme", env="prod")
    assert await engine.secrets.reveal("api_key", tenant="acme", env="prod") == VALUE
    listed = await engine.secrets.list(tenant="acme", env="prod")
    shown = repr(dump()) + repr(listed) + caplog.text
    assert VALUE not in shown
    assert VALUE.encode().hex() not in shown
    assert "api_key" in shown


async def test_the_same_value_is_never_sealed_alike(engine: Engine) -> None:
    """Equal secrets cannot be recognized."""
    sealed = set()
    for _ in range(2):
        await engine.secrets.set("api_key", VALUE, tenant="acme", env="prod")
        sealed.add((await engine.store.secrets.get(REF))[1])
    assert len(sealed) == 2


async def test_a_sealed_value_opens_in_its_place_only(engine: Engine) -> None:
    """Moved to another tenant, env or name, or altered, it is unreadable."""
    kid = await _set(Secrets(engine.store))
    _, sealed = await engine.store.secrets.get(REF)
    for name, tenant, env in (
        ("api_key", "other", "prod"),
        ("api_key", "acme", "local"),
        ("key", "acme", "prod"),
    ):
        ref = SecretRef(name=name, tenant=tenant, env=env)
        await engine.store.secrets.set(ref, kid, sealed)
        with pytest.raises(SecretUnreadable):
            await engine.secrets.reveal(name, tenant=tenant, env=env)
    for damaged in (sealed[:-1], sealed[:5], b"", sealed[:-1] + bytes([sealed[-1] ^ 1])):
        await engine.store.secrets.set(REF, kid, damaged)
        with pytest.raises(SecretUnreadable) as error:
            await engine.secrets.reveal("api_key", tenant="acme", env="prod")
        assert VALUE not in str(error.value)


async def test_rotation_seals_again_when_a_secret_is_read(engine: Engine) -> None:
    """The old key opens what it sealed; readers, also of another process, move it to the new."""
    secrets, other = Secrets(engine.store), Secrets(engine.store)
    old = await _set(secrets)
    assert await _reveal(other) == VALUE
    new = await secrets.rotate()
    assert new != old
    assert (await engine.store.secrets.get(REF))[0] == old
    assert await _reveal(secrets) == VALUE
    assert (await engine.store.secrets.get(REF))[0] == new
    # A process that has not heard of the rotation reads the keys again.
    assert await _reveal(other) == VALUE
    assert await _set(other, "another") == new


async def test_keys_of_the_environment_are_not_in_the_store(
    engine: Engine, dump: Dump, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They seal, take over what the store's keys sealed, and are rotated by their order."""
    kept = await _set(Secrets(engine.store))
    monkeypatch.setenv(SEALING_KEYS_VARIABLE, KEY_A)
    assert await _reveal(Secrets(engine.store)) == VALUE
    assert (await engine.store.secrets.get(REF))[0] == "a1" != kept
    assert "0a" * 32 not in repr(dump())
    with pytest.raises(InvalidInput):
        await Secrets(engine.store).rotate()
    monkeypatch.setenv(SEALING_KEYS_VARIABLE, f"{KEY_B}, {KEY_A}")
    assert await _reveal(Secrets(engine.store)) == VALUE
    monkeypatch.setenv(SEALING_KEYS_VARIABLE, KEY_B)
    assert await _reveal(Secrets(engine.store)) == VALUE
    monkeypatch.setenv(SEALING_KEYS_VARIABLE, KEY_A)
    with pytest.raises(SecretUnreadable, match="b2"):
        await _reveal(Secrets(engine.store))
    monkeypatch.setenv(SEALING_KEYS_VARIABLE, KEY_B.replace("0b", "0c"))
    with pytest.raises(SecretUnreadable):
        await _reveal(Secrets(engine.store))


@pytest.mark.parametrize("text", ["secret", "a1:zz", "a1:0a", f"{KEY_A},{KEY_A}", ":00", ","])
async def test_a_wrong_variable_is_an_error_that_shows_no_key(
    engine: Engine, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is sealed with a key that was not meant."""
    monkeypatch.setenv(SEALING_KEYS_VARIABLE, text)
    with pytest.raises(InvalidInput) as error:
        await _set(Secrets(engine.store))
    assert "0a0a" not in str(error.value)


async def test_values_and_names_are_checked(engine: Engine) -> None:
    """An error names the field and never shows the value."""
    for value in ("", "a\0b", "\ud800", 17, None):
        with pytest.raises(InvalidInput):
            await engine.secrets.set("api_key", value)  # type: ignore[arg-type]
    with pytest.raises(TooLarge) as error:
        await engine.secrets.set("api_key", VALUE * 1_000)
    assert VALUE not in str(error.value)
    for name in ("", "a b", "a|b", "a/b", "x" * 300):
        with pytest.raises(InvalidInput):
            await engine.secrets.set(name, VALUE)
        with pytest.raises(InvalidInput):
            await engine.secrets.list(tenant=name)
        with pytest.raises(InvalidInput):
            await engine.secrets.reveal("api_key", env=name)


async def test_a_deleted_secret_is_gone(engine: Engine) -> None:
    """Reading and deleting it again say so."""
    await engine.secrets.set("api_key", VALUE)
    await engine.secrets.delete("api_key")
    with pytest.raises(SecretNotFound):
        await engine.secrets.reveal("api_key")
    with pytest.raises(SecretNotFound):
        await engine.secrets.delete("api_key")
