"""TLS contexts that verify certificates as kubectl does."""

import ssl


def verifying_context(cadata: str | None = None, cafile: str | None = None) -> ssl.SSLContext:
    """A context that verifies a server's certificate and its name.

    The authorities are the given ones, or the system's. Since Python 3.13 certificates must also
    satisfy RFC 5280 strictly. Those of many clusters' own authorities do not (they lack a key
    identifier or a usage) and kubectl accepts them, so the strict mode is turned off.

    Raises:
        OSError, ValueError: the authorities are invalid.
    """
    context = ssl.create_default_context(cadata=cadata, cafile=cafile)
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    return context
