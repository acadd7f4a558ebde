"""Recognition of Kustomize's patches: files that change objects of other files.

A patch looks like an object or is a list of operations, and is complete only after Kustomize has
applied it. It is therefore reported, with the command that applies it.
"""

import os.path
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, Final

from stretto.api.edit.yaml_text import load_documents
from stretto.base.errors import InputError
from stretto.inputs.neutral.files import read_text

NAMES: Final = ("kustomization", "kustomizeconfig")
"""Names of the files of Kustomize, without suffix."""
_SUFFIXES: Final = (".yaml", ".yml")
_PARENTS: Final = 4
"""Maximum distance in folders between a file and a kustomization that refers to it."""
_APPLIED: Final = (
    "patches",
    "patchesStrategicMerge",
    "patchesJson6902",
    "replacements",
    "transformers",
    "generators",
    "configurations",
)
"""Keys of a kustomization that list files which are not objects themselves."""


def patches_in(folder: Path, names: Sequence[str]) -> set[Path]:
    """The files that the kustomizations of a folder apply to objects of other files.

    Args:
        folder: the folder.
        names: its files.
    """
    found = set()
    for name in names:
        path = folder / name
        if path.stem.lower() != NAMES[0] or path.suffix not in _SUFFIXES:
            continue
        try:
            documents = [value for _, value in load_documents(path.read_bytes(), str(path))]
        except (InputError, OSError):
            continue
        for each in documents:
            found |= {_normal(folder / entry) for entry in _applied(each)}
    return found


def is_patch(path: Path, text: str) -> bool:
    """True if an incomplete object is a patch: by its text or by a kustomization."""
    if "$patch:" in text or _is_json_patch(text, str(path)):
        return True
    above = islice(Path(os.path.abspath(path)).parents, _PARENTS)
    return any(
        _normal(path) in patches_in(folder, [f"{NAMES[0]}{each}" for each in _SUFFIXES])
        for folder in above
    )


@contextmanager
def naming_patches(paths: Sequence[Path]) -> Iterator[None]:
    """Replace an error about a file of the input that is a patch by an error that states this."""
    try:
        yield
    except InputError as error:
        for path in paths:
            if error.where.startswith(str(path)):
                refuse_patch(path, error)
        raise


def refuse_patch(path: Path, cause: InputError | None = None) -> None:
    """Refuse a file that is a patch; ``cause`` is the error of its objects.

    Raises:
        InputError: the file is a patch.
    """
    if path.is_file() and is_patch(path, read_text(path)):
        hint = "run kubectl kustomize FOLDER and pass the output"
        raise InputError(str(path), "a patch of Kustomize", "whole objects", hint) from cause


def _normal(path: Path) -> Path:
    """An absolute path without ``..``, for comparisons of files."""
    return Path(os.path.abspath(path))


def _is_json_patch(text: str, where: str) -> bool:
    """True if a text is a list of operations with a path."""
    if "op" not in text or "path" not in text:
        return False
    try:
        documents = [value for _, value in load_documents(text, where)]
    except InputError:
        return False
    return bool(documents) and all(
        isinstance(value, list)
        and value
        and all(isinstance(each, dict) and {"op", "path"} <= each.keys() for each in value)
        for value in documents
    )


def _applied(kustomization: Any) -> Iterator[str]:
    """The files that a kustomization lists besides its resources."""
    for key in _APPLIED if isinstance(kustomization, dict) else ():
        entries = kustomization.get(key)
        for entry in entries if isinstance(entries, list) else ():
            path = entry.get("path") if isinstance(entry, dict) else entry
            if isinstance(path, str) and "\n" not in path:
                yield path
