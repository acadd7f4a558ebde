"""Whom to trust: contexts that check certificates as kubectl does."""

import ssl


def verifying_context(cadata: str | None = None, cafile: str | None = None) -> ssl.SSLContext:
    """A context that checks a server's certificate and its name.

    Authorities are those that are given, or the system's. From Python 3.13 on certificates are
    also held to every word of RFC 5280. Those of many clusters' own authorities are not (they name
    no key of their issuer, or no use), and are good for kubectl, so that is turned off again.

    Raises:
        OSError, ValueError: the authorities are none.
    """
    context = ssl.create_default_context(cadata=cadata, cafile=cafile)
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    return context
