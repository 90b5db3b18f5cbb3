"""Objects in S3, Google Cloud Storage or Azure, through obstore.

A version is the value that the service compares: the ETag, or Google's generation number.
"""

from __future__ import annotations

import atexit
import contextlib
import time
from collections.abc import AsyncIterator, Awaitable, Mapping
from datetime import timedelta
from functools import cached_property
from typing import Any, TypeVar

import msgspec
import obstore
from obstore import exceptions
from obstore.store import from_url

from holdfast.errors import BackendFailed, BackendUnfit
from holdfast.fencing.memory import conflict
from holdfast.fencing.objects import REQUEST_TIMEOUT_S, Entry, Stored
from holdfast.model.writer_leases import Version

T = TypeVar("T")

#: A thread of obstore uses Python for a moment after it has handed over an answer. If the
#: interpreter ends in that moment, it aborts the process.
atexit.register(time.sleep, 0.05)

_MISSING = (FileNotFoundError, exceptions.NotFoundError)
_CONFLICTS = (exceptions.AlreadyExistsError, exceptions.PreconditionError)
#: Definite refusals: nothing was done.
_REFUSED = (
    exceptions.PermissionDeniedError,
    exceptions.UnauthenticatedError,
    exceptions.InvalidPathError,
    exceptions.NotSupportedError,
)


class RemoteObjects:
    """Objects in a bucket, under the path of a URL."""

    def __init__(
        self,
        url: str,
        *,
        options: Mapping[str, Any] | None = None,
        request_timeout_s: float = REQUEST_TIMEOUT_S,
    ) -> None:
        self.name: str = url
        self._options = dict(options or {})
        self._timeout = timedelta(seconds=request_timeout_s)

    @cached_property
    def _store(self) -> Any:
        """The client of the service; without credentials only those fail who use it."""
        plain_http = str(self._options.get("endpoint", "")).startswith("http://")
        try:
            return from_url(
                self.name,
                # obstore must not retry: only the caller can recognise its own write, by the nonce.
                retry_config={"max_retries": 0, "retry_timeout": self._timeout},
                client_options={
                    "timeout": self._timeout,
                    "connect_timeout": min(self._timeout, timedelta(seconds=REQUEST_TIMEOUT_S)),
                    "allow_http": plain_http,
                },
                **self._options,
            )
        except exceptions.BaseError as error:
            raise self._failed(error, maybe_done=False) from error

    async def get(self, key: str) -> Stored | None:
        """Return the object."""
        try:
            response = await self._ask(obstore.get_async(self._store, key))
            body = bytes(await self._ask(response.bytes_async()))
        except _MISSING:
            return None
        return Stored(body, self._version(response.meta))

    async def get_range(self, key: str, start: int, length: int) -> bytes | None:
        """Return a part of the object."""
        try:
            part = await self._ask(
                obstore.get_range_async(self._store, key, start=start, length=length)
            )
        except _MISSING:
            return None
        return bytes(part)

    async def put_if_absent(self, key: str, body: bytes) -> Version:
        """Create the object."""
        return await self._put(key, body, "create")

    async def put_if_version(self, key: str, body: bytes, version: Version) -> Version:
        """Replace exactly this version."""
        return await self._put(key, body, msgspec.json.decode(version))

    async def delete(self, key: str) -> None:
        """Remove the object."""
        with contextlib.suppress(*_MISSING):
            await self._ask(obstore.delete_async(self._store, key))

    async def list(self, prefix: str) -> AsyncIterator[Entry]:
        """Iterate over the objects in order."""
        # The service compares whole names between slashes; the rest of the prefix is compared here.
        pages = obstore.list(self._store, prefix.rpartition("/")[0] or None).__aiter__()
        while True:
            try:
                page = await self._ask(pages.__anext__())
            except StopAsyncIteration:
                return
            for entry in page:
                if entry["path"].startswith(prefix):
                    yield Entry(entry["path"], entry["size"])

    async def _put(self, key: str, body: bytes, mode: Any) -> Version:
        try:
            result = await self._ask(
                obstore.put_async(self._store, key, body, mode=mode, use_multipart=False)
            )
        except _CONFLICTS as error:
            raise conflict(key, self.name) from error
        except _MISSING as error:
            # The object to replace is gone, or the bucket does not exist.
            if mode == "create":
                raise self._failed(error, maybe_done=False) from error
            raise conflict(key, self.name) from error
        return self._version(result)

    def _version(self, meta: Any) -> Version:
        known = {name: meta[name] for name in ("e_tag", "version") if meta.get(name)}
        if not known:
            message = f"{self.name} gives objects neither an ETag nor a version"
            raise BackendUnfit(message, check="versions")
        return Version(msgspec.json.encode(known).decode())

    async def _ask(self, request: Awaitable[T]) -> T:
        try:
            return await request
        except (*_MISSING, *_CONFLICTS):
            raise
        except _REFUSED as error:
            raise self._failed(error, maybe_done=False) from error
        except (exceptions.BaseError, OSError) as error:
            raise self._failed(error, maybe_done=True) from error

    def _failed(self, error: Exception, *, maybe_done: bool) -> BackendFailed:
        first_line = (str(error).splitlines() or [type(error).__name__])[0]
        return BackendFailed(f"{self.name}: {first_line}", maybe_done=maybe_done)
