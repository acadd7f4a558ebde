"""Certificates of the laboratory's control plane."""

import ssl
from datetime import UTC, datetime
from pathlib import Path

from cryptography import x509

from stretto_lab.control_plane.credentials import CertificateUser, Credentials


def test_a_client_certificate_names_its_user_and_groups(tmp_path: Path) -> None:
    pair = Credentials(tmp_path).client(CertificateUser("ann", ("a", "b")))
    subject = x509.load_pem_x509_certificate(pair.cert.read_bytes()).subject
    assert [each.value for each in subject] == ["ann", "a", "b"]


def test_an_expired_certificate_ended_so_many_days_ago(tmp_path: Path) -> None:
    pair = Credentials(tmp_path).client(CertificateUser("ann"), days=-1)
    certificate = x509.load_pem_x509_certificate(pair.cert.read_bytes())
    now = datetime.now(UTC)
    assert certificate.not_valid_before_utc < certificate.not_valid_after_utc < now


def test_the_server_certificate_passes_strict_verification(tmp_path: Path) -> None:
    secrets = Credentials(tmp_path)
    client = ssl.create_default_context(cafile=str(secrets.ca.cert))
    client.verify_flags |= ssl.VERIFY_X509_STRICT
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(*secrets.server)
    handshake(client, server)


def handshake(client: ssl.SSLContext, server: ssl.SSLContext) -> None:
    """Complete a handshake in memory; a certificate that fails verification raises."""
    up, down = ssl.MemoryBIO(), ssl.MemoryBIO()
    ends = [
        client.wrap_bio(down, up, server_hostname="localhost"),
        server.wrap_bio(up, down, server_side=True),
    ]
    for _ in range(4):
        for end in ends:
            try:
                end.do_handshake()
            except ssl.SSLWantReadError:
                continue
    assert ends[0].getpeercert()


def test_keys_and_tokens_are_readable_by_their_owner_only(tmp_path: Path) -> None:
    secrets = Credentials(tmp_path / "secrets")
    assert (tmp_path / "secrets").stat().st_mode & 0o077 == 0
    assert secrets.accounts.stat().st_mode & 0o077 == 0
