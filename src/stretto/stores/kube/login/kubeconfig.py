"""Kubeconfigs by kubectl's rules: several files are one, the first that says something counts.

Paths in a file are meant from the folder that it is in. What a field may hold is checked here; what
a login is made of it, ``access`` says.
"""

import base64
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeVar

import msgspec

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
    #: The same authority in base64, which counts more.
    certificate_authority_data: str = ""
    #: Whether its certificate is not looked at.
    insecure_skip_tls_verify: bool = False
    #: The name that its certificate must have, where it is not the host's.
    tls_server_name: str = ""
    #: The proxy before it.
    proxy_url: str = ""


class ExecVariable(msgspec.Struct, frozen=True):
    """A variable of a plugin's environment."""

    #: Its name.
    name: str
    #: What it is set to.
    value: str = ""


class ExecPlugin(msgspec.Struct, frozen=True, rename="camel"):
    """A program that says who we are."""

    #: The program.
    command: str
    #: Version of the form in which it is asked and answers.
    api_version: str
    #: Its arguments.
    args: tuple[str, ...] = ()
    #: What its environment has more than ours.
    env: tuple[ExecVariable, ...] = ()
    #: Whether it is told about the server.
    provide_cluster_info: bool = False


class AuthProvider(msgspec.Struct, frozen=True):
    """An older way to say who we are, of which ``oidc`` is left."""

    #: Which.
    name: str = ""
    #: What it needs.
    config: dict[str, Any] = {}


class KubeconfigUser(msgspec.Struct, frozen=True, rename="kebab"):
    """Who we are."""

    #: The token.
    token: str = ""
    #: Its file, which counts more.
    token_file: str = msgspec.field(default="", name="tokenFile")
    #: File of the client certificate.
    client_certificate: str = ""
    #: The same in base64, which counts more.
    client_certificate_data: str = ""
    #: File of its key.
    client_key: str = ""
    #: The same in base64, which counts more.
    client_key_data: str = ""
    #: Name for those who log in by password.
    username: str = ""
    #: Their password.
    password: str = ""
    #: A program that says it.
    exec: ExecPlugin | None = None
    #: An older way to say it.
    auth_provider: AuthProvider | None = None


class KubeconfigContext(msgspec.Struct, frozen=True):
    """Which server, and as whom."""

    #: Name of the cluster.
    cluster: str = ""
    #: Name of the user.
    user: str = ""
    #: The namespace that is meant where none is named.
    namespace: str = ""


class Kubeconfig(NamedTuple):
    """What a context comes to."""

    #: The context.
    context: KubeconfigContext
    #: Its server.
    cluster: KubeconfigCluster
    #: Folder from which the paths of the server are meant.
    cluster_folder: Path
    #: Who we are there; ``None`` for nobody.
    user: KubeconfigUser | None
    #: Folder from which the paths of the user are meant.
    user_folder: Path


class _NamedEntry(NamedTuple):
    """An entry of a file."""

    #: Its fields as they are.
    fields: dict[str, Any]
    #: The folder of its file.
    folder: Path


class _MergedKubeconfig:
    """All files as one."""

    def __init__(self, where: str) -> None:
        self.where = where
        self.current = ""
        self._entries: dict[tuple[str, str], _NamedEntry] = {}

    def take(self, path: Path) -> None:
        """Add what a file says and none before it did."""
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
        """The entry of a name, and the folder of its file."""
        entry = self._entries.get((plural, name))
        if entry is None:
            known = ", ".join(sorted(each for kind, each in self._entries if kind == plural))
            where, expected = f"kubeconfig {self.where}: {plural[:-1]}", f"one of its {plural}"
            raise InputError(where, name, f"{expected}: {known or 'none'}", _HINT)
        try:
            return msgspec.convert(_without_nulls(entry.fields), form), entry.folder
        except msgspec.ValidationError as error:
            raise self.wrong(f"{plural}, {name}: {error}") from error

    def wrong(self, said: str, hint: str = _HINT) -> InputError:
        """The error of files that do not say what is needed."""
        return InputError(f"kubeconfig {self.where}", None, f"a usable one: {said}", hint)


def read_kubeconfig(where: str, files: Iterable[Path], context: str = "") -> Kubeconfig:
    """What some files say of a context, the current one unless another is named.

    Raises:
        InputError: it cannot be used.
    """
    merged = _MergedKubeconfig(where)
    for path in files:
        merged.take(path)
    name = context or merged.current
    if not name:
        raise merged.wrong("it names no current context", _CHOOSE)
    chosen, _ = merged.get("contexts", name, KubeconfigContext)
    cluster, cluster_folder = merged.get("clusters", chosen.cluster, KubeconfigCluster)
    if not chosen.user:
        return Kubeconfig(chosen, cluster, cluster_folder, None, cluster_folder)
    user, user_folder = merged.get("users", chosen.user, KubeconfigUser)
    return Kubeconfig(chosen, cluster, cluster_folder, user, user_folder)


def files_of(where: str) -> Sequence[Path]:
    """The files that ``KUBECONFIG`` or a path names, as far as they exist."""
    paths = [Path(each).expanduser() for each in where.split(os.pathsep) if each]
    return [path for path in paths if path.exists()]


def content_of(data: str, file: str, folder: Path, what: str) -> bytes:
    """What stands in a file or, in base64 (over several lines, too), beside it; else nothing.

    Raises:
        InputError: it cannot be read.
    """
    try:
        if data:
            return base64.b64decode("".join(data.split()), validate=True)
        return (folder / file).read_bytes() if file else b""
    except (OSError, ValueError) as error:  # of which binascii.Error is one
        expected = f"base64 of it: {error}" if data else f"a file that can be read: {error}"
        raise InputError(f"kubeconfig: {what}", file or None, expected, _HINT) from error


def _without_nulls(value: Any) -> Any:
    """A value without what is null: in a kubeconfig that is the same as left out."""
    if isinstance(value, dict):
        return {key: _without_nulls(each) for key, each in value.items() if each is not None}
    return [_without_nulls(each) for each in value] if isinstance(value, list) else value
