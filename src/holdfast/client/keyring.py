"""The signing keys of tokens over HTTP."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from typing import NoReturn, final

from typing_extensions import override

from holdfast import api
from holdfast.api.keyring import DEFAULT_GRACE_MS
from holdfast.client import decode
from holdfast.client.http import Http
from holdfast.errors import TaskError
from holdfast.model import bounds, checks
from holdfast.model.moments import to_ms
from holdfast.model.tokens import Grant, KeyRing, SigningKey, check_kid, check_secret


@dataclass(frozen=True, slots=True)
class ShownKey(SigningKey):
    """A key whose secret the server keeps."""

    shown: str = ""

    def fingerprint(self) -> str:
        """Return a value that identifies the secret without revealing it."""
        return self.shown


@dataclass(frozen=True, slots=True)
class ShownRing(KeyRing):
    """A ring without secrets: only the server can sign and check."""

    def sign(self, grant: Grant) -> NoReturn:
        """Not over HTTP."""
        raise TaskError(
            f"only the server signs tokens: read the token of {grant.waitpoint} from it"
        )

    def verify(self, text: object, waitpoint_id: str) -> NoReturn:
        """Not over HTTP."""
        del text
        raise TaskError(f"only the server checks tokens of {waitpoint_id}")


@final
class RemoteSigningKeys(api.SigningKeys):
    """The key ring of a server's store."""

    def __init__(self, http: Http) -> None:
        self._http = http

    @override
    async def rotate(
        self,
        kid: str | None = None,
        secret_hex: str | None = None,
        *,
        grace_ms: int = DEFAULT_GRACE_MS,
    ) -> tuple[str, str | None]:
        checks.integer("grace_ms", grace_ms, 0, bounds.DURATION_MS)
        secret = secrets.token_bytes(32) if secret_hex is None else check_secret(secret_hex)
        body = {
            "kid": f"k{secrets.token_hex(4)}" if kid is None else check_kid(kid),
            "secret_hex": secret.hex(),
            "grace_ms": grace_ms,
        }
        reply = await self._http.post("/v1/admin/keyring/rotate", body)
        return reply["kid"], reply["previous"]

    @override
    async def ring(self) -> ShownRing:
        reply = await self._http.get("/v1/admin/keyring")
        keys = {
            view["kid"]: ShownKey(
                view["kid"],
                b"",
                None if view["until"] is None else to_ms(decode.moment(view["until"])),
                view["fingerprint"],
            )
            for view in reply["keys"]
        }
        return ShownRing(reply["current"], reply["previous"], keys)
