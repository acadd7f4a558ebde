"""Authentication and authorization of callers and of this client, delegated to the API server.

A daemon that serves metrics to other machines trusts no caller by itself. It sends the caller's
token to the server (TokenReview) and checks whether that user may read the path
(SubjectAccessReview), as Kubernetes' own components do. A dashboard offers only the actions that
the server allows its own user (SelfSubjectAccessReview).
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
from stretto.stores.rights import AccessVerdict, ObjectRight
from stretto.stores.store import Reply

TOKEN_REVIEW: Final = Kind(
    "authentication.k8s.io", "v1", "TokenReview", "tokenreviews", namespaced=False
)
ACCESS_REVIEW: Final = Kind(
    "authorization.k8s.io", "v1", "SubjectAccessReview", "subjectaccessreviews", namespaced=False
)

OWN_ACCESS_REVIEW: Final = Kind(
    "authorization.k8s.io",
    "v1",
    "SelfSubjectAccessReview",
    "selfsubjectaccessreviews",
    namespaced=False,
)
OWN_REVIEW: Final = Kind(
    "authentication.k8s.io", "v1", "SelfSubjectReview", "selfsubjectreviews", namespaced=False
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

    #: True if the token is valid.
    authenticated: bool = False
    #: Its user.
    user: AuthenticatedUser = AuthenticatedUser()


class _Access(msgspec.Struct, frozen=True):
    """Status of a SubjectAccessReview or SelfSubjectAccessReview."""

    #: True if access is allowed.
    allowed: bool = False
    #: Reason.
    reason: str = ""


class _TokenReview(msgspec.Struct, frozen=True):
    """A TokenReview, as returned by the server."""

    #: Its status.
    status: _Authentication = _Authentication()


class _AccessReview(msgspec.Struct, frozen=True):
    """A SubjectAccessReview or SelfSubjectAccessReview, as returned by the server."""

    #: Its status.
    status: _Access = _Access()


class _OwnIdentity(msgspec.Struct, frozen=True, rename="camel"):
    """Status of a SelfSubjectReview."""

    #: The user of the request.
    user_info: AuthenticatedUser = AuthenticatedUser()


class _OwnReview(msgspec.Struct, frozen=True):
    """A SelfSubjectReview, as returned by the server."""

    #: Its status.
    status: _OwnIdentity = _OwnIdentity()


class AccessReviews:
    """Sender of reviews."""

    def __init__(self, sender: RequestSender) -> None:
        self._sender = sender

    async def caller(self, token: str) -> AuthenticatedUser | None:
        """Return the user of a token; ``None`` if the server rejects the token.

        Raises:
            UnreachableError: the server does not answer.
            NotAllowedError: the permission to create reviews is missing.
        """
        body = await self._review(TOKEN_REVIEW, {"token": token})
        found = msgspec.json.decode(body, type=_TokenReview).status
        return found.user if found.authenticated else None

    async def may_get(self, caller: AuthenticatedUser, path: str) -> bool:
        """Return whether a user may read a non-resource path.

        Raises:
            UnreachableError: the server does not answer.
            NotAllowedError: the permission to create reviews is missing.
        """
        who = {"user": caller.username, "uid": caller.uid, "groups": caller.groups}
        about = {"path": path, "verb": "get"}
        spec = {**who, "extra": caller.extra, "nonResourceAttributes": about}
        body = await self._review(ACCESS_REVIEW, spec)
        return msgspec.json.decode(body, type=_AccessReview).status.allowed

    async def own_access(self, right: ObjectRight) -> AccessVerdict:
        """Return the server's verdict on a right of this client's own user.

        Raises:
            UnreachableError: the server does not answer.
            NotAllowedError: the permission to create reviews is missing.
        """
        kind = right.kind
        about = {
            "verb": right.verb,
            "group": kind.group,
            "version": kind.version,
            "resource": kind.plural,
            "subresource": right.subresource,
            "namespace": right.namespace,
            "name": right.name,
        }
        spec = {"resourceAttributes": {key: value for key, value in about.items() if value}}
        body = await self._review(OWN_ACCESS_REVIEW, spec)
        found = msgspec.json.decode(body, type=_AccessReview).status
        return AccessVerdict(found.allowed, found.reason)

    async def own_user(self) -> AuthenticatedUser:
        """Return this client's own user, as authenticated by the server.

        Raises:
            UnreachableError: the server does not answer.
            StrettoError: the server does not support this review.
        """
        body = await self._review(OWN_REVIEW, None)
        return msgspec.json.decode(body, type=_OwnReview).status.user_info

    async def _review(self, kind: Kind, spec: dict[str, Any] | None) -> bytes:
        whole: dict[str, Any] = {"apiVersion": kind.api_version, "kind": kind.kind}
        if spec is not None:
            whole["spec"] = spec
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
