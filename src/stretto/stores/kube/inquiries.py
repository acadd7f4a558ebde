"""Inquiries about an API server and its users: health, kinds, rights, usage, dry runs."""

from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import Future
from typing import Any, TypeVar

from stretto.api.wire.kinds import Kind
from stretto.stores.kube.access_reviews import AccessReviews, AuthenticatedUser
from stretto.stores.kube.session import KubeSession
from stretto.stores.kube.survey import ServerSurvey, ServerSurveys
from stretto.stores.kube.transport.event_loop import LoopThread
from stretto.stores.store import Reply

_S = TypeVar("_S")


class ServerInquiries:
    """Inquiries over the connections of a store. Any thread may call it."""

    def __init__(self, loop: LoopThread, session: KubeSession) -> None:
        """Use the event loop and the session of a store."""
        self._loop = loop
        self._reads, self._writes = session.reads, session.writes
        self._reviews = AccessReviews(session.sender)
        self._surveys = ServerSurveys(session.line)

    def survey(self) -> Future[ServerSurvey]:
        """Request the server's health and its kinds once; the result arrives later.

        The future raises a ``StrettoError`` if the server does not answer.
        """
        return self._loop.start(self._surveys.survey())

    def computed(self, kind: Kind, namespace: str, struct: type[_S]) -> Future[Sequence[_S]]:
        """Request objects that the server computes for each request; they have no versions.

        The future raises a ``StrettoError`` if the server does not answer, does not serve the kind
        or does not allow to list it.

        Args:
            kind: the kind.
            namespace: the namespace.
            struct: the type of the objects.
        """
        return self._loop.start(self._reads.computed(kind, namespace, struct))

    def caller(self, token: str) -> AuthenticatedUser | None:
        """Return the user of a token, authenticated by the server; ``None`` if it is invalid.

        Raises:
            UnreachableError: the server does not answer.
            NotAllowedError: the permission to create tokenreviews is missing.
        """
        return self._loop.run(self._reviews.caller(token))

    def may_get(self, caller: AuthenticatedUser, path: str) -> bool:
        """Return whether a user may read a path, by the server's RBAC.

        Raises:
            UnreachableError: the server does not answer.
            NotAllowedError: the permission to create subjectaccessreviews is missing.
        """
        return self._loop.run(self._reviews.may_get(caller, path))

    def review(self, begin: Callable[[AccessReviews], Coroutine[Any, Any, _S]]) -> _S:
        """Wait for the result of a review of this client's own user.

        Args:
            begin: sends the review.

        Raises:
            UnreachableError: the server does not answer.
            NotAllowedError: the permission to create the review is missing.
        """
        return self._loop.run(begin(self._reviews))

    def trial(self, kind: Kind, body: bytes) -> Reply:
        """Return the reply to the creation of an object in a dry run: the server stores nothing."""
        (reply,) = self._loop.run(self._writes.create(kind, [body], dry_run=True))
        return reply
