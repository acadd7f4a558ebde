"""Limits of requests: bytes, seconds and requests per principal."""

from collections.abc import Callable

import msgspec


class RequestLimits(msgspec.Struct, frozen=True):
    """Limits on requests to one server."""

    #: Maximum size of a body in bytes.
    body: int = 8 << 20
    #: Seconds within which a body must be complete.
    seconds: float = 30.0
    #: Requests per second of one principal, or of all unauthenticated clients; 0 for no limit.
    rate: float = 0.0
    #: Number of requests that may arrive at once.
    burst: int = 100


class RateLimiter:
    """Token buckets by principal."""

    def __init__(self, limits: RequestLimits, monotonic: Callable[[], float]) -> None:
        """Fill each bucket at the rate of the limits."""
        self._limits = limits
        self._monotonic = monotonic
        self._buckets: dict[str, tuple[float, float]] = {}

    def admits(self, principal: str) -> bool:
        """True if a request of a principal may be handled now."""
        rate, burst = self._limits.rate, float(self._limits.burst)
        if rate <= 0:
            return True
        now = self._monotonic()
        tokens, at = self._buckets.get(principal, (burst, now))
        tokens = min(burst, tokens + (now - at) * rate)
        self._buckets[principal] = (max(0.0, tokens - 1), now)
        return tokens >= 1
