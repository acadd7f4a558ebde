"""The user of a kubeconfig at its cluster: rights from access reviews, kinds from discovery."""

from functools import cached_property
from threading import Lock
from typing import Final

from stretto.api.kinds.table import TABLE
from stretto.api.wire.kinds import Kind
from stretto.base.clock import Clock
from stretto.base.errors import NotFoundError, StrettoError
from stretto.stores.kube.store import KubeStore
from stretto.stores.rights import ObjectRight
from stretto.stores.store import WriteOutcome

_REVIEW_S: Final = 10.0
"""Seconds for which the result of a review is cached: open pages are rendered every second."""
_NAMELESS: Final = "the user of the kubeconfig"
"""Name of a user if the server does not return one."""


class ClusterUser:
    """The user of a store's credentials. Any thread may call it."""

    def __init__(self, store: KubeStore, namespace: str, clock: Clock) -> None:
        """Create a user, which is reviewed when its rights are needed.

        Args:
            store: the API server, with the credentials of the user.
            namespace: namespace of objects without a namespace.
            clock: monotonic time.
        """
        #: Namespace of objects without a namespace.
        self.namespace = namespace
        self._store = store
        self._clock = clock
        self._lock = Lock()
        self._reviews: dict[ObjectRight, tuple[float, str]] = {}

    @cached_property
    def name(self) -> str:
        """The name of the user at the server."""
        try:
            return (
                self._store.inquiries.review(lambda reviews: reviews.own_user()).username
                or _NAMELESS
            )
        except StrettoError:
            return _NAMELESS

    def refusal(self, right: ObjectRight) -> str:
        """Return why the cluster does not grant a right; empty if it does.

        The result is cached for some seconds; the server decides again about each write.
        """
        now = self._clock.monotonic()
        with self._lock:
            self._reviews = {key: kept for key, kept in self._reviews.items() if kept[0] > now}
            kept = self._reviews.get(right)
        if kept is not None:
            return kept[1]
        found = self._reviewed(right)
        with self._lock:
            self._reviews[right] = now + _REVIEW_S, found
        return found

    def trial(self, kind: Kind, body: bytes) -> str:
        """Return why the server refuses an object in a dry run of its creation; empty if not.

        Raises:
            UnreachableError: the server does not answer.
        """
        reply = self._store.inquiries.trial(kind, body)
        return "" if reply.outcome is WriteOutcome.OK else reply.message

    def served_kind(self, stated: Kind) -> Kind:
        """Return the cluster's kind of an object's ``apiVersion`` and ``kind``.

        Raises:
            NotFoundError: the cluster does not serve it.
            UnreachableError: the server does not answer.
        """
        if stated in TABLE:
            return stated
        served = self._store.inquiries.survey().result().kinds or ()
        wanted = stated.api_version, stated.kind
        for each in served:
            if (each.api_version, each.kind) == wanted:
                return each
        text = "the cluster does not serve it"
        raise NotFoundError(f"kind {' '.join(wanted)}", text, "create its definition first")

    def _reviewed(self, right: ObjectRight) -> str:
        """Return why the server does not grant a right; empty if the server grants it."""
        try:
            verdict = self._store.inquiries.review(lambda reviews: reviews.own_access(right))
        except StrettoError as error:
            return str(error)
        if verdict.is_allowed:
            return ""
        return f"{self.name} may not {right.text}" + (verdict.reason and f": {verdict.reason}")
