"""Who may read what a daemon serves beyond its machine: the API server is asked.

A token that came with a request is handed on to the server, and its user is asked about by path, so
the rights to read metrics stand where all rights stand: in RBAC (``get`` on the non-resource URL
``/metrics``). Answers are kept for some seconds, by a digest of the token, and at most so many.
"""

import hashlib
import threading
from enum import Enum
from typing import Final, NamedTuple, Protocol

from stretto.base.clock import Clock
from stretto.base.errors import StrettoError
from stretto.stores.kube.store import KubeStore

KEPT: Final = 10.0
"""Seconds that an answer is taken for what it still is, as in Kubernetes' own components."""
MOST_KEPT: Final = 1024
"""Answers that are kept at once: who tries many tokens fills no memory."""
MOST_TOKEN: Final = 16_384
"""Longest token that is looked at, in bytes."""


class AccessDecision(Enum):
    """What became of a request for something guarded."""

    ADMITTED = 200
    #: No token, or one that is nobody's.
    UNKNOWN = 401
    #: Somebody who may not.
    FORBIDDEN = 403
    #: Nobody can say now.
    UNCLEAR = 503


class AccessGuard(Protocol):
    """Who decides."""

    def admits(self, token: str, path: str) -> AccessDecision:
        """Whether the bearer of a token may read a path; an empty token is nobody's."""
        ...


class _CachedDecision(NamedTuple):
    """An answer, and until when it holds."""

    #: The answer.
    said: AccessDecision
    #: Monotonic time.
    until: float


class ReviewGuard:
    """Asks the API server; may be asked from any thread."""

    def __init__(self, store: KubeStore, clock: Clock) -> None:
        """A guard that asks through a store's connections."""
        self._store = store
        self._clock = clock
        self._lock = threading.Lock()
        self._kept: dict[tuple[bytes, str], _CachedDecision] = {}

    def admits(self, token: str, path: str) -> AccessDecision:
        """Whether the bearer of a token may read a path, by the server's RBAC."""
        if not token or len(token) > MOST_TOKEN:
            return AccessDecision.UNKNOWN
        key = hashlib.sha256(token.encode()).digest(), path
        now = self._clock.monotonic()
        with self._lock:
            kept = self._kept.get(key)
            if kept is not None and now < kept.until:
                return kept.said
        said = self._ask(token, path)
        if said is not AccessDecision.UNCLEAR:
            with self._lock:
                if len(self._kept) >= MOST_KEPT:
                    self._kept.clear()
                self._kept[key] = _CachedDecision(said, now + KEPT)
        return said

    def _ask(self, token: str, path: str) -> AccessDecision:
        try:
            caller = self._store.caller(token)
            if caller is None:
                return AccessDecision.UNKNOWN
            may = self._store.may_get(caller, path)
        except StrettoError:
            return AccessDecision.UNCLEAR
        return AccessDecision.ADMITTED if may else AccessDecision.FORBIDDEN
