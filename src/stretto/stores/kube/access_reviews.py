"""Who somebody is, and what they may see: asked of the API server, which knows.

A daemon that serves metrics beyond its machine believes nobody by itself. It hands the token that
came along to the server (TokenReview), and asks whether that user may read the path
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
    """Somebody whom the server knows."""

    #: The name.
    username: str = ""
    #: Identity beside the name.
    uid: str = ""
    #: Groups that they are in.
    groups: tuple[str, ...] = ()
    #: What else their login says.
    extra: dict[str, tuple[str, ...]] = {}


class _Authentication(msgspec.Struct, frozen=True):
    """What a TokenReview came to."""

    #: Whether the token is good.
    authenticated: bool = False
    #: Whose it is.
    user: AuthenticatedUser = AuthenticatedUser()


class _Access(msgspec.Struct, frozen=True):
    """What a SubjectAccessReview came to."""

    #: Whether they may.
    allowed: bool = False


class _TokenReview(msgspec.Struct, frozen=True):
    """The answer to one."""

    #: What it came to.
    status: _Authentication = _Authentication()


class _AccessReview(msgspec.Struct, frozen=True):
    """The answer to one."""

    #: What it came to.
    status: _Access = _Access()


class AccessReviews:
    """Questions through one sender."""

    def __init__(self, sender: RequestSender) -> None:
        self._sender = sender

    async def caller(self, token: str) -> AuthenticatedUser | None:
        """Whose a token is; ``None`` where the server does not take it.

        Raises:
            UnreachableError: the server does not answer.
            NotAllowedError: the right to ask is missing.
        """
        body = await self._asked(TOKEN_REVIEW, {"token": token})
        found = msgspec.json.decode(body, type=_TokenReview).status
        return found.user if found.authenticated else None

    async def may_get(self, caller: AuthenticatedUser, path: str) -> bool:
        """Whether somebody may read a path that is no object's.

        Raises:
            UnreachableError: the server does not answer.
            NotAllowedError: the right to ask is missing.
        """
        who = {"user": caller.username, "uid": caller.uid, "groups": caller.groups}
        about = {"path": path, "verb": "get"}
        spec = {**who, "extra": caller.extra, "nonResourceAttributes": about}
        body = await self._asked(ACCESS_REVIEW, spec)
        return msgspec.json.decode(body, type=_AccessReview).status.allowed

    async def _asked(self, kind: Kind, spec: dict[str, Any]) -> bytes:
        whole = {"apiVersion": kind.api_version, "kind": kind.kind, "spec": spec}
        request = HttpRequest("POST", collection_path(kind), msgspec.json.encode(whole))
        what = f"create {kind.resource}"
        batch = WriteBatch(self._sender.options.write_patience)
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
