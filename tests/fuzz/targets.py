"""The parsers, each with inputs to begin with. A parser takes any bytes, or raises what it may."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import msgspec
from starlette.requests import Request

from holdfast.channels import NAMES
from holdfast.errors import HoldfastError, InvalidInput, InvalidRecord, PayloadUnreadable
from holdfast.host.flows import expressions as flow_expressions
from holdfast.host.flows import templates
from holdfast.host.flows.syntax import SyntaxProblem
from holdfast.host.packs import PrivateKey, Trust, build, load_archive, sign
from holdfast.model import (
    conditions,
    expressions,
    log_lines,
    names,
    references,
    schemas,
    signed,
    tokens,
    waitpoints,
    webhooks,
)
from holdfast.model.codec import AesGcm
from holdfast.model.feeds import Position
from holdfast.model.frames import NewFrame
from holdfast.model.sealing import Sealing
from holdfast.model.tokens import Grant, KeyRing, SigningKey
from holdfast.server.auth import console_sessions
from holdfast.server.http import pipeline
from holdfast.server.http.paths import Paths
from holdfast.server.http.prepared import Prepared
from holdfast.server.routes import all_routes
from holdfast.server.views.paging import PageQuery
from tests.fuzz import connection
from tests.support.channels import Sent, channel_of, message
from tests.support.packs import FULL, files_of, pack_of

Parse = Callable[[bytes], object]
RING = KeyRing("k1", None, {"k1": SigningKey("k1", b"s" * 32)})
GRANT = Grant("x~w1", "mail", 1, 9_999_999_999_999, ("go",), 3, "ann")
COOKIE = console_sessions.begin("k", 1)
NOW_MS = 2


@dataclass(frozen=True, slots=True)
class Target:
    """A parser."""

    name: str
    parse: Parse
    corpus: Sequence[bytes]
    #: What it may raise.
    refusals: tuple[type[Exception], ...] = (HoldfastError,)


def targets() -> Iterator[Target]:
    """Yield all of them."""
    yield from _http()
    yield from _texts()
    yield from _rules()
    yield from _webhooks()
    yield from _payloads()


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def _json(data: bytes) -> Any:
    try:
        return msgspec.json.decode(data)
    except (ValueError, msgspec.MsgspecError, RecursionError) as error:
        raise InvalidInput(str(error), field="json") from error


def _encoded(*values: Any) -> list[bytes]:
    return [json.dumps(value).encode() for value in values]


def _http() -> Iterator[Target]:
    routes = all_routes()
    bodies = [(route, Prepared(route).decoder) for route in routes]
    decoders = [(route, decoder) for route, decoder in bodies if decoder is not None]
    examples = _encoded(*(route.example for route, _ in decoders if route.example is not None))

    def body(data: bytes) -> None:
        """Give the same body to the decoders of a few routes: its size says which."""
        for step in range(4):
            decoder = decoders[(len(data) * 7 + step * 31) % len(decoders)][1]
            try:
                pipeline._decoded(decoder, data)
            except HoldfastError as error:
                str(error)

    asking = [route for route in routes if route.query is not None]

    def query(data: bytes) -> None:
        for step in range(4):
            route = asking[(len(data) * 7 + step * 31) % len(asking)]
            request = Request({"type": "http", "query_string": data, "headers": []})
            try:
                pipeline._query(request, route)
            except HoldfastError as error:
                str(error)

    paths: Paths[str] = Paths()
    for route in routes:
        paths.add(route.path, route.path)
    asked = [b"limit=5&cursor=abc", b"state=failed&tag=a%3Db", b"wait_ms=0", b"tenant=%C3%A9"]
    found = [route.path.replace("{", "").replace("}", "").encode() for route in routes]
    yield Target("bodies", body, [*examples, b"{}", b"[]", b'{"items": [{}]}'])
    yield Target(
        "queries", query, [*asked, *(b"%s=1" % word for word in (b"after", b"q", b"span"))]
    )
    yield Target("paths", paths.find, [*found, b"/v1/executions/a%2Fb/steps"])
    yield Target("connections", connection.feed, _calls())


def _calls() -> list[bytes]:
    head = b"POST /v1/executions?a=1 HTTP/1.1\r\nhost: a\r\n"
    return [
        b"GET /healthz HTTP/1.1\r\nhost: a\r\n\r\n" * 2,
        head + b"content-length: 2\r\n\r\n{}",
        head + b"transfer-encoding: chunked\r\n\r\n2;a=b\r\n{}\r\n0\r\nx-a: b\r\n\r\n",
        head + b"expect: 100-continue\r\nconnection: upgrade\r\nupgrade: h2c\r\n\r\n",
    ]


def _page(cursor: str) -> PageQuery:
    try:
        return msgspec.convert({"cursor": cursor}, PageQuery)
    except msgspec.ValidationError as error:
        raise InvalidInput(str(error), field="cursor") from error


def _texts() -> Iterator[Target]:
    token = RING.sign(GRANT).reveal().encode()
    cookie = console_sessions.cookie(COOKIE, RING, secure=True).encode().split(b";")[0]

    def read_token(data: bytes) -> None:
        text = _text(data)
        tokens.waitpoint_of(text), tokens.person_of(text)
        for read in (partial(RING.verify, waitpoint_id="x~w1"), tokens.received):
            try:
                read(text)
            except HoldfastError as error:
                str(error)

    def read_cookie(data: bytes) -> None:
        request = Request({"type": "http", "headers": [(b"cookie", data)]})
        console_sessions.read(request, RING, NOW_MS)
        signed.unseal("hfc1", _text(data).partition("=")[2], RING, NOW_MS)

    readers: tuple[Callable[[str], object], ...] = (
        Position.parse,
        log_lines.position,
        lambda text: _page(text).part(range(9)),
        lambda text: _page(text).part("abc", name=str),
        partial(names.stored_id, "ours"),
        names.parse_id,
        partial(waitpoints.parse_waitpoint_id, "waitpoint"),
    )

    def read_cursor(data: bytes) -> None:
        for read in readers:
            try:
                read(_text(data))
            except HoldfastError as error:
                str(error)

    cursors = [b"1794798123456-0.3", b"12.7", b"5", b"abc", b"x~w1", b"ours/x~1~w12", b"x~~e17"]
    yield Target("tokens", read_token, [token, b"hf1.k1.e30." + b"a" * 43])
    yield Target("cookies", read_cookie, [cookie, cookie + b"; a=b", b'hf_console="a\\"'])
    yield Target("cursors and ids", read_cursor, cursors)


def _rules() -> Iterator[Target]:
    def cel(data: bytes) -> None:
        text = expressions.check("where", _text(data))
        expressions.holds(
            text, {"payload": {"n": 1, "items": [1, 2]}, "name": "go", "source": None}
        )

    def flow_cel(data: bytes) -> None:
        flow_expressions.compile_expression(_text(data))

    def template(data: bytes) -> None:
        templates.parse_text(_text(data))

    def schema(data: bytes) -> None:
        encoded = schemas.encode("schema", _json(data))
        schemas.check(encoded, {"n": 1, "text": "aaaa!", "tree": [[1, 1], []]})

    def condition(data: bytes) -> None:
        conditions.parse(_json(data), ["a", "b"])

    wholes = [
        b"payload.n > 1 && name == 'go'",
        b"payload.items.all(x, x > 1)",
        b"size(payload) == 2",
    ]
    made = {
        "type": "object",
        "required": ["n"],
        "properties": {
            "n": {"type": "number", "multipleOf": 0.1},
            "text": {"type": "string", "pattern": "^[a-z]*$"},
            "tree": {"$ref": "#/$defs/tree"},
        },
        "$defs": {
            "tree": {"type": "array", "items": {"$ref": "#/$defs/tree"}, "uniqueItems": True}
        },
    }
    asked = (
        {"waitpoint": "a", "signals": ["go"], "where": "payload.n > 1"},
        {"count": 2, "distinct": "signals", "of": [{"waitpoint": "a"}, {"waitpoint": "b"}]},
        {"all": [{"any": [{"waitpoint": "a"}, {"after_ms": 5}]}, {"waitpoint": "b"}]},
    )
    bad = (HoldfastError, flow_expressions.ExpressionFailed, SyntaxProblem)
    yield Target("CEL of waitpoints", cel, wholes)
    yield Target(
        "CEL of flows", flow_cel, [*wholes, b"has(a.b) ? a.b : 'c'", b"[1, 2].map(x, x * 2)"], bad
    )
    yield Target(
        "templates", template, [b"Hello {{ name | upper }}", b"{{ a.b }} {{ 'c}}' }}"], bad
    )
    yield Target("schemas", schema, _encoded(made, {"enum": [1]}, {"anyOf": [{"type": "string"}]}))
    yield Target("conditions", condition, _encoded(*asked))


def _webhooks() -> Iterator[Target]:
    def received(name: str, data: bytes) -> None:
        provider, channel = channel_of(name)
        request = Sent(name, data, form=name == "twilio").request()
        provider.parse(channel, request)

    def signed_by(data: bytes) -> None:
        at, _, rest = data.partition(b" ")
        headers = {"webhook-id": "a", "webhook-timestamp": _text(at)}
        secret = webhooks.secret_of(b"k", "ours")
        signature = rest.decode("latin-1")
        webhooks.verify(secret, {**headers, "webhook-signature": signature}, data, 5)

    for name in NAMES:
        yield Target(f"webhooks of {name}", partial(received, name), [message(name, "Hello").body])
    yield Target("signatures", signed_by, [b"5 v1,abc v1,def"])


def _payloads() -> Iterator[Target]:
    key = PrivateKey.generate()
    pack = sign(build(pack_of(files_of(FULL))), key)
    trust = Trust(keys=frozenset({key.public}))
    sealing = Sealing(AesGcm({"k": b"k" * 32}))
    sealed = sealing.seal(b'{"a": 1}', "input", "ours")
    reference = references.reference_to("ours", b"a").encode()

    def stored(data: bytes) -> None:
        for read in (
            references.decode,
            references.value_of,
            partial(references.check_is_none, "input"),
        ):
            try:
                read(data)
            except (HoldfastError, InvalidRecord) as error:
                str(error)
        sealing.open(data, input="ours")

    def frame(data: bytes) -> None:
        value = _json(data)
        if isinstance(value, dict):
            NewFrame.from_view(value.get("type"), value.get("payload"), value.get("encoding"))

    frames = (
        {"type": "text", "payload": "a"},
        {"type": "bytes", "payload": "YQ==", "encoding": "base64"},
        {"type": "json", "payload": {"a": [1]}},
    )
    yield Target("packs", lambda data: load_archive(data, trust), [pack])
    yield Target(
        "stored payloads", stored, [sealed, reference, b"{}"], (HoldfastError, PayloadUnreadable)
    )
    yield Target(
        "payloads of signals", waitpoints.decode_payload, _encoded({"n": 1.5}, [1, "a"], None)
    )
    yield Target("frames", frame, _encoded(*frames))
