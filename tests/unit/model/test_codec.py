"""Codecs and sealed payloads: what opens where, with which key."""

from __future__ import annotations

import base64

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.errors import InvalidInput, PayloadUnreadable
from holdfast.model import codec, references
from holdfast.model.codec import AesGcm
from holdfast.model.executions import NewExecution
from holdfast.model.sealing import MARK, Sealing, is_sealed, kids_in

OLD, NEW = b"o" * 32, b"n" * 32
KEY = base64.b64encode(OLD).decode()
SEALING = Sealing(AesGcm({"k1": OLD}))
FORMS = pytest.mark.parametrize("seal", [SEALING.seal, SEALING.seal_token])


@given(st.binary())
def test_what_is_sealed_opens_where_it_belongs(payload: bytes) -> None:
    """In both forms, and never twice in the same way."""
    for seal in (SEALING.seal, SEALING.seal_token):
        sealed = seal(payload, "step", "x")
        assert sealed != seal(payload, "step", "x")
        assert is_sealed(sealed)
        assert list(kids_in(sealed)) == ["k1"]
        assert SEALING.open(sealed, step="x", result="y") == payload


@FORMS
def test_a_payload_that_was_moved_does_not_open(seal: codec.Codec) -> None:
    """Neither in another field, nor of another execution."""
    sealed = seal(b"secret", "step", "x")  # type: ignore[operator]
    with pytest.raises(PayloadUnreadable, match="sealed as step"):
        SEALING.open(sealed, result="x")
    with pytest.raises(PayloadUnreadable, match="altered or moved"):
        SEALING.open(sealed, step="y")
    forged = MARK + b"\x06result" + SEALING.seal(b"secret", "step", "x")[len(MARK) + 5 :]
    with pytest.raises(PayloadUnreadable, match="altered or moved"):
        SEALING.open(forged, result="x")


def test_every_altered_byte_is_noticed() -> None:
    """Except in the marker, without which it is not a sealed payload."""
    sealed = SEALING.seal(b"secret", "step", "x")
    for place in range(len(MARK), len(sealed)):
        altered = bytearray(sealed)
        altered[place] ^= 1
        with pytest.raises(PayloadUnreadable):
            SEALING.open(bytes(altered), step="x")
    for length in range(len(MARK), len(sealed)):
        with pytest.raises(PayloadUnreadable):
            SEALING.open(sealed[:length], step="x")
    with pytest.raises(PayloadUnreadable, match="no base64"):
        SEALING.open(b"\x01hf1:A\x01", step="x")


def test_keys_are_rotated() -> None:
    """The first one seals, all of them open; one that is not here is named."""
    old, both = SEALING, Sealing(AesGcm({"k2": NEW, "k1": OLD}))
    assert both.open(old.seal(b"secret", "step", "x"), step="x") == b"secret"
    sealed = both.seal(b"secret", "step", "x")
    assert list(kids_in(sealed)) == ["k2"]
    for other in (old, Sealing(None)):
        with pytest.raises(PayloadUnreadable, match="k2, which is not here") as error:
            other.open(sealed, step="x")
        assert error.value.context == {"kid": "k2"}
    with pytest.raises(PayloadUnreadable, match="the key k2 is another one"):
        Sealing(AesGcm({"k2": OLD})).open(sealed, step="x")


def test_tokens_open_inside_a_text() -> None:
    """As the store puts messages into the input of a conversation."""
    first, second = (SEALING.seal_token(text, "message", "s") for text in (b'{"a":1}', b"[]"))
    text = b'{"messages":[{"payload":' + first + b'},{"payload":' + second + b"}]}"
    assert SEALING.open(text, message="s") == b'{"messages":[{"payload":{"a":1}},{"payload":[]}]}'


def test_without_a_codec_everything_stays() -> None:
    """What was stored before there was one is readable with one."""
    plain = Sealing(None)
    assert plain.seal(b"x", "step", "x") == plain.seal_token(b"x", "step", "x") == b"x"
    assert plain.seal_text("x", "note", "x") == "x"
    assert plain.digests("d") == ("d",)
    assert SEALING.open(b"x", step="x") == b"x"
    error = {"type": "E", "message": "m"}
    assert SEALING.open_error(error, "x") == error


def test_a_codec_that_only_opens() -> None:
    """For the time in which some processes have no keys yet, or no more."""
    opening = Sealing(AesGcm({"k1": OLD}, seals=False))
    assert opening.seal(b"x", "step", "x") == opening.seal_token(b"x", "step", "x") == b"x"
    assert opening.open(SEALING.seal(b"secret", "step", "x"), step="x") == b"secret"
    assert opening.digests("d") == ("d", *SEALING.digests("d")[:1])


def test_an_error_keeps_its_type() -> None:
    """Everything else of it is sealed; without the key, its message says so."""
    sealed = SEALING.seal_error(b'{"type":"E","message":"secret","details":{"a":1}}', "x")
    assert b"secret" not in sealed
    stored = msgspec.json.decode(sealed)
    assert SEALING.open_error(stored, "x") == {
        "type": "E",
        "message": "secret",
        "details": {"a": 1},
    }
    unread = Sealing(None).open_error(stored, "x")
    assert unread["type"] == "E"
    assert "k1, which is not here" in unread["message"]


def test_digests_are_made_with_each_key() -> None:
    """So that repetitions are recognised after a rotation, and nobody can guess."""
    both = Sealing(AesGcm({"k2": NEW, "k1": OLD}))
    assert both.digests("d")[1] == SEALING.digests("d")[0]
    assert both.digests("d")[-1] == "d"
    assert len({*both.digests("d")}) == 3


@pytest.mark.parametrize("mark", [MARK, references.TOKEN])
def test_nobody_can_pretend(mark: bytes) -> None:
    """An input from outside does not look like a sealed one."""
    with pytest.raises(InvalidInput, match="reserved marker of sealed payloads"):
        NewExecution(kind="k", input=mark + b"x")


def test_keys_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """KID:BASE64, several separated by commas; the first one seals."""
    monkeypatch.delenv(codec.KEYS_VARIABLE, raising=False)
    assert codec.of_environment() is None
    keys = ",".join([codec.new_key("k2"), codec.new_key()])
    monkeypatch.setenv(codec.KEYS_VARIABLE, f" {keys} ")
    found = codec.of_environment()
    assert found is not None
    assert (found.kids[0], found.seals) == ("k2", True)
    monkeypatch.setenv(codec.KEYS_VARIABLE, f"plain,{keys}")
    found = codec.of_environment()
    assert found is not None
    assert (found.kids[0], found.seals) == ("k2", False)


@pytest.mark.parametrize(
    "keys",
    ["hunter2", "k1:hunter2", "k1:", f":{KEY}", f"k 1:{KEY}", "k1:c2hvcnQ=", f"k1:{KEY},k1:{KEY}"],
)
def test_a_mistake_in_the_keys_is_never_shown(keys: str) -> None:
    """The error names the variable alone."""
    with pytest.raises(InvalidInput) as error:
        codec.parse_keys(keys)
    assert "hunter2" not in str(error.value)


@pytest.mark.parametrize("keys", [{}, {"k1": b"short"}, {"k 1": OLD}])
def test_a_codec_checks_its_keys(keys: dict[str, bytes]) -> None:
    """At least one, of 32 bytes each."""
    with pytest.raises(InvalidInput):
        AesGcm(keys)
