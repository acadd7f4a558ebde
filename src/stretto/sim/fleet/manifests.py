"""Manifests of a host: native objects and policies, from files and folders."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from stretto.base.errors import InputError

_ENDINGS = (".yaml", ".yml", ".json")


def read_objects(paths: Iterable[Path]) -> list[dict[str, Any]]:
    """All objects of some files and folders, in order.

    Raises:
        InputError: a file is no YAML, holds no object, or one without kind or name.
    """
    found = [body for path in paths for file in _files(path) for body in _bodies(file)]
    if not found:
        raise InputError("MANIFESTS", None, "at least one object")
    return found


def _files(path: Path) -> Iterator[Path]:
    if path.is_dir():
        yield from sorted(each for each in path.rglob("*") if each.suffix in _ENDINGS)
    else:
        yield path


def _bodies(path: Path) -> Iterator[dict[str, Any]]:
    import yaml

    try:
        documents = list(yaml.safe_load_all(path.read_text("utf-8")))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise InputError(str(path), None, "YAML", str(error).replace("\n", " ")) from error
    for document in documents:
        items = (document or {}).get("items") if _is_list(document) else [document]
        for body in items or ():
            if body is None:
                continue
            if not isinstance(body, dict) or not body.get("kind"):
                raise InputError(str(path), body, "an object with apiVersion and kind")
            if not (body.get("metadata") or {}).get("name"):
                raise InputError(f"{path}: {body['kind']}.metadata.name", None, "a name")
            yield body


def _is_list(document: Any) -> bool:
    return isinstance(document, dict) and str(document.get("kind", "")).endswith("List")
