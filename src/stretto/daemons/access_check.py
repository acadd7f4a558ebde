"""Authorization of clients that read a daemon's pages, by the API server.

The daemon sends the bearer token of a request to a TokenReview and its user to a
SubjectAccessReview for the path. Therefore RBAC grants the right to read metrics (``get`` on the
non-resource URL ``/metrics``). Results are cached for some seconds by a digest of the token; the
cache is bounded.
"""

import hashlib
import threading
from enum import Enum
from typing import Final, NamedTuple, Protocol

from stretto.base.clock import Clock
from stretto.base.errors import StrettoError
from stretto.stores.kube.store import KubeStore

KEPT: Final = 10.0
"""Seconds for which a result is cached, as in Kubernetes' own components."""
CACHE_SIZE: Final = 1024
"""Maximum number of cached results, so that a client with many tokens cannot fill the memory."""
MOST_TOKEN: Final = 16_384
"""Longest accepted token, in bytes."""


class AccessDecision(Enum):
    """Result of an access check."""

    ADMITTED = 200
    #: No token, or an unknown one.
    UNKNOWN = 401
    #: A user without the right.
    FORBIDDEN = 403
    #: The API server gave no result.
    UNCLEAR = 503


class AccessGuard(Protocol):
    """Check of access to pages."""

    def admits(self, token: str, path: str) -> AccessDecision:
        """Return whether the bearer of a token may read a path; an empty token is unknown."""
        ...


class _CachedDecision(NamedTuple):
    """A result and its expiry."""

    #: The result.
    said: AccessDecision
    #: Monotonic time of its expiry.
    until: float


class ReviewGuard:
    """Checks access at the API server; thread-safe."""

    def __init__(self, store: KubeStore, clock: Clock) -> None:
        """A guard that uses a store's connections."""
        self._store = store
        self._clock = clock
        self._lock = threading.Lock()
        self._kept: dict[tuple[bytes, str], _CachedDecision] = {}

    def admits(self, token: str, path: str) -> AccessDecision:
        """Return whether the bearer of a token may read a path, by the server's RBAC."""
        if not token or len(token) > MOST_TOKEN:
            return AccessDecision.UNKNOWN
        key = hashlib.sha256(token.encode()).digest(), path
        now = self._clock.monotonic()
        with self._lock:
            kept = self._kept.get(key)
            if kept is not None and now < kept.until:
                return kept.said
        said = self._review(token, path)
        if said is not AccessDecision.UNCLEAR:
            with self._lock:
                if len(self._kept) >= CACHE_SIZE:
                    self._kept.clear()
                self._kept[key] = _CachedDecision(said, now + KEPT)
        return said

    def _review(self, token: str, path: str) -> AccessDecision:
        try:
            caller = self._store.inquiries.caller(token)
            if caller is None:
                return AccessDecision.UNKNOWN
            may = self._store.inquiries.may_get(caller, path)
        except StrettoError:
            return AccessDecision.UNCLEAR
        return AccessDecision.ADMITTED if may else AccessDecision.FORBIDDEN
