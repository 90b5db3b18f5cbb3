"""Check the certificate of a server before the server starts."""

from __future__ import annotations

import ssl
from pathlib import Path

from holdfast.errors import InvalidInput


def check(certificate: Path, key: Path) -> None:
    """Check that a server can use these files; raise InvalidInput if it cannot."""
    for field, path in (("tls-cert", certificate), ("tls-key", key)):
        try:
            path.read_bytes()
        except OSError as error:
            message = f"{field}: {path} cannot be read: {error.strerror or error}"
            raise InvalidInput(message, field=field) from error
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        context.load_verify_locations(certificate)
    except ssl.SSLError as error:
        message = f"tls-cert: {certificate} is not a PEM certificate"
        raise InvalidInput(message, field="tls-cert") from error
    try:
        # With a password, even an empty one, OpenSSL does not prompt for that of the key.
        context.load_cert_chain(certificate, key, password="")
    except ssl.SSLError as error:
        mismatch = error.reason == "KEY_VALUES_MISMATCH"
        wrong = f"not the key of {certificate}" if mismatch else "not a PEM key without a password"
        raise InvalidInput(f"tls-key: {key} is {wrong}", field="tls-key") from error
