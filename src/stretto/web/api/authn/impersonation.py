"""Impersonation: the user in the headers of a request, and the rights that it needs.

The modes are tried in order. A constrained mode needs a right to the request itself
(``impersonate-on:MODE:VERB``) and a right to each attribute (``impersonate:MODE``); the last mode
only needs the rights of the verb ``impersonate``. The order, the verbs and the texts are those of
``pkg/endpoints/filters/impersonation`` in kube-apiserver.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import unquote

from msgspec.structs import replace

from stretto.api.checks.fields.errors import quoted
from stretto.api.checks.fields.texts import dns_subdomain
from stretto.web.api.authn.users import (
    ACCOUNT_PREFIX,
    ANONYMOUS,
    AUTHENTICATED,
    MASTERS,
    UNAUTHENTICATED,
    User,
    account_groups,
)
from stretto.web.api.authz.nodes import user_access
from stretto.web.api.authz.requests import denied
from stretto.web.api.authz.rules import AccessRequest
from stretto.web.api.failures import ApiError, DeniedError
from stretto.web.api.message import ApiRequest
from stretto.web.api.storage import ObjectStorage

_PREFIX: Final = "impersonate-"
_EXTRA: Final = f"{_PREFIX}extra-"
_ACCOUNT: Final = re.compile(rf"{ACCOUNT_PREFIX}([^:]+):([^:]+)")
_NODE: Final = "system:node:"
_NODES: Final = "system:nodes"
_NODE_NAME: Final = "authentication.kubernetes.io/node-name"
"""Attribute of an account with the node of its pod."""
_AUTHN: Final = "authentication.k8s.io"
_MANY: Final = 4
"""Attributes for which a right to all of them is tried first."""


@dataclass(frozen=True)
class _Mode:
    """A way to impersonate."""

    #: Its name; empty for the one without constraints.
    name: str

    @property
    def verb(self) -> str:
        """Verb of the rights to attributes."""
        return f"impersonate:{self.name}" if self.name else "impersonate"

    @property
    def group(self) -> str:
        """API group of users and groups."""
        return _AUTHN if self.name else ""


_ASSOCIATED: Final = _Mode("associated-node")
_NODE_MODE: Final = _Mode("arbitrary-node")
_ACCOUNT_MODE: Final = _Mode("serviceaccount")
_USER: Final = _Mode("user-info")
_FREE: Final = _Mode("")


def impersonated(
    storage: ObjectStorage, user: User, request: ApiRequest, wanted: AccessRequest
) -> User:
    """Return the user that a request impersonates, or the user itself.

    Args:
        storage: the roles.
        user: the user of the credentials.
        request: the request.
        wanted: the access that it needs.

    Raises:
        ApiError: the user may not impersonate another user, or the headers contain no name.
    """
    if _PREFIX not in " ".join(request.headers):
        return user
    other = _stated(request.headers)
    if not other.name:
        if other != User(""):
            raise _nameless(other)
        return user
    check = _Check(storage, user, other)
    refusal: ApiError | None = None
    for mode in _modes(user, other):
        try:
            found = check.passed(mode, wanted)
        except ApiError as error:
            refusal = refusal or error
            continue
        request.notes.impersonate(found)
        return found
    assert refusal is not None  # the last mode returns a user or a refusal
    raise refusal


def _modes(user: User, other: User) -> Iterator[_Mode]:
    """Yield the modes that apply to an impersonated user."""
    node, account = _node_name(other.name), _ACCOUNT.fullmatch(other.name)
    is_plain = not (other.uid or other.groups or other.extra)
    if is_plain and node:
        if _ACCOUNT.fullmatch(user.name) and tuple(user.extra.get(_NODE_NAME, ())) == (node,):
            yield _ASSOCIATED
        yield _NODE_MODE
    if is_plain and account:
        yield _ACCOUNT_MODE
    if not node and not account:
        yield _USER
    yield _FREE


def _node_name(name: str) -> str:
    """Return the node that a user is; empty for other users."""
    node = name.removeprefix(_NODE) if name.startswith(_NODE) else ""
    return "" if dns_subdomain(node) else node


class _Check:
    """The checks of the rights to impersonate a user."""

    def __init__(self, storage: ObjectStorage, user: User, other: User) -> None:
        self._storage = storage
        self._user = user
        self._other = other

    def passed(self, mode: _Mode, wanted: AccessRequest) -> User:
        """Return the impersonated user.

        Raises:
            ApiError: the user lacks a right that the mode needs.
        """
        if mode.name:
            self._need(replace(wanted, verb=f"impersonate-on:{mode.name}:{wanted.verb}"))
        self._need(self._subject(mode))
        other = self._other
        if other.uid:
            self._need(AccessRequest(mode.verb, _AUTHN, "uids", "", "", other.uid))
        self._check_groups(mode)
        self._check_extra(mode)
        return self._completed(mode)

    def _need(self, wanted: AccessRequest) -> None:
        found = user_access(self._storage, self._user, wanted, {})
        if not found.allowed:
            raise denied(self._user, wanted, found.reason)

    def _has(self, wanted: AccessRequest) -> bool:
        return user_access(self._storage, self._user, wanted, {}).allowed

    def _subject(self, mode: _Mode) -> AccessRequest:
        """Return the right to the name of the impersonated user."""
        name = self._other.name
        node, account = _node_name(name), _ACCOUNT.fullmatch(name)
        if mode.name and node:
            shown = "*" if mode == _ASSOCIATED else node
            return AccessRequest(mode.verb, mode.group, "nodes", "", "", shown)
        if account is not None:
            kind = "serviceaccounts"
            return AccessRequest(mode.verb, mode.group, kind, "", account[1], account[2])
        return AccessRequest(mode.verb, mode.group, "users", "", "", name)

    def _check_groups(self, mode: _Mode) -> None:
        groups = self._other.groups
        wanted = AccessRequest(mode.verb, mode.group, "groups")
        if mode.name and "" in groups:
            text = "impersonating the empty string group is not allowed"
            raise denied(self._user, wanted, text)
        if mode.name and MASTERS in groups:
            text = "impersonating the system:masters group is not allowed"
            raise denied(self._user, replace(wanted, name=MASTERS), text)
        is_all = mode.name and len(groups) >= _MANY
        if is_all and self._has(replace(wanted, name="*")):
            return
        for each in groups:
            self._need(replace(wanted, name=each))

    def _check_extra(self, mode: _Mode) -> None:
        extra = self._other.extra
        wanted = AccessRequest(mode.verb, _AUTHN, "userextras")
        problem = _extra_problem(extra) if mode.name else ""
        if problem:
            raise denied(self._user, wanted, problem)
        count = max(len(extra), sum(map(len, extra.values())))
        is_all = mode.name and count >= _MANY
        if is_all and self._has(replace(wanted, subresource="*", name="*")):
            return
        for key, values in extra.items():
            for value in values:
                self._need(replace(wanted, subresource=key, name=value))

    def _completed(self, mode: _Mode) -> User:
        """Return the impersonated user with the groups that its name determines."""
        other = self._other
        groups = other.groups
        account = _ACCOUNT.fullmatch(other.name)
        if mode.name and _node_name(other.name):
            groups = (_NODES,)
        elif account is not None and not groups:
            groups = account_groups(account[1])
        if other.name == ANONYMOUS.name:
            groups = (*groups, UNAUTHENTICATED)
        elif UNAUTHENTICATED not in groups:
            groups = (*groups, AUTHENTICATED)
        return User(other.name, other.uid, tuple(dict.fromkeys(groups)), other.extra)


def _extra_problem(extra: Mapping[str, tuple[str, ...]]) -> str:
    """Return why attributes are refused by the constrained modes; empty if they are not."""
    for key, values in extra.items():
        if not key:
            return "impersonating the empty string key in extra is not allowed"
        if "" in values:
            return "impersonating the empty string value in extra is not allowed"
    return ""


def _stated(headers: Mapping[str, str]) -> User:
    """Return the user in the headers; without a name and other values if there are none."""
    stated = headers.get(f"{_PREFIX}group")
    groups = () if stated is None else tuple(each.strip() for each in stated.split(","))
    extra = {
        unquote(key.removeprefix(_EXTRA)).lower(): tuple(value.split(","))
        for key, value in headers.items()
        if key.startswith(_EXTRA)
    }
    name, uid = headers.get(f"{_PREFIX}user", ""), headers.get(f"{_PREFIX}uid", "")
    return User(name, uid, groups, extra)


def _nameless(wanted: User) -> ApiError:
    """400 about a user without a name."""
    groups = _shown(wanted.groups) if wanted.groups else "[]string(nil)"
    entries = (f"{quoted(key)}:{_shown(values)}" for key, values in sorted(wanted.extra.items()))
    extra = f"{{{', '.join(entries)}}}" if wanted.extra else "(nil)"
    text = (
        f'requested &user.DefaultInfo{{Name:"", UID:{quoted(wanted.uid)}, Groups:{groups}, '
        f"Extra:map[string][]string{extra}}} without impersonating a user name"
    )
    return DeniedError(400, "BadRequest", text)


def _shown(values: tuple[str, ...]) -> str:
    return f"[]string{{{', '.join(map(quoted, values))}}}"
