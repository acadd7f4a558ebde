"""Host names of requests: a foreign host name indicates DNS rebinding to this address."""

from typing import Final

LOOPBACK_HOSTS: Final = ("localhost", "127.0.0.1", "[::1]")
"""Names of this machine."""


def host_of(authority: str) -> str:
    """Return the host of ``host:port``; IPv6 addresses keep their brackets."""
    if authority.startswith("["):
        return authority.partition("]")[0] + "]"
    return authority.partition(":")[0]
