"""Certificates of a CA of the test's own."""

from __future__ import annotations

import datetime as dt
import ipaddress
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

_A_DAY = dt.timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Certificates:
    """Files: the CA, and a certificate for 127.0.0.1 that it signed, with its key."""

    ca: Path
    certificate: Path
    key: Path
    #: The same key, with a password.
    locked_key: Path


def make_certificates(folder: Path) -> Certificates:
    """Make a CA and a certificate for 127.0.0.1."""
    ca_key, key = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
    ca_name, name = _name("Test CA"), _name("Test server")
    ca = (
        _builder(ca_name, ca_name, ca_key.public_key())
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(ca_key, hashes.SHA256())
    )
    here = x509.IPAddress(ipaddress.ip_address("127.0.0.1"))
    certificate = (
        _builder(ca_name, name, key.public_key())
        .add_extension(x509.SubjectAlternativeName([here]), critical=False)
        .sign(ca_key, hashes.SHA256())
    )
    made = Certificates(
        *(folder / name for name in ("ca.pem", "server.pem", "server.key", "locked.key"))
    )
    made.ca.write_bytes(ca.public_bytes(serialization.Encoding.PEM))
    made.certificate.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    made.key.write_bytes(_pem(key, serialization.NoEncryption()))
    made.locked_key.write_bytes(_pem(key, serialization.BestAvailableEncryption(b"secret")))
    return made


def _name(common: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common)])


def _builder(
    issuer: x509.Name, subject: x509.Name, key: ec.EllipticCurvePublicKey
) -> x509.CertificateBuilder:
    now = dt.datetime.now(dt.UTC)
    return (
        x509.CertificateBuilder()
        .issuer_name(issuer)
        .subject_name(subject)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _A_DAY)
        .not_valid_after(now + _A_DAY)
    )


def _pem(
    key: ec.EllipticCurvePrivateKey, encryption: serialization.KeySerializationEncryption
) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, encryption
    )
