"""Certificates, tokens and kubeconfigs of a temporary control plane.

TLS uses a separate authority per run. Users authenticate by token (a static token file; one user is
in ``system:masters``) or by client certificate, so that tests can exercise RBAC.
"""

import json
import secrets  # noqa: TID251  (tokens are secrets, not draws of a seed)
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from stretto.serving.certificates import (
    DAYS,
    CertificateSubject,
    Use,
    write_pair,
    write_rsa_key,
)

ADMIN: Final = "admin"
"""The user with all rights."""
_HOSTS: Final = ("localhost", "127.0.0.1")


class CertificateUser(msgspec.Struct, frozen=True):
    """A user of the API server."""

    #: User name.
    name: str
    #: Groups of the user.
    groups: tuple[str, ...] = ()


class KeyPair(NamedTuple):
    """A certificate and its key."""

    #: PEM certificate.
    cert: Path
    #: PEM key.
    key: Path


class Credentials:
    """The secrets of one run, in one folder."""

    def __init__(self, folder: Path, users: Sequence[CertificateUser] = ()) -> None:
        """Create the authority, the server certificate, the service account key and the tokens."""
        folder.mkdir(parents=True, exist_ok=True)
        folder.chmod(0o700)
        self._folder = folder
        #: Certificate and key of the authority.
        self.ca = KeyPair(folder / "ca.crt", folder / "ca.key")
        write_pair(self.ca, CertificateSubject(name="stretto lab", is_authority=True))
        #: Certificate and key of the server.
        self.server = self._signed(
            "server", CertificateSubject(name="kube-apiserver", hosts=_HOSTS, use=Use.SERVER)
        )
        #: Key that signs service accounts' tokens.
        self.accounts = folder / "accounts.key"
        write_rsa_key(self.accounts)
        #: Token of each user.
        self.tokens: dict[str, str] = {}
        #: The token file of the API server.
        self.token_file = folder / "tokens.csv"
        for user in (CertificateUser(ADMIN, ("system:masters",)), *users):
            self.tokens[user.name] = secrets.token_hex(24)
        listed = {user.name: user.groups for user in users} | {ADMIN: ("system:masters",)}
        lines = [
            f'{token},{name},{name},"{",".join(listed[name])}"\n'
            for name, token in self.tokens.items()
        ]
        self.token_file.write_text("".join(lines), encoding="utf-8")

    def client(self, user: CertificateUser, days: int = DAYS) -> KeyPair:
        """A client certificate: the user's name is its CN, the groups are its organisations.

        Args:
            user: the user of the certificate.
            days: days until it expires; negative for an expired certificate.
        """
        return self._signed(f"client-{user.name.replace(':', '-')}", _client(user, days))

    def foreign_authority(self) -> Path:
        """The certificate of an authority that the server does not know."""
        return self._foreign().cert

    def foreign_client(self, user: CertificateUser) -> KeyPair:
        """A client certificate of an authority that the server does not trust."""
        return self._signed("foreign-client", _client(user, DAYS), self._foreign())

    def kubeconfig(self, name: str, server: str, user: dict[str, object]) -> Path:
        """A kubeconfig with one context; ``user`` is its user entry (JSON is YAML)."""
        path = self._folder / f"{name.replace(':', '-')}.kubeconfig"
        cluster = {"server": server, "certificate-authority": str(self.ca.cert)}
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "lab",
            "clusters": [{"name": "lab", "cluster": cluster}],
            "users": [{"name": name, "user": user}],
            "contexts": [{"name": "lab", "context": {"cluster": "lab", "user": name}}],
        }
        path.write_text(json.dumps(config, indent=1), encoding="utf-8")
        path.chmod(0o600)
        return path

    def _foreign(self) -> KeyPair:
        pair = KeyPair(self._folder / "foreign.crt", self._folder / "foreign.key")
        write_pair(pair, CertificateSubject(name="foreign authority", is_authority=True))
        return pair

    def _signed(
        self, name: str, subject: CertificateSubject, authority: KeyPair | None = None
    ) -> KeyPair:
        pair = KeyPair(self._folder / f"{name}.crt", self._folder / f"{name}.key")
        write_pair(pair, subject, authority or self.ca)
        return pair


def _client(user: CertificateUser, days: int) -> CertificateSubject:
    return CertificateSubject(name=user.name, groups=user.groups, use=Use.CLIENT, days=days)
