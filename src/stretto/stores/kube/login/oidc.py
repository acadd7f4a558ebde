"""OpenID Connect in a kubeconfig (``auth-provider: oidc``): the id token, and a new one in time.

The issuer must be https (loopback aside) and is checked against the kubeconfig's authority, or the
system's. New tokens are kept in memory; the file is kubectl's to write.
"""

import base64
import ssl
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import quote, urlsplit

import aiohttp
import msgspec

from stretto.base.clock import Clock, WallClock
from stretto.base.errors import InputError
from stretto.stores.kube.login.messages import LostError, body_of
from stretto.stores.kube.login.trust import verifying_context

EARLY: Final = 10.0
"""Seconds before its end at which a token counts as expired."""
MOST_BYTES: Final = 1 << 20
"""No answer of an issuer is longer."""
_ANSWER_WITHIN: Final = 10.0
_LOOPBACK: Final = ("127.0.0.1", "localhost", "::1")
_HINT: Final = "log in again with the tool that wrote the kubeconfig"


class _Claims(msgspec.Struct, frozen=True):
    """What a token says of itself."""

    #: When it ends, in seconds of Unix time; ``None`` for never.
    exp: float | None = None


class _Tokens(msgspec.Struct, frozen=True):
    """What an issuer gives."""

    #: The token for the API server.
    id_token: str
    #: What the next one is asked for with; empty where the last one goes on.
    refresh_token: str = ""


class _Issuer(msgspec.Struct, frozen=True):
    """What an issuer says of itself."""

    #: Where tokens are asked for.
    token_endpoint: str


class OidcTokens:
    """Tokens of one kubeconfig's user."""

    def __init__(self, clock: Clock | None = None) -> None:
        """Nothing was asked for yet."""
        self._clock = clock or WallClock()
        # What became of the tokens in the file, by the refresh token there.
        self._renewed: dict[str, _Tokens] = {}

    async def token(self, config: Mapping[str, Any]) -> str:
        """The id token to show; a new one where the last has expired.

        Args:
            config: the ``config`` of the kubeconfig's ``auth-provider``.

        Raises:
            InputError: there is none, and none is to be had.
        """
        first = str(config.get("refresh-token") or "")
        renewed = self._renewed.get(first)
        token = renewed.id_token if renewed is not None else str(config.get("id-token") or "")
        if token and not self._is_over(token):
            return token
        refresh = renewed.refresh_token if renewed is not None else first
        if not refresh:
            raise InputError("oidc: id-token", None, "one that is valid, or a refresh-token", _HINT)
        got = await _asked(config, refresh)
        if not got.refresh_token:
            got = msgspec.structs.replace(got, refresh_token=refresh)
        self._renewed[first] = got
        return got.id_token

    def _is_over(self, token: str) -> bool:
        try:
            part = token.split(".")[1]
            raw = base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))
            end = msgspec.json.decode(raw, type=_Claims).exp
        except (IndexError, ValueError, msgspec.DecodeError) as error:
            raise InputError("oidc: id-token", None, "a JSON web token", _HINT) from error
        return end is not None and end - EARLY <= self._clock.now()


async def _asked(config: Mapping[str, Any], refresh: str) -> _Tokens:
    """New tokens of the issuer."""
    issuer, client = str(config.get("idp-issuer-url") or ""), str(config.get("client-id") or "")
    context = _trust(config)
    _must_be_safe("oidc: idp-issuer-url", issuer)
    form = {"grant_type": "refresh_token", "refresh_token": refresh}
    secret, headers = str(config.get("client-secret") or ""), dict[str, str]()
    if secret:
        login = base64.b64encode(f"{quote(client)}:{quote(secret)}".encode()).decode()
        headers["Authorization"] = f"Basic {login}"
    else:
        form["client_id"] = client
    times = aiohttp.ClientTimeout(total=_ANSWER_WITHIN)
    try:
        async with aiohttp.ClientSession(headers=headers, timeout=times, trust_env=True) as session:
            where = f"{issuer.rstrip('/')}/.well-known/openid-configuration"
            async with session.get(where, ssl=context, allow_redirects=False) as said:
                end = msgspec.json.decode(await _body(said), type=_Issuer).token_endpoint
            _must_be_safe("oidc: token_endpoint", end)
            async with session.post(end, data=form, ssl=context, allow_redirects=False) as said:
                return msgspec.json.decode(await _body(said), type=_Tokens)
    except (aiohttp.ClientError, LostError, OSError, ValueError, msgspec.DecodeError) as error:
        why = str(error) or type(error).__name__
        raise InputError("oidc: the issuer", issuer, f"a new id-token: {why}", _HINT) from error


async def _body(response: aiohttp.ClientResponse) -> bytes:
    """The body of an answer that is one."""
    body = await body_of(response, MOST_BYTES)
    if response.status != 200:
        text = body[:200].decode("utf-8", "replace")
        raise ValueError(f"it answered {response.status}: {text}")
    return body


def _trust(config: Mapping[str, Any]) -> ssl.SSLContext:
    """Whom to trust: the kubeconfig's authority for the issuer, or the system's."""
    data, file = (config.get(f"idp-certificate-authority{end}") for end in ("-data", ""))
    try:
        text = base64.b64decode(str(data)).decode("ascii") if data else None
        return verifying_context(cadata=text, cafile=str(file) if file else None)
    except (OSError, ValueError) as error:
        where = "oidc: idp-certificate-authority"
        raise InputError(where, file, f"a PEM certificate: {error}") from error


def _must_be_safe(where: str, address: str) -> None:
    expected = "an https address, because tokens travel along"
    try:
        parts = urlsplit(address)
    except ValueError as error:
        raise InputError(where, address, expected, str(error)) from error
    if parts.scheme != "https" and not (parts.scheme == "http" and parts.hostname in _LOOPBACK):
        raise InputError(where, address or None, expected)
