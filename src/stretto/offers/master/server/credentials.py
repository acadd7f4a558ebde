"""Authentication of requests: HTTP basic and bearer."""

import base64
import binascii
import hmac
from pathlib import Path
from typing import Final

import msgspec

from stretto.base.errors import InputError

CHALLENGE: Final = 'Basic realm="mesos-master", Bearer'
"""The value of WWW-Authenticate."""


class Credential(msgspec.Struct, frozen=True):
    """One entry of a credentials file."""

    #: Name of the client.
    principal: str
    #: Password of basic authentication; also a bearer token.
    secret: str


class CredentialFile(msgspec.Struct, frozen=True):
    """A credentials file in Mesos' JSON format."""

    #: Entries.
    credentials: tuple[Credential, ...]


class Authenticator:
    """Determines the principal of a request."""

    def __init__(self, credentials: tuple[Credential, ...]) -> None:
        """Accept these credentials; without credentials authentication is disabled."""
        self._credentials = credentials

    @property
    def required(self) -> bool:
        """True if requests need credentials."""
        return bool(self._credentials)

    def principal(self, authorization: str | None) -> str | None:
        """The principal of an Authorization header; ``None`` without valid credentials."""
        scheme, _, value = (authorization or "").partition(" ")
        if scheme.lower() == "bearer":
            return self._holder(value.strip())
        if scheme.lower() != "basic":
            return None
        try:
            name, _, secret = base64.b64decode(value, validate=True).decode().partition(":")
        except (binascii.Error, UnicodeDecodeError):
            return None
        return name if self._holder(secret, name) == name else None

    def _holder(self, secret: str, name: str | None = None) -> str | None:
        found = None
        for each in self._credentials:
            same = hmac.compare_digest(each.secret.encode(), secret.encode())
            if same and name in (None, each.principal):
                found = each.principal
        return found


def read_credentials(path: Path) -> tuple[Credential, ...]:
    """The entries of a credentials file, JSON or lines with principal and secret.

    Raises:
        InputError: the file cannot be read, or has an entry without a secret.
    """
    expected = '{"credentials": [{"principal": "a", "secret": "b"}]}, or lines "principal secret"'
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InputError("--credentials", str(path), f"a readable file: {error}") from error
    if data.lstrip().startswith(b"{"):
        try:
            return msgspec.json.decode(data, type=CredentialFile).credentials
        except msgspec.DecodeError as error:
            raise InputError(str(path), None, f"{expected} ({error})") from error
    entries = [line.split() for line in data.decode(errors="replace").splitlines() if line.strip()]
    if not entries or any(len(entry) != 2 for entry in entries):
        raise InputError(str(path), None, expected, "write one pair per line")
    return tuple(Credential(*entry) for entry in entries)
