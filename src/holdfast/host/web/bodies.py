"""Bodies of responses, unpacked and bounded."""

from __future__ import annotations

import zlib
from collections.abc import AsyncIterator

from holdfast.host.flows.runners import NodeFailed

#: Both gzip and zlib; the header says which.
_ANY_HEADER = 32 + zlib.MAX_WBITS
#: What servers may answer in. Others would need a decoder whose output cannot be bounded.
ENCODINGS = "gzip, deflate"


async def unpacked(parts: AsyncIterator[bytes], encoding: str, most: int) -> AsyncIterator[bytes]:
    """Yield a body as it was before it was compressed.

    Raises NodeFailed as soon as it has more than `most` bytes, packed or unpacked: what expands
    to gigabytes is never expanded.
    """
    names = [name.strip().lower() for name in encoding.split(",")]
    names = [name for name in names if name not in {"", "identity"}]
    if not names:
        async for part in bounded(parts, most):
            yield part
    elif names in (["gzip"], ["x-gzip"], ["deflate"]):
        async for part in _inflated(bounded(parts, most), most):
            yield part
    else:
        raise NodeFailed("http_bad_response", "the response has an encoding that was not asked for")


async def bounded(parts: AsyncIterator[bytes], most: int) -> AsyncIterator[bytes]:
    """Yield a body; raises NodeFailed as soon as it has more than `most` bytes."""
    size = 0
    async for part in parts:
        size += len(part)
        if size > most:
            raise too_large(most)
        yield part


def too_large(most: int) -> NodeFailed:
    """Return the failure of a response that is too large."""
    return NodeFailed("http_too_large", f"the response has more than {most} bytes")


async def _inflated(parts: AsyncIterator[bytes], most: int) -> AsyncIterator[bytes]:
    inflater = zlib.decompressobj(_ANY_HEADER)
    left = most
    is_empty = True
    async for part in parts:
        is_empty = False
        packed = part
        while packed:
            if inflater.eof:
                # A file of gzip may have several members.
                inflater = zlib.decompressobj(_ANY_HEADER)
            try:
                found = inflater.decompress(packed, left + 1)
            except zlib.error:
                raise NodeFailed("http_bad_response", "the response is damaged") from None
            left -= len(found)
            if left < 0:
                raise too_large(most)
            if found:
                yield found
            packed = inflater.unconsumed_tail or inflater.unused_data
    if not inflater.eof and not is_empty:
        raise NodeFailed("http_bad_response", "the response is cut short", retryable=True)
