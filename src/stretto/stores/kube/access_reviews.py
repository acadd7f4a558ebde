"""Authentication and authorization of callers, delegated to the API server.

A daemon that serves metrics to other machines trusts no caller by itself. It sends the caller's
token to the server (TokenReview) and checks whether that user may read the path
(SubjectAccessReview), as Kubernetes' own components do.
"""

from typing import Any, Final

import msgspec

from stretto.api.wire.kinds import Kind
from stretto.base.errors import NotAllowedError, StrettoError, UnreachableError
from stretto.stores.kube.login.messages import HttpRequest
from stretto.stores.kube.paths import collection_path
from stretto.stores.kube.transport.answers import status_of
from stretto.stores.kube.transport.gates import RequestPurpose
from stretto.stores.kube.transport.retry import RequestSender, WriteBatch, WriteInFlight
from stretto.stores.store import Reply

TOKEN_REVIEW: Final = Kind(
    "authentication.k8s.io", "v1", "TokenReview", "tokenreviews", namespaced=False
)
ACCESS_REVIEW: Final = Kind(
    "authorization.k8s.io", "v1", "SubjectAccessReview", "subjectaccessreviews", namespaced=False
)


class AuthenticatedUser(msgspec.Struct, frozen=True):
    """A user known to the server."""

    #: User name.
    username: str = ""
    #: Uid of the user.
    uid: str = ""
    #: Groups of the user.
    groups: tuple[str, ...] = ()
    #: Further attributes of the login.
    extra: dict[str, tuple[str, ...]] = {}


class _Authentication(msgspec.Struct, frozen=True):
    """Status of a TokenReview."""

    #: Whether the token is valid.
    authenticated: bool = False
    #: Its user.
    user: AuthenticatedUser = AuthenticatedUser()


class _Access(msgspec.Struct, frozen=True):
    """Status of a SubjectAccessReview."""

    #: Whether access is allowed.
    allowed: bool = False


class _TokenReview(msgspec.Struct, frozen=True):
    """A TokenReview as answered."""

    #: Its status.
    status: _Authentication = _Authentication()


class _AccessReview(msgspec.Struct, frozen=True):
    """A SubjectAccessReview as answered."""

    #: Its status.
    status: _Access = _Access()


class AccessReviews:
    """Sends reviews."""

    def __init__(self, sender: RequestSender) -> None:
        self._sender = sender

    async def caller(self, token: str) -> AuthenticatedUser | None:
        """The user of a token; ``None`` if the server rejects it.

        Raises:
            UnreachableError: the server does not answer.
            NotAllowedError: the permission to create reviews is missing.
        """
        body = await self._review(TOKEN_REVIEW, {"token": token})
        found = msgspec.json.decode(body, type=_TokenReview).status
        return found.user if found.authenticated else None

    async def may_get(self, caller: AuthenticatedUser, path: str) -> bool:
        """Whether a user may read a non-resource path.

        Raises:
            UnreachableError: the server does not answer.
            NotAllowedError: the permission to create reviews is missing.
        """
        who = {"user": caller.username, "uid": caller.uid, "groups": caller.groups}
        about = {"path": path, "verb": "get"}
        spec = {**who, "extra": caller.extra, "nonResourceAttributes": about}
        body = await self._review(ACCESS_REVIEW, spec)
        return msgspec.json.decode(body, type=_AccessReview).status.allowed

    async def _review(self, kind: Kind, spec: dict[str, Any]) -> bytes:
        whole = {"apiVersion": kind.api_version, "kind": kind.kind, "spec": spec}
        request = HttpRequest("POST", collection_path(kind), msgspec.json.encode(whole))
        what = f"create {kind.resource}"
        batch = WriteBatch(self._sender.options.write_timeout)
        answer = await self._sender.write(
            WriteInFlight(RequestPurpose.REVIEW, request, what, repeatable=True), batch
        )
        if isinstance(answer, Reply):
            raise UnreachableError("the API server", answer.message)
        if answer.status == 403:
            hint = f"grant it in a ClusterRole: create {kind.resource}"
            raise NotAllowedError(what, status_of(answer).message, hint)
        if answer.status != 201:
            raise StrettoError(f"{what}: {status_of(answer).message}")
        return answer.body
