"""Certificates, tokens and kubeconfigs of a control plane that lives for one run.

TLS is on, with an authority of the run's own. Users come by token (a static token file, one
``system:masters`` among them) or by client certificate, so that rights can be tried for real.
"""

import json
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from stretto.base.errors import NotFoundError, StrettoError

ADMIN: Final = "admin"
"""The user who may do everything."""
_DAYS: Final = 30
"""No run lives longer."""
_KEY: Final = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")


class CertificateUser(msgspec.Struct, frozen=True):
    """Somebody who may log in."""

    #: Name in the API server's eyes.
    name: str
    #: Groups it belongs to.
    groups: tuple[str, ...] = ()


class KeyPair(NamedTuple):
    """A certificate and its key."""

    #: PEM certificate.
    cert: Path
    #: PEM key.
    key: Path


class Credentials:
    """All secrets of one run, in one folder."""

    def __init__(self, folder: Path, users: Sequence[CertificateUser] = ()) -> None:
        """Make an authority, the server's certificate, the key of service accounts and tokens.

        Raises:
            NotFoundError: the ``openssl`` program is not installed.
        """
        if shutil.which("openssl") is None:
            raise NotFoundError("the program openssl", hint="install it (Debian: openssl)")
        folder.mkdir(parents=True, exist_ok=True)
        folder.chmod(0o700)
        self._folder = folder
        #: Certificate of the authority that signed the server's.
        self.ca = KeyPair(folder / "ca.crt", folder / "ca.key")
        self._authority(self.ca, "stretto lab")
        #: The server's own.
        self.server = self._signed("server", "/CN=kube-apiserver", "serverAuth")
        #: Key that signs service accounts' tokens.
        self.accounts = folder / "accounts.key"
        _openssl("genrsa", "-out", str(self.accounts), "2048")
        #: Token of each user.
        self.tokens: dict[str, str] = {}
        #: File of the tokens, as the API server reads it.
        self.token_file = folder / "tokens.csv"
        for user in (CertificateUser(ADMIN, ("system:masters",)), *users):
            self.tokens[user.name] = _openssl("rand", "-hex", "24")
        listed = {user.name: user.groups for user in users} | {ADMIN: ("system:masters",)}
        lines = [
            f'{token},{name},{name},"{",".join(listed[name])}"\n'
            for name, token in self.tokens.items()
        ]
        self.token_file.write_text("".join(lines), encoding="utf-8")

    def client(self, user: CertificateUser, days: int = _DAYS) -> KeyPair:
        """A client certificate: the name is its CN, the groups are its organisations.

        Args:
            user: whose it is.
            days: for how long it is good; below 0 it has expired so many days ago.
        """
        subject = f"/CN={user.name}" + "".join(f"/O={group}" for group in user.groups)
        name = f"client-{user.name.replace(':', '-')}"
        return self._signed(name, subject, "clientAuth", days)

    def foreign_authority(self) -> Path:
        """The certificate of an authority that has signed nothing here."""
        pair = KeyPair(self._folder / "foreign.crt", self._folder / "foreign.key")
        self._authority(pair, "somebody else")
        return pair.cert

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

    def _authority(self, pair: KeyPair, name: str) -> None:
        out = ("-keyout", str(pair.key), "-out", str(pair.cert))
        _openssl("req", "-x509", *_KEY, *out, "-subj", f"/CN={name}", "-days", str(_DAYS))

    def _signed(self, name: str, subject: str, use: str, days: int = _DAYS) -> KeyPair:
        pair = KeyPair(self._folder / f"{name}.crt", self._folder / f"{name}.key")
        request, form = self._folder / f"{name}.csr", self._folder / f"{name}.ext"
        form.write_text(
            f"subjectAltName=DNS:localhost,IP:127.0.0.1\nextendedKeyUsage={use}\n", encoding="utf-8"
        )
        _openssl("req", *_KEY, "-keyout", str(pair.key), "-out", str(request), "-subj", subject)
        signer = ("-CA", str(self.ca.cert), "-CAkey", str(self.ca.key), "-CAcreateserial")
        files = ("-in", str(request), "-out", str(pair.cert), "-extfile", str(form))
        _openssl("x509", "-req", *signer, *files, "-days", str(days))
        return pair


def _openssl(*words: str) -> str:
    done = subprocess.run(["openssl", *words], capture_output=True, text=True, check=False)
    if done.returncode:
        raise StrettoError(f"openssl {words[0]} failed: {done.stderr.strip()}")
    return done.stdout.strip()
