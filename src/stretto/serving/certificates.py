"""X.509 certificates and keys as files, for servers, their clients and tests."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from enum import Enum
from ipaddress import ip_address
from pathlib import Path
from typing import Final, Protocol

import msgspec
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from stretto.base.clock import WallClock

DAYS: Final = 30
"""Default validity of a certificate in days; no test runs longer."""
_RSA_BITS: Final = 2048
_SKEW: Final = timedelta(minutes=5)


class Use(Enum):
    """Extended key usage of a certificate."""

    SERVER = ExtendedKeyUsageOID.SERVER_AUTH
    CLIENT = ExtendedKeyUsageOID.CLIENT_AUTH


class PairFiles(Protocol):
    """Paths of a certificate and its key."""

    @property
    def cert(self) -> Path:
        """PEM certificate."""
        ...

    @property
    def key(self) -> Path:
        """PEM key."""
        ...


class CertificateSubject(msgspec.Struct, frozen=True, kw_only=True):
    """Contents of a certificate."""

    #: Common name (CN).
    name: str
    #: Organisations (O): the groups of a Kubernetes user.
    groups: tuple[str, ...] = ()
    #: Subject alternative names: host names and IP addresses.
    hosts: tuple[str, ...] = ()
    #: Extended key usage; ``None``: the certificate contains none.
    use: Use | None = None
    #: True if the certificate may sign other certificates.
    is_authority: bool = False
    #: True if the certificate contains the key usage extension, which strict verification requires
    #: of authorities.
    states_key_usage: bool = True
    #: Days until the certificate expires; negative: days since it expired.
    days: int = DAYS


def write_pair(
    files: PairFiles, subject: CertificateSubject, signer: PairFiles | None = None
) -> None:
    """Write a P-256 key and its certificate as PEM, self-signed if there is no signer."""
    key = ec.generate_private_key(ec.SECP256R1())
    own_name = _name(subject)
    issuer, signing_key = own_name, key
    if signer is not None:
        issuer = x509.load_pem_x509_certificate(signer.cert.read_bytes()).subject
        loaded = serialization.load_pem_private_key(signer.key.read_bytes(), None)
        assert isinstance(loaded, ec.EllipticCurvePrivateKey)
        signing_key = loaded
    now = datetime.fromtimestamp(WallClock().now(), UTC)
    end = now + timedelta(days=subject.days)
    builder = (
        x509.CertificateBuilder()
        .subject_name(own_name)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(min(now, end - timedelta(days=1)) - _SKEW)
        .not_valid_after(end)
    )
    for extension, critical in _extensions(subject, key.public_key(), signing_key.public_key()):
        builder = builder.add_extension(extension, critical)
    certificate = builder.sign(signing_key, hashes.SHA256())
    files.cert.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    _write_key(files.key, key)


def write_key(path: Path) -> None:
    """Write a P-256 key as PEM."""
    _write_key(path, ec.generate_private_key(ec.SECP256R1()))


def write_rsa_key(path: Path) -> None:
    """Write an RSA key as PEM, for example the key that signs tokens of service accounts."""
    _write_key(path, rsa.generate_private_key(65537, _RSA_BITS))


def _write_key(path: Path, key: ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey) -> None:
    text = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    path.touch(0o600)
    path.write_bytes(text)


def _name(subject: CertificateSubject) -> x509.Name:
    groups = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in subject.groups]
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, subject.name), *groups])


def _extensions(
    subject: CertificateSubject, own: ec.EllipticCurvePublicKey, signer: ec.EllipticCurvePublicKey
) -> Sequence[tuple[x509.ExtensionType, bool]]:
    """Return the extensions of a certificate, each with its critical flag."""
    found: list[tuple[x509.ExtensionType, bool]] = [
        (x509.BasicConstraints(ca=subject.is_authority, path_length=None), True),
        (x509.SubjectKeyIdentifier.from_public_key(own), False),
        (x509.AuthorityKeyIdentifier.from_issuer_public_key(signer), False),
    ]
    if subject.states_key_usage:
        found.append((_key_usage(signs=subject.is_authority), True))
    if subject.hosts:
        found.append((x509.SubjectAlternativeName(list(map(_general, subject.hosts))), False))
    if subject.use is not None:
        found.append((x509.ExtendedKeyUsage([subject.use.value]), False))
    return found


def _key_usage(*, signs: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs,
        crl_sign=False,
        encipher_only=False,
        decipher_only=False,
    )


def _general(host: str) -> x509.GeneralName:
    """Return a host as a subject alternative name."""
    try:
        return x509.IPAddress(ip_address(host))
    except ValueError:
        return x509.DNSName(host)
