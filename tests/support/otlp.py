"""A receiver of OpenTelemetry traces: OTLP over HTTP, as a collector is."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest


@dataclass(frozen=True, slots=True)
class Span:
    """A span that was exported."""

    #: Of the process that made it.
    service: str
    name: str
    trace: str
    id: str
    parent: str
    kind: int
    failed: bool
    attributes: dict[str, Any]


class Receiver:
    """What was received so far."""

    def __init__(self) -> None:
        self.spans: list[Span] = []
        #: All bodies as they came, to look for what must not be in them.
        self.raw: bytes = b""

    def take(self, body: bytes) -> None:
        """Decode an export."""
        self.raw += body
        for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
            service = _attributes(resource.resource)["service.name"]
            for scope in resource.scope_spans:
                self.spans += [_span(service, one) for one in scope.spans]


def _span(service: str, span: Any) -> Span:
    return Span(
        service=service,
        name=span.name,
        trace=span.trace_id.hex(),
        id=span.span_id.hex(),
        parent=span.parent_span_id.hex(),
        kind=span.kind,
        failed=span.status.code == span.status.STATUS_CODE_ERROR,
        attributes=_attributes(span),
    )


def _attributes(of: Any) -> dict[str, Any]:
    return {one.key: getattr(one.value, one.value.WhichOneof("value")) for one in of.attributes}


@contextlib.contextmanager
def otlp_receiver() -> Iterator[tuple[str, Receiver]]:
    """Receive while the block runs; yields the endpoint."""
    receiver = Receiver()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            receiver.take(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_args: Any) -> None:
            """Be silent."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", receiver
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
