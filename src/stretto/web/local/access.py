"""Access to a local server: an entry in a kubeconfig."""

import base64
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from stretto.api.edit.yaml_text import dump_document, load_documents
from stretto.base.errors import InputError

NAME: Final = "stretto"
"""Name of cluster, user and context in the kubeconfig."""

_LISTS: Final = ("clusters", "users", "contexts")

Json = dict[str, Any]


@dataclass(frozen=True)
class ServerAccess:
    """Address and credentials of a server."""

    #: URL.
    server: str
    #: Bearer token.
    token: str
    #: PEM certificate of the server's authority; empty for plain HTTP.
    authority: bytes = b""


def write_kubeconfig(path: Path, access: ServerAccess) -> None:
    """Add a server to a kubeconfig and select it; then only the owner can read the file.

    Entries with other names do not change.

    Raises:
        InputError: the path cannot be written, or is not a kubeconfig.
    """
    cluster: Json = {"server": access.server}
    if access.authority:
        cluster["certificate-authority-data"] = base64.b64encode(access.authority).decode()
    entries: dict[str, Json] = {
        "clusters": {"name": NAME, "cluster": cluster},
        "users": {"name": NAME, "user": {"token": access.token}},
        "contexts": {"name": NAME, "context": {"cluster": NAME, "user": NAME}},
    }
    try:
        path = path.resolve()  # a symbolic link stays a link
        document = _existing(path)
        for key, entry in entries.items():
            others = [each for each in document.get(key) or () if not _is_own(each)]
            document[key] = [*others, entry]
        document["current-context"] = NAME
        path.parent.mkdir(parents=True, exist_ok=True)
        written = path.with_name(f".{path.name}.{os.getpid()}")
        written.unlink(missing_ok=True)  # left by a killed process
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
        with os.fdopen(os.open(written, flags, 0o600), "w") as file:
            file.write(dump_document(document))
        written.replace(path)
    except OSError as error:
        expected = f"a file that can be written ({error.strerror})"
        raise InputError("--kubeconfig", str(path), expected, "name another file") from error


def _is_config(document: Json) -> bool:
    lists = (document.get(key) or [] for key in _LISTS)
    return document.get("kind") == "Config" and all(isinstance(each, list) for each in lists)


def _is_own(entry: Any) -> bool:
    """Return whether an entry is the entry of a local cluster."""
    return isinstance(entry, dict) and entry.get("name") == NAME


def _existing(path: Path) -> Json:
    """Return the kubeconfig at a path; a new one if the file does not exist.

    Raises:
        InputError: the file is not a kubeconfig.
    """
    try:
        text = path.read_bytes()
    except FileNotFoundError:
        text = b""
    found = next((each for _, each in load_documents(text, str(path))), None)
    if found is None:
        return {"apiVersion": "v1", "kind": "Config"}
    if not isinstance(found, dict) or not _is_config(found):
        raise InputError("--kubeconfig", str(path), "a kubeconfig or a new file")
    return found
