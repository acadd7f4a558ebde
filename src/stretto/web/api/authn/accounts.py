"""Tokens of ServiceAccounts: JSON Web Tokens (RFC 7519) that the server signs with ES256."""

import base64
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import msgspec
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import (
    decode_dss_signature,
    encode_dss_signature,
)
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from stretto.api.wire.kinds import SERVICE_ACCOUNT, Kind
from stretto.web.api.authn.users import User, account_groups, account_name, authenticated

ISSUER: Final = "https://kubernetes.default.svc"
"""Issuer and default audience of tokens."""
_HALF: Final = 32
"""Number of bytes of each integer of a signature."""
_CLAIM: Final = "kubernetes.io"
_LEEWAY: Final = 10.0
"""Tolerated clock difference in seconds."""

Json = dict[str, Any]
FindUid = Callable[[Kind, str, str], str]
"""Returns the uid of an object by kind, namespace and name; empty if it does not exist."""

_BOUND: Final = {
    "pod": Kind("", "v1", "Pod", "pods"),
    "secret": Kind("", "v1", "Secret", "secrets"),
    "node": Kind("", "v1", "Node", "nodes", namespaced=False),
}
"""Kinds to which a token can be bound, by claim name."""


@dataclass(frozen=True)
class TokenSubject:
    """The claims of a token."""

    #: Namespace of the account.
    namespace: str
    #: Name of the account.
    name: str
    #: Uid of the account.
    uid: str
    #: Audiences that accept the token.
    audiences: Sequence[str]
    #: Bound objects, which must exist: name and uid by ``pod``, ``secret`` or ``node``.
    bound: Json


class AccountTokens:
    """Issuer and verifier of tokens."""

    def __init__(self, key: bytes = b"") -> None:
        """Sign with a P-256 key in PEM; the default is a new key for this process."""
        self._pem = key

    @cached_property
    def _key(self) -> ec.EllipticCurvePrivateKey:
        if not self._pem:
            return ec.generate_private_key(ec.SECP256R1())
        found = load_pem_private_key(self._pem, None)
        assert isinstance(found, ec.EllipticCurvePrivateKey)
        return found

    def key_set(self) -> Json:
        """The key that verifies tokens, as a JSON Web Key Set (RFC 7517)."""
        numbers = self._key.public_key().public_numbers()
        x, y = (_encoded(each.to_bytes(_HALF, "big")) for each in (numbers.x, numbers.y))
        key = {"use": "sig", "kty": "EC", "crv": "P-256", "alg": "ES256", "x": x, "y": y}
        return {"keys": [key]}

    def issued(self, subject: TokenSubject, now: float, seconds: int, identity: str) -> str:
        """Issue a token.

        Args:
            subject: its claims.
            now: seconds since the epoch.
            seconds: lifetime of the token.
            identity: id of the token.
        """
        account = {"name": subject.name, "uid": subject.uid}
        claims = {
            "aud": list(subject.audiences),
            "exp": int(now) + seconds,
            "iat": int(now),
            "iss": ISSUER,
            "jti": identity,
            _CLAIM: {
                "namespace": subject.namespace,
                **subject.bound,
                "serviceaccount": account,
            },
            "nbf": int(now),
            "sub": account_name(subject.namespace, subject.name),
        }
        head = _encoded(msgspec.json.encode({"alg": "ES256", "typ": "JWT"}))
        text = f"{head}.{_encoded(msgspec.json.encode(claims))}"
        numbers = decode_dss_signature(self._key.sign(text.encode(), ec.ECDSA(hashes.SHA256())))
        signature = b"".join(each.to_bytes(_HALF, "big") for each in numbers)
        return f"{text}.{_encoded(signature)}"

    def user(self, token: str, now: float, find: FindUid, audience: str = ISSUER) -> User | None:
        """Return the account of a token, or ``None`` if the token is not valid.

        A token becomes invalid with its account and with the object to which it is bound.
        """
        claims = self._claims(token)
        if claims is None or audience not in claims["aud"]:
            return None
        if not claims["nbf"] - _LEEWAY <= now < claims["exp"]:
            return None
        stated = claims[_CLAIM]
        namespace, account = stated["namespace"], stated["serviceaccount"]
        if find(SERVICE_ACCOUNT, namespace, account["name"]) != account["uid"]:
            return None
        extra = {"authentication.kubernetes.io/credential-id": (f"JTI={claims['jti']}",)}
        for word, kind in _BOUND.items():
            bound = stated.get(word)
            if bound is None:
                continue
            if find(kind, namespace if kind.namespaced else "", bound["name"]) != bound["uid"]:
                return None
            extra |= {
                f"authentication.kubernetes.io/{word}-{key}": (bound[key],)
                for key in ("name", "uid")
                if word != "secret"
            }
        user = User(claims["sub"], account["uid"], account_groups(namespace), extra)
        return authenticated(user)

    def audiences(self, token: str) -> Sequence[str]:
        """The audiences of a token of this server; empty for any other token."""
        found = self._claims(token)
        return () if found is None else list(map(str, found["aud"]))

    def _claims(self, token: str) -> Json | None:
        """The claims of a token that this server has signed; otherwise ``None``."""
        head, _, rest = token.partition(".")
        body, _, signature = rest.partition(".")
        try:
            raw = _decoded(signature)
            numbers = (int.from_bytes(raw[:_HALF], "big"), int.from_bytes(raw[_HALF:], "big"))
            self._key.public_key().verify(
                encode_dss_signature(*numbers),
                f"{head}.{body}".encode(),
                ec.ECDSA(hashes.SHA256()),
            )
            found: Json = msgspec.json.decode(_decoded(body))
        except (ValueError, InvalidSignature):
            return None
        return found


def _encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _decoded(text: str) -> bytes:
    return base64.urlsafe_b64decode(text.encode("ascii") + b"=" * (-len(text) % 4))
