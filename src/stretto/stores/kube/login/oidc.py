"""OpenID Connect in a kubeconfig (``auth-provider: oidc``): the id token and its renewal.

The issuer must use https (except on loopback), and is verified against the authority in the
kubeconfig or those of the system. New tokens stay in memory; only kubectl writes the file.
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
"""Seconds before the expiry at which a token counts as expired."""
MOST_BYTES: Final = 1 << 20
"""Maximum bytes of an issuer's answer."""
_ANSWER_WITHIN: Final = 10.0
_LOOPBACK: Final = ("127.0.0.1", "localhost", "::1")
_HINT: Final = "log in again with the tool that wrote the kubeconfig"


class _Claims(msgspec.Struct, frozen=True):
    """Claims of a token."""

    #: Expiry in seconds of Unix time; ``None``: the token never expires.
    exp: float | None = None


class _Tokens(msgspec.Struct, frozen=True):
    """Token response of an issuer."""

    #: The token for the API server.
    id_token: str
    #: Refresh token for the next request; empty if the last one remains valid.
    refresh_token: str = ""


class _Issuer(msgspec.Struct, frozen=True):
    """Discovery document of an issuer."""

    #: Token endpoint.
    token_endpoint: str


class OidcTokens:
    """Tokens of one user of a kubeconfig."""

    def __init__(self, clock: Clock | None = None) -> None:
        """Create the tokens; no request has been sent yet."""
        self._clock = clock or WallClock()
        # Renewed tokens, by the refresh token in the file.
        self._renewed: dict[str, _Tokens] = {}

    async def token(self, config: Mapping[str, Any]) -> str:
        """Return the id token; request a new one if the last has expired.

        Args:
            config: the ``config`` of the kubeconfig's ``auth-provider``.

        Raises:
            InputError: there is no token, and none can be obtained.
        """
        first = str(config.get("refresh-token") or "")
        renewed = self._renewed.get(first)
        token = renewed.id_token if renewed is not None else str(config.get("id-token") or "")
        if token and not self._is_over(token):
            return token
        refresh = renewed.refresh_token if renewed is not None else first
        if not refresh:
            raise InputError("oidc: id-token", None, "one that is valid, or a refresh-token", _HINT)
        got = await _request_tokens(config, refresh)
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


async def _request_tokens(config: Mapping[str, Any], refresh: str) -> _Tokens:
    """Request new tokens from the issuer."""
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
            async with session.get(where, ssl=context, allow_redirects=False) as response:
                end = msgspec.json.decode(await _body(response), type=_Issuer).token_endpoint
            _must_be_safe("oidc: token_endpoint", end)
            async with session.post(end, data=form, ssl=context, allow_redirects=False) as response:
                return msgspec.json.decode(await _body(response), type=_Tokens)
    except (aiohttp.ClientError, LostError, OSError, ValueError, msgspec.DecodeError) as error:
        why = str(error) or type(error).__name__
        raise InputError("oidc: the issuer", issuer, f"a new id-token: {why}", _HINT) from error


async def _body(response: aiohttp.ClientResponse) -> bytes:
    """The body of a successful answer."""
    body = await body_of(response, MOST_BYTES)
    if response.status != 200:
        text = body[:200].decode("utf-8", "replace")
        raise ValueError(f"it answered {response.status}: {text}")
    return body


def _trust(config: Mapping[str, Any]) -> ssl.SSLContext:
    """TLS context for the issuer: the authority in the kubeconfig, or those of the system."""
    data, file = (config.get(f"idp-certificate-authority{end}") for end in ("-data", ""))
    try:
        text = base64.b64decode(str(data)).decode("ascii") if data else None
        return verifying_context(cadata=text, cafile=str(file) if file else None)
    except (OSError, ValueError) as error:
        where = "oidc: idp-certificate-authority"
        raise InputError(where, file, f"a PEM certificate: {error}") from error


def _must_be_safe(where: str, address: str) -> None:
    expected = "an https address, because the request contains tokens"
    try:
        parts = urlsplit(address)
    except ValueError as error:
        raise InputError(where, address, expected, str(error)) from error
    if parts.scheme != "https" and not (parts.scheme == "http" and parts.hostname in _LOOPBACK):
        raise InputError(where, address or None, expected)
