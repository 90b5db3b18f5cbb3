"""Object stores by URL.

file:///PATH or a plain path      a folder of a local disk
s3://BUCKET/PREFIX                S3 and compatible services; ?endpoint=http://... for those
gs://BUCKET/PREFIX                Google Cloud Storage
az://ACCOUNT/CONTAINER/PREFIX     Azure
memory:                           this process only, for tests

Credentials come from the places that the services' own tools use (environment, instance roles),
never from the URL.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from holdfast.errors import InvalidInput
from holdfast.fencing.folder import FolderObjects
from holdfast.fencing.memory import MemoryObjects
from holdfast.fencing.objects import REQUEST_TIMEOUT_S, ObjectStore
from holdfast.fencing.probe import require_fit
from holdfast.model import checks

_LONGEST = 2048
_REMOTE = {
    "s3": {"endpoint", "region", "virtual_hosted_style_request"},
    "gs": {"endpoint"},
    "az": {"endpoint"},
}


def parse(url: str, *, request_timeout_s: float = REQUEST_TIMEOUT_S) -> ObjectStore:
    """Return the object store of a URL, without checking that it exists."""
    text = checks.text("objects", url, _LONGEST, empty=False)
    parts = urlsplit(text)
    if parts.scheme == "memory":
        return MemoryObjects()
    if parts.scheme in ("", "file"):
        if parts.netloc not in ("", "localhost") or not parts.path or parts.query:
            _refuse("must have the form file:///PATH for a folder")
        return FolderObjects(unquote(parts.path))
    if parts.scheme not in _REMOTE:
        known = ", ".join(f"{scheme}://" for scheme in ("file", *_REMOTE))
        _refuse(f"must be a path or start with one of {known}")
    if parts.username or parts.password:
        _refuse("must not contain credentials: set them in the environment")
    options = dict(parse_qsl(parts.query, keep_blank_values=True))
    checks.known_fields("objects", options, _REMOTE[parts.scheme])
    place = f"{parts.scheme}://{parts.netloc}{parts.path}"
    return _remote(parts.scheme, place, options, request_timeout_s)


def _remote(
    scheme: str, url: str, options: Mapping[str, Any], request_timeout_s: float
) -> ObjectStore:
    from holdfast.fencing.cloud import RemoteObjects  # noqa: PLC0415 - loads the services

    settings = dict(options)
    if scheme == "s3":
        endpoint = settings.get("endpoint") or os.environ.get("AWS_ENDPOINT_URL_S3")
        if endpoint:
            settings["endpoint"] = endpoint
        settings.setdefault("region", os.environ.get("AWS_REGION", "us-east-1"))
    return RemoteObjects(url, options=settings, request_timeout_s=request_timeout_s)


def _refuse(problem: str) -> None:
    raise InvalidInput(f"objects: {problem}", field="objects")


async def open_objects(url: str) -> ObjectStore:
    """Return the object store of a URL, after a probe that refuses a store that cannot fence."""
    store = parse(url)
    await require_fit(store)
    return store
