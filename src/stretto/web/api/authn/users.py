"""Users and the tokens that identify them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final


@dataclass(frozen=True)
class User:
    """An authenticated user."""

    #: Name.
    name: str
    #: Identity; empty if unknown.
    uid: str = ""
    #: Groups, except those of every authenticated user.
    groups: tuple[str, ...] = ()
    #: Further attributes by key.
    extra: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


AUTHENTICATED: Final = "system:authenticated"
"""Group of every user with credentials."""
UNAUTHENTICATED: Final = "system:unauthenticated"
"""Group of requests without credentials."""
MASTERS: Final = "system:masters"
"""Group with all rights."""
ACCOUNTS: Final = "system:serviceaccounts"
"""Group of all ServiceAccounts."""
ACCOUNT_PREFIX: Final = "system:serviceaccount:"
"""Prefix of the user names of ServiceAccounts; namespace and name follow."""
ANONYMOUS: Final = User("system:anonymous", "", (UNAUTHENTICATED,))
"""The user of a request without credentials."""


def account_name(namespace: str, name: str) -> str:
    """Return the user name of a ServiceAccount."""
    return f"{ACCOUNT_PREFIX}{namespace}:{name}"


def account_groups(namespace: str) -> tuple[str, str]:
    """Return the groups of the ServiceAccounts of a namespace."""
    return ACCOUNTS, f"{ACCOUNTS}:{namespace}"


def certificate_user(decoded: Mapping[str, Any]) -> User | None:
    """Return the user of a client certificate: its CN, and each O as a group.

    Args:
        decoded: the certificate as ``ssl.SSLSocket.getpeercert`` returns it.
    """
    pairs = [pair for name in decoded.get("subject", ()) for pair in name]
    name = next((value for key, value in pairs if key == "commonName"), "")
    groups = tuple(value for key, value in pairs if key == "organizationName")
    return User(name, "", groups) if name else None


class TokenTable:
    """Fixed bearer tokens."""

    def __init__(self, users: Mapping[str, User]) -> None:
        """Create a table of users by token."""
        self._users = {token: authenticated(user) for token, user in users.items()}

    def user(self, token: str) -> User | None:
        """Return the user of a token, with the group of all authenticated users, or ``None``."""
        return self._users.get(token)


def authenticated(user: User) -> User:
    """Return a user with the group of all authenticated users added."""
    if AUTHENTICATED in user.groups:
        return user
    return User(user.name, user.uid, (*user.groups, AUTHENTICATED), user.extra)


def user_info(user: User) -> dict[str, Any]:
    """Return a user as reviews and the audit log show it."""
    found: dict[str, Any] = {"username": user.name}
    if user.uid:
        found["uid"] = user.uid
    if user.groups:
        found["groups"] = list(user.groups)
    if user.extra:
        found["extra"] = {key: list(each) for key, each in user.extra.items()}
    return found
