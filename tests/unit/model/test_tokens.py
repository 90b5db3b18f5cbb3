"""Tokens and the keys that sign them."""

from __future__ import annotations

import dataclasses
import logging
import pickle
import traceback
from base64 import urlsafe_b64encode
from typing import Any

import msgspec
import pytest

from holdfast.errors import InvalidInput, InvalidToken
from holdfast.model import bounds
from holdfast.model.moments import from_ms
from holdfast.model.tokens import (
    Grant,
    KeyRing,
    SigningKey,
    Token,
    _signature,
    check_kid,
    check_secret,
    fingerprint,
)
from holdfast.model.waitpoints import Waitpoint, WaitpointState

SECRET = b"0123456789abcdef0123456789abcdef"
KEY = SigningKey("k1", SECRET)
OLD = SigningKey("k0", b"f" * 32, until_ms=5_000)
RING = KeyRing("k1", "k0", {"k1": KEY, "k0": OLD})
GRANT = Grant(waitpoint="e~w1", name="gate", made_ms=1, until_ms=9, signals=("go", "st*"), uses=2)
TOKEN = RING.sign(GRANT)
TEXT = TOKEN.reveal()


def signed_by(key: SigningKey, grant: Grant = GRANT) -> str:
    return KeyRing(key.kid, None, {key.kid: key}).sign(grant).reveal()


def test_a_token_of_ours_is_known() -> None:
    """With all that it is good for, and the key that signed it."""
    assert RING.verify(TEXT, "e~w1") == (GRANT, KEY)
    assert RING.verify(signed_by(OLD), "e~w1") == (GRANT, OLD)


def test_a_token_is_safe_in_a_link() -> None:
    """No character of it must be escaped."""
    assert set(TEXT) <= set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.")


def test_signing_twice_gives_the_same() -> None:
    """A repeated call hands out the same token."""
    assert RING.sign(GRANT).reveal() == TEXT


@pytest.mark.parametrize("waitpoint", ["e~w2", "e~w11", "f~w1", "", "e~w1 "])
def test_a_token_of_another_waitpoint(waitpoint: str) -> None:
    """It is good for its own only."""
    with pytest.raises(InvalidToken):
        RING.verify(TEXT, waitpoint)


def test_a_token_of_an_unknown_key() -> None:
    """Also if its kid is one of ours."""
    for key in (SigningKey("k2", SECRET), SigningKey("k1", b"z" * 32), SigningKey("k0", SECRET)):
        with pytest.raises(InvalidToken):
            RING.verify(signed_by(key), "e~w1")


def test_another_kid_on_a_genuine_signature() -> None:
    """The kid is signed, too."""
    same = KeyRing("k1", None, {"k1": KEY, "k2": SigningKey("k2", SECRET)})
    with pytest.raises(InvalidToken):
        same.verify(TEXT.replace("hf1.k1.", "hf1.k2."), "e~w1")


def test_every_truncation_is_refused() -> None:
    """At either end."""
    for cut in range(1, len(TEXT)):
        for text in (TEXT[:cut], TEXT[cut:]):
            with pytest.raises(InvalidToken):
                RING.verify(text, "e~w1")


def test_every_changed_character_is_refused() -> None:
    """Wherever it is; also those bits that base64 does not need."""
    for place, character in enumerate(TEXT):
        for other in "AB_-.x":
            if other != character:
                with pytest.raises(InvalidToken):
                    RING.verify(TEXT[:place] + other + TEXT[place + 1 :], "e~w1")


@pytest.mark.parametrize(
    "text",
    [
        *("", ".", "...", "hf1", "hf1.k1", "hf1.k1.AA.AA", TEXT + "=", TEXT + "\n", " " + TEXT),
        *(TEXT.replace("hf1", "hf2"), TEXT.replace("hf1", "HF1"), TEXT + ".x", TEXT.upper()),
        *("hf1.k1." + "A" * 9_000 + "." + "A" * 43, "\ud800", "\uff48f1.k1.AA." + "A" * 43, "\x00"),
        *(None, 5, b"bytes", TEXT.encode(), ["list"], TOKEN),
    ],
)
def test_what_is_not_a_token(text: Any) -> None:
    """All of it looks alike from outside."""
    with pytest.raises(InvalidToken) as raised:
        RING.verify(text, "e~w1")
    assert (raised.value.message, raised.value.context) == ("the token is not valid here", {})


@pytest.mark.parametrize(
    "grant",
    [
        *(b"", b"[]", b"{}", b"null", b"\xff", b'["e~w1"]', b'["e~w1","gate","x"]'),
        b'["e~w1","gate",1,null,[],null,"ann","more"]',
        b'{"waitpoint":"e~w1","name":"gate","made_ms":1}',
    ],
)
def test_a_genuine_signature_on_what_is_no_grant(grant: bytes) -> None:
    """From another version, for instance."""
    text = urlsafe_b64encode(grant).rstrip(b"=").decode()
    head = f"hf1.k1.{text}"
    with pytest.raises(InvalidToken):
        RING.verify(f"{head}.{_signature(head, SECRET)}", "e~w1")


