"""TLS contexts that verify certificates as kubectl does."""

import ssl
import tempfile
from typing import Final

NO_PASSPHRASE: Final = ""
"""Passphrase for encrypted keys; without it OpenSSL prompts on the terminal and blocks."""


def verifying_context(cadata: str | None = None, cafile: str | None = None) -> ssl.SSLContext:
    """Return a context that verifies a server's certificate and its name.

    The authorities are the given ones, or those of the system. Since Python 3.13 certificates must
    also satisfy RFC 5280 strictly. The certificates of many clusters' own authorities do not (they
    lack a key identifier or a usage), and kubectl accepts them. Therefore the strict mode is
    disabled.

    Raises:
        OSError, ValueError: the authorities are invalid.
    """
    context = ssl.create_default_context(cadata=cadata, cafile=cafile)
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    return context


def trusting_context(
    authority: bytes, cert: bytes, key: bytes, *, is_blind: bool
) -> ssl.SSLContext:
    """Return a context from certificates in memory.

    Args:
        authority: PEM of the server's authorities; empty for those of the system.
        cert: PEM of the client's certificate; empty for none.
        key: PEM of its key.
        is_blind: whether the server's certificate is not verified.

    Raises:
        OSError, ValueError: a certificate or the key is invalid.
    """
    context = verifying_context(cadata=authority.decode("ascii", "ignore") or None)
    if is_blind:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if cert:
        with tempfile.NamedTemporaryFile() as file:  # readable only by the owner
            file.write(cert + b"\n" + key)
            file.flush()
            context.load_cert_chain(file.name, password=NO_PASSPHRASE)
    return context
