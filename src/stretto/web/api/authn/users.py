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
    #: Groups, without those that every authenticated user has.
    groups: tuple[str, ...] = ()
    #: Further facts by key.
    extra: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


AUTHENTICATED: Final = "system:authenticated"
"""Group of every user with credentials."""
UNAUTHENTICATED: Final = "system:unauthenticated"
"""Group of requests without credentials."""
MASTERS: Final = "system:masters"
"""Group that may do everything."""
ANONYMOUS: Final = User("system:anonymous", "", (UNAUTHENTICATED,))
"""The user of a request without credentials."""


def certificate_user(decoded: Mapping[str, Any]) -> User | None:
    """The user that a client certificate names: its CN, and each O as a group.

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
        """Users by token."""
        self._users = {token: authenticated(user) for token, user in users.items()}

    def user(self, token: str) -> User | None:
        """The user of a token, with the group of all authenticated users; ``None`` if unknown."""
        return self._users.get(token)


def authenticated(user: User) -> User:
    """A user with the group of all authenticated users."""
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
