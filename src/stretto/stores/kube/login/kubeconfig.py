"""Kubeconfigs by kubectl's rules: several files are merged, the first value wins.

Paths in a file are relative to its folder. This module validates fields; ``access`` builds the
login.
"""

import base64
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeVar

import msgspec

from stretto.api.codec import without_nulls
from stretto.api.edit.yaml_text import load_documents
from stretto.base.errors import InputError

T = TypeVar("T", bound=msgspec.Struct)
_HINT: Final = "check it with: kubectl config view"
_CHOOSE: Final = (
    "name one with --context, or choose one with: kubectl config use-context NAME; "
    "if it has none, name another kubeconfig"
)


class KubeconfigCluster(msgspec.Struct, frozen=True, rename="kebab"):
    """A server."""

    #: Its address.
    server: str = ""
    #: File of the authority that signed its certificate.
    certificate_authority: str = ""
    #: The authority in base64; takes precedence over the file.
    certificate_authority_data: str = ""
    #: True if its certificate is not verified.
    insecure_skip_tls_verify: bool = False
    #: Server name of the certificate, if it differs from the host.
    tls_server_name: str = ""
    #: Proxy of the server.
    proxy_url: str = ""


class ExecVariable(msgspec.Struct, frozen=True):
    """An environment variable of a plugin."""

    #: Its name.
    name: str
    #: Its value.
    value: str = ""


class ExecPlugin(msgspec.Struct, frozen=True, rename="camel"):
    """A credential plugin."""

    #: The program.
    command: str
    #: Version of the format in which it is called and answers.
    api_version: str
    #: Its arguments.
    args: tuple[str, ...] = ()
    #: Additional environment variables.
    env: tuple[ExecVariable, ...] = ()
    #: True if the plugin receives the description of the server.
    provide_cluster_info: bool = False


class AuthProvider(msgspec.Struct, frozen=True):
    """An authentication provider; only ``oidc`` is supported."""

    #: Name of the provider.
    name: str = ""
    #: Its settings.
    config: dict[str, Any] = {}


class KubeconfigUser(msgspec.Struct, frozen=True, rename="kebab"):
    """A user."""

    #: The token.
    token: str = ""
    #: File of the token; takes precedence.
    token_file: str = msgspec.field(default="", name="tokenFile")
    #: File of the client certificate.
    client_certificate: str = ""
    #: The certificate in base64; takes precedence over the file.
    client_certificate_data: str = ""
    #: File of its key.
    client_key: str = ""
    #: The key in base64; takes precedence over the file.
    client_key_data: str = ""
    #: User name for password login.
    username: str = ""
    #: Password.
    password: str = ""
    #: Credential plugin.
    exec: ExecPlugin | None = None
    #: Authentication provider.
    auth_provider: AuthProvider | None = None


class KubeconfigContext(msgspec.Struct, frozen=True):
    """A cluster and a user."""

    #: Name of the cluster.
    cluster: str = ""
    #: Name of the user.
    user: str = ""
    #: The default namespace.
    namespace: str = ""


class Kubeconfig(NamedTuple):
    """A context with its cluster and user."""

    #: The context.
    context: KubeconfigContext
    #: Its server.
    cluster: KubeconfigCluster
    #: Folder to which paths of the server are relative.
    cluster_folder: Path
    #: The user; ``None`` for anonymous access.
    user: KubeconfigUser | None
    #: Folder to which paths of the user are relative.
    user_folder: Path


class _NamedEntry(NamedTuple):
    """An entry of a file."""

    #: Its fields, not decoded.
    fields: dict[str, Any]
    #: The folder of its file.
    folder: Path


class _MergedKubeconfig:
    """All files, merged."""

    def __init__(self, where: str) -> None:
        self.where = where
        self.current = ""
        self._entries: dict[tuple[str, str], _NamedEntry] = {}

    def take(self, path: Path) -> None:
        """Add the values of a file that no earlier file contains."""
        whole = self._whole(path)
        self.current = self.current or str(whole.get("current-context") or "")
        for plural in ("clusters", "users", "contexts"):
            entries = whole.get(plural) or []
            if not isinstance(entries, list) or not all(isinstance(each, dict) for each in entries):
                raise self.wrong(f"{plural} is a list of entries with a name")
            for entry in entries:
                fields = entry.get(plural[:-1]) or {}
                key = plural, str(entry.get("name"))
                self._entries.setdefault(key, _NamedEntry(fields, path.absolute().parent))

    def _whole(self, path: Path) -> dict[str, Any]:
        try:
            text = path.read_bytes()
            found = [document for _, document in load_documents(text, str(path))]
        except (OSError, InputError) as error:
            raise self.wrong(str(error)) from error
        if len(found) > 1 or not all(isinstance(each, dict) for each in found):
            raise self.wrong(f"{path} is one object")
        return found[0] if found else {}

    def get(self, plural: str, name: str, form: type[T]) -> tuple[T, Path]:
        """Return the entry with this name, and the folder of its file."""
        entry = self._entries.get((plural, name))
        if entry is None:
            known = ", ".join(sorted(each for kind, each in self._entries if kind == plural))
            where, expected = f"kubeconfig {self.where}: {plural[:-1]}", f"one of its {plural}"
            raise InputError(where, name, f"{expected}: {known or 'none'}", _HINT)
        try:
            fields = without_nulls(entry.fields)  # in a kubeconfig null equals absent
            return msgspec.convert(fields, form), entry.folder
        except msgspec.ValidationError as error:
            raise self.wrong(f"{plural}, {name}: {error}") from error

    def wrong(self, problem: str, hint: str = _HINT) -> InputError:
        """The error of files that lack a required value."""
        return InputError(f"kubeconfig {self.where}", None, f"a usable one: {problem}", hint)


def read_kubeconfig(where: str, files: Iterable[Path], context: str = "") -> Kubeconfig:
    """Read a context from files; the default is the current context.

    Raises:
        InputError: the kubeconfig cannot be used.
    """
    merged = _MergedKubeconfig(where)
    for path in files:
        merged.take(path)
    name = context or merged.current
    if not name:
        raise merged.wrong("it has no current context", _CHOOSE)
    chosen, _ = merged.get("contexts", name, KubeconfigContext)
    cluster, cluster_folder = merged.get("clusters", chosen.cluster, KubeconfigCluster)
    if not chosen.user:
        return Kubeconfig(chosen, cluster, cluster_folder, None, cluster_folder)
    user, user_folder = merged.get("users", chosen.user, KubeconfigUser)
    return Kubeconfig(chosen, cluster, cluster_folder, user, user_folder)


def files_of(where: str) -> Sequence[Path]:
    """The existing files in ``KUBECONFIG`` or a path."""
    paths = [Path(each).expanduser() for each in where.split(os.pathsep) if each]
    return [path for path in paths if path.exists()]


def content_of(data: str, file: str, folder: Path, what: str) -> bytes:
    """Return the content of a file, or of the base64 value next to it (possibly in several lines).

    Raises:
        InputError: the content cannot be read.
    """
    try:
        if data:
            return base64.b64decode("".join(data.split()), validate=True)
        return (folder / file).read_bytes() if file else b""
    except (OSError, ValueError) as error:  # includes binascii.Error
        expected = f"base64 of it: {error}" if data else f"a file that can be read: {error}"
        raise InputError(f"kubeconfig: {what}", file or None, expected, _HINT) from error
