"""The user of a request: from its credentials, or impersonated."""

import re
from collections.abc import Callable, Iterator
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

_PREFIX: Final = "impersonate-"
_EXTRA: Final = f"{_PREFIX}extra-"
_ACCOUNT: Final = re.compile(r"system:serviceaccount:([^:]+):([^:]+)")


def authenticated_user(request: ApiRequest, authenticate: Callable[[str], User | None]) -> User:
    """Return the user of a request's credentials: of its certificate, otherwise of its token.

    Raises:
        ApiError: the token is unknown.
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
    """Return the user that a request impersonates, or the user itself.

    Raises:
        ApiError: the user may not impersonate another user, or the headers contain no name.
    """
    if not any(each.startswith(_PREFIX) for each in request.headers):
        return user
    wanted = _wanted(request)
    if wanted == User(""):
        return user
    if not wanted.name:
        raise _nameless(wanted)
    account = _ACCOUNT.fullmatch(wanted.name)
    for each in _impersonations(wanted):
        if not access_of(storage, user, each).allowed:
            raise _refused(user, request, each, verb)
    groups = wanted.groups
    if account is not None and not groups:
        groups = ("system:serviceaccounts", f"system:serviceaccounts:{account[1]}")
    is_known = wanted.name != ANONYMOUS.name and UNAUTHENTICATED not in groups
    own = (AUTHENTICATED,) if is_known else (UNAUTHENTICATED,) * (wanted.name == ANONYMOUS.name)
    found = User(wanted.name, wanted.uid, tuple(dict.fromkeys([*groups, *own])), wanted.extra)
    request.notes.impersonate(found)
    return found


def _wanted(request: ApiRequest) -> User:
    """The user in the impersonation headers; without a name and other values if there are none."""
    groups = [each.strip() for each in request.header("impersonate-group").split(",") if each]
    extra = {
        unquote(key.removeprefix(_EXTRA)).lower(): tuple(value.split(","))
        for key, value in request.headers.items()
        if key.startswith(_EXTRA)
    }
    name, uid = request.header("impersonate-user"), request.header("impersonate-uid")
    return User(name, uid, tuple(groups), extra)


def _nameless(wanted: User) -> ApiError:
    """400 about a user without a name."""
    shown = "[]string(nil)"
    if wanted.groups:
        shown = f"[]string{{{', '.join(_quoted(each) for each in wanted.groups)}}}"
    text = (
        f'requested &user.DefaultInfo{{Name:"", UID:"{wanted.uid}", Groups:{shown}, '
        "Extra:map[string][]string(nil)} without impersonating a user name"
    )
    return DeniedError(400, "BadRequest", text)


def _impersonations(wanted: User) -> Iterator[AccessRequest]:
    """Yield the rights that impersonation needs: one for every attribute of the other user."""
    verb, group = "impersonate", "authentication.k8s.io"
    account = _ACCOUNT.fullmatch(wanted.name)
    if account is None:
        yield AccessRequest(verb, "", "users", "", "", wanted.name)
    else:
        yield AccessRequest(verb, "", "serviceaccounts", "", account[1], account[2])
    if wanted.uid:
        yield AccessRequest(verb, group, "uids", "", "", wanted.uid)
    for each in wanted.groups:
        yield AccessRequest(verb, "", "groups", "", "", each)
    for key, values in wanted.extra.items():
        for value in values:
            yield AccessRequest(verb, group, "userextras", key, "", value)


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
