"""Who sends a request: the bearer token, and the user that it impersonates."""

import re
from collections.abc import Callable
from typing import Final
from urllib.parse import unquote

from stretto.web.api.authn.users import (
    ANONYMOUS,
    AUTHENTICATED,
    UNAUTHENTICATED,
    User,
    authenticated,
)
from stretto.web.api.authz.requests import denied
from stretto.web.api.authz.rules import AccessRequest, access_of
from stretto.web.api.failures import ApiError, DeniedError
from stretto.web.api.message import ApiRequest
from stretto.web.api.storage import ObjectStorage

_EXTRA: Final = "impersonate-extra-"
_ACCOUNT: Final = re.compile(r"system:serviceaccount:([^:]+):([^:]+)")


def authenticated_user(request: ApiRequest, authenticate: Callable[[str], User | None]) -> User:
    """The user of the credentials of a request: of its certificate, else of its token.

    Raises:
        ApiError: the token is not known.
    """
    if request.peer is not None:
        return authenticated(request.peer)
    header = request.header("authorization").strip()
    scheme, _, token = header.partition(" ")
    token = token.strip()
    if scheme.lower() != "bearer" or not token:
        return ANONYMOUS
    user = authenticate(token)
    if user is None:
        raise ApiError(401, "Unauthorized", "Unauthorized")
    return user


def impersonated(storage: ObjectStorage, user: User, request: ApiRequest, verb: str) -> User:
    """The user that a request stands for.

    Raises:
        ApiError: the user may not stand for another, or names none.
    """
    name, uid = request.header("impersonate-user"), request.header("impersonate-uid")
    groups = [each.strip() for each in request.header("impersonate-group").split(",") if each]
    extra = {
        unquote(key.removeprefix(_EXTRA)).lower(): tuple(value.split(","))
        for key, value in request.headers.items()
        if key.startswith(_EXTRA)
    }
    if not (name or uid or groups or extra):
        return user
    if not name:
        shown = (
            f"[]string{{{', '.join(_quoted(each) for each in groups)}}}"
            if groups
            else ("[]string(nil)")
        )
        text = (
            f'requested &user.DefaultInfo{{Name:"", UID:"{uid}", Groups:{shown}, '
            "Extra:map[string][]string(nil)} without impersonating a user name"
        )
        raise DeniedError(400, "BadRequest", text)
    account = _ACCOUNT.fullmatch(name)
    wanted = AccessRequest("impersonate", "", "users", "", "", name)
    if account is not None:
        wanted = AccessRequest("impersonate", "", "serviceaccounts", "", account[1], account[2])
    if not access_of(storage, user, wanted).allowed:
        raise _refused(user, request, wanted, verb)
    if account is not None and not groups:
        groups = ["system:serviceaccounts", f"system:serviceaccounts:{account[1]}"]
    known = ANONYMOUS.name == name
    own = UNAUTHENTICATED if known else AUTHENTICATED
    return User(name, uid, tuple(dict.fromkeys([*groups, own])), extra)


def _refused(user: User, request: ApiRequest, wanted: AccessRequest, verb: str) -> ApiError:
    if wanted.resource == "serviceaccounts":
        return denied(user, wanted)
    parts = [each for each in request.path.split("/") if each]
    namespace = parts[parts.index("namespaces") + 1] if "namespaces" in parts[:-1] else ""
    resource = parts[-1] if parts else ""
    wanted_by = AccessRequest(f"impersonate-on:user-info:{verb}", "", resource, "", namespace, "")
    return denied(user, wanted_by)


def _quoted(text: str) -> str:
    return f'"{text}"'
