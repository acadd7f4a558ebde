"""Access to a local server: a token, and a kubeconfig that contains it."""

import os
from pathlib import Path
from typing import Any, Final

from stretto.api.edit.yaml_text import dump_document
from stretto.base.errors import InputError

NAME: Final = "stretto"
"""Name of cluster, user and context in the kubeconfig."""


def write_kubeconfig(path: Path, server: str, token: str) -> None:
    """Write a kubeconfig that only its owner can read.

    Raises:
        InputError: the path cannot be written.
    """
    document: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": NAME, "cluster": {"server": server}}],
        "users": [{"name": NAME, "user": {"token": token}}],
        "contexts": [{"name": NAME, "context": {"cluster": NAME, "user": NAME}}],
        "current-context": NAME,
    }
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(handle, "w") as file:
            file.write(dump_document(document))
    except OSError as error:
        raise InputError("--kubeconfig", str(path), f"a file to write: {error}") from error