def test_the_largest_scope_makes_a_token_that_is_accepted() -> None:
    """Whatever a waitpoint may have, its token is not over the limit of tokens."""
    names = tuple(f"{n:03}".ljust(bounds.NAME_CHARS, "n") + "*" for n in range(bounds.SIGNAL_NAMES))
    grant = Grant(
        waitpoint="e" * bounds.ID_CHARS + "~w10000",
        name="n" * bounds.NAME_CHARS,
        made_ms=2**52,
        until_ms=2**52,
        signals=names,
        uses=1_000_000,
    )
    text = RING.sign(grant).reveal()
    assert RING.verify(text, grant.waitpoint) == (grant, KEY)


# Nothing is told


def test_a_token_is_not_shown(caplog: pytest.LogCaptureFixture) -> None:
    """Not by repr, str, formats, logs, containers or what raises with it."""
    shown = [repr(TOKEN), str(TOKEN), f"{TOKEN}", f"{TOKEN!r}", f"{[TOKEN]}"]
    shown += ["%s %r" % (TOKEN, TOKEN), "{} {!r}".format(TOKEN, TOKEN)]  # noqa: UP031, UP032
    with caplog.at_level(logging.DEBUG):
        logging.getLogger("test").warning("got %s and %r", TOKEN, {"token": TOKEN})
    error = ValueError(TOKEN)
    shown += [str(error), repr(error), *traceback.format_exception(error)]
    signature = TEXT.rpartition(".")[2]
    for text in (*shown, caplog.text):
        assert signature not in text
        assert TEXT not in text
    assert str(TOKEN) == f"<token {TOKEN.fingerprint} of key k1>"


def test_a_token_is_not_written_by_accident() -> None:
    """Not by what turns values into JSON or dictionaries on the way to a list or a log."""
    point = Waitpoint(
        id="e~w1",
        execution_id="e",
        name="gate",
        state=WaitpointState.OPEN,
        created_at=from_ms(0),
        token=TOKEN,
    )
    assert TEXT not in repr(point)
    assert TEXT not in repr(dataclasses.asdict(point))
    with pytest.raises(TypeError):
        msgspec.json.encode(point)


def test_a_secret_is_not_shown() -> None:
    """Neither by a key nor by a ring; its fingerprint tells keys apart."""
    for value in (KEY, RING, [RING]):
        for text in (repr(value), str(value), f"{value}"):
            assert SECRET.decode() not in text
            assert SECRET.hex() not in text
    assert KEY.fingerprint() == SigningKey("other", SECRET).fingerprint()
    assert KEY.fingerprint() != OLD.fingerprint()
    assert SECRET.hex() not in KEY.fingerprint()


def test_a_refusal_does_not_show_the_token() -> None:
    """Nor does it survive in its chain or a pickle of it."""
    with pytest.raises(InvalidToken) as raised:
        RING.verify(TEXT, "e~w2")
    assert TEXT not in "".join(traceback.format_exception(raised.value))
    assert TEXT.encode() not in pickle.dumps(raised.value)


def test_the_fingerprint_does_not_depend_on_the_key() -> None:
    """After a rotation it is the same token for those who look."""
    assert fingerprint(GRANT) == TOKEN.fingerprint
    other = KeyRing("k0", None, {"k0": OLD}).sign(GRANT)
    assert isinstance(other, Token)
    assert (other.fingerprint, other.kid) == (TOKEN.fingerprint, "k0")
    different = msgspec.structs.replace(GRANT, made_ms=2)
    assert fingerprint(different) != fingerprint(GRANT)


# Keys from outside


@pytest.mark.parametrize("kid", ["k1", "A_z-9", "k" * bounds.KID_CHARS])
def test_kids(kid: str) -> None:
    """They are part of a token."""
    assert check_kid(kid) == kid


@pytest.mark.parametrize("kid", ["", "a.b", "a b", "ä", "k\n", "k" * 65, None, 5])
def test_what_is_not_a_kid(kid: Any) -> None:
    """A dot would break the token."""
    with pytest.raises(InvalidInput) as raised:
        check_kid(kid)
    assert raised.value.context == {"field": "kid"}


def test_secrets() -> None:
    """At least 16 bytes in hex."""
    assert check_secret("00" * 16) == bytes(16)
    assert check_secret("aB" * 1024) == b"\xab" * 1024


@pytest.mark.parametrize(
    "secret", ["", "00" * 15, "00" * 1025, "xy" * 16, "0" * 33, "ä" * 32, None, 5, b"00" * 16]
)
def test_what_is_not_a_secret(secret: Any) -> None:
    """It is not shown even when it is wrong: it may be right but for a character."""
    with pytest.raises(InvalidInput) as raised:
        check_secret(secret)
    assert raised.value.context == {"field": "secret_hex"}
    if secret:
        assert str(secret) not in str(raised.value)
