"""Self-signed certificates, and certificates that another one has signed, as files."""

from pathlib import Path

from stretto.daemons.probes import ServingCertificate
from stretto.serving.certificates import CertificateSubject, write_pair


def self_signed(
    folder: Path, name: str, hosts: tuple[str, ...] = (), *, states_key_usage: bool = True
) -> ServingCertificate:
    """A certificate with that common name and its key; ``hosts`` are names or IP addresses."""
    subject = CertificateSubject(
        name=name, hosts=hosts, is_authority=True, states_key_usage=states_key_usage
    )
    return _written(folder, subject)


def signed(
    folder: Path, name: str, by: ServingCertificate, hosts: tuple[str, ...] = ()
) -> ServingCertificate:
    """A certificate and its key, signed by another certificate."""
    return _written(folder, CertificateSubject(name=name, hosts=hosts), by)


def _written(
    folder: Path, subject: CertificateSubject, by: ServingCertificate | None = None
) -> ServingCertificate:
    pair = ServingCertificate(folder / f"{subject.name}.crt", folder / f"{subject.name}.key")
    write_pair(pair, subject, by)
    return pair
