"""Host names of requests: a page that names another host has bound it to this address."""

from typing import Final

LOOPBACK_HOSTS: Final = ("localhost", "127.0.0.1", "[::1]")
"""Names of this machine."""


def host_of(authority: str) -> str:
    """The host of ``host:port``; IPv6 addresses keep their brackets."""
    if authority.startswith("["):
        return authority.partition("]")[0] + "]"
    return authority.partition(":")[0]
