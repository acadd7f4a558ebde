"""The secret of a cluster: credentials for joining, and the token that joining obtains."""

import base64
import binascii
from typing import Final

from stretto.base.errors import InputError
from stretto.federation.connection.protocol import ClusterCredentials
from stretto.reconcile.cache import Fields, StoredObject

AUTHORITY: Final = "certificate-authority-data"
"""Certificate authority of the member's API server."""
CERTIFICATE: Final = "client-certificate-data"
"""Client certificate for joining."""
KEY: Final = "client-key-data"
"""Key of the client certificate."""
BOOTSTRAP_TOKEN: Final = "bootstrap-token-data"
"""Token for joining, instead of a client certificate."""
ACCOUNT_TOKEN: Final = "service-account-token-data"
"""Token of the service account in the member; written by the federation."""


def read_credentials(secret: StoredObject) -> ClusterCredentials:
    """The credentials of a secret.

    Raises:
        InputError: a value is malformed.
    """
    where = "/".join(secret.name)
    data = secret.fields.get("data") or {}
    return ClusterCredentials(
        where,
        _decoded(where, data, AUTHORITY),
        _decoded(where, data, CERTIFICATE),
        _decoded(where, data, KEY),
        _text(where, data, BOOTSTRAP_TOKEN),
        _text(where, data, ACCOUNT_TOKEN),
    )


def with_account_token(secret: StoredObject, token: str | None) -> Fields | None:
    """The secret with or without the token of the service account; ``None`` if nothing changes."""
    data = dict(secret.fields.get("data") or {})
    before = data.pop(ACCOUNT_TOKEN, None)
    after = base64.b64encode(token.encode()).decode() if token is not None else None
    if before == after:
        return None
    if after is not None:
        data[ACCOUNT_TOKEN] = after
    return {**secret.fields, "data": data}


def _decoded(where: str, data: Fields, key: str) -> bytes:
    """The value of a key; empty if the key is absent.

    Raises:
        InputError: the value is not base64.
    """
    text = data.get(key) or ""
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError, TypeError) as error:
        raise InputError(f"secret {where}: data.{key}", None, "base64", str(error)) from error


def _text(where: str, data: Fields, key: str) -> str:
    """The value of a key as text without trailing line breaks.

    Raises:
        InputError: the value is not base64 of ASCII text.
    """
    try:
        return _decoded(where, data, key).decode("ascii").strip()
    except UnicodeDecodeError as error:
        raise InputError(f"secret {where}: data.{key}", None, "a token of ASCII text") from error
