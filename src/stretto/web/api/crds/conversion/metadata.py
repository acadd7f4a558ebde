"""Permitted changes by a converter: everything but identity and most metadata.

Of the metadata, only labels and annotations may change.
"""

import copy
from typing import Any, Final

from stretto.api.checks.fields.errors import Errors
from stretto.api.checks.fields.texts import check_annotations, check_labels
from stretto.api.schema.golang import reflected_type

Json = dict[str, Any]

_IDENTITY: Final = (("name", "name"), ("namespace", "namespace"), ("uid", "UID"))
"""Members of metadata that must not change, and their names in messages."""
_CHANGED: Final = (("labels", "metadata.labels"), ("annotations", "metadata.annotation"))
"""Members of metadata that a converter may change, and their paths in messages."""


def identity_problem(original: Json, converted: Json) -> str:
    """Return why a converted object is not the original one; empty if it is."""
    before, after = original["metadata"], converted.get("metadata")
    after = after if isinstance(after, dict) else {}
    for name, word in _IDENTITY:
        was, is_now = before.get(name) or "", after.get(name) or ""
        if was != is_now:
            return f"must have the same {word}: {was} != {is_now}"
    return ""


def metadata_problem(original: Json, converted: Json) -> str:
    """Return why the metadata of a converted object is invalid; empty if it is valid."""
    if "metadata" not in converted:
        return "missing metadata in converted object"
    metadata = converted["metadata"]
    if not isinstance(metadata, dict):
        return f"invalid metadata of type {reflected_type(metadata)} in converted object"
    for name, path in _CHANGED:
        found = metadata.get(name)
        if found is None:
            continue
        problem = _problem_of(name, path, found, original["metadata"].get(name))
        if problem:
            return problem
    return ""


def _problem_of(name: str, path: str, found: Any, before: Any) -> str:
    """Return why converted labels or annotations are invalid."""
    if not isinstance(found, dict):
        shown = reflected_type(found)
        return f"invalid metadata.{name} of type {shown} in converted object"
    for key, value in found.items():
        if not isinstance(value, str):
            shown = reflected_type(value)
            return f"metadata.{name}[{key}] must be a string, but is {shown} in converted object"
    if found == (before or {}):
        return ""
    check = check_labels if name == "labels" else check_annotations
    return _aggregated(check(found, path))


def _aggregated(errors: Errors) -> str:
    """Join field errors into one text."""
    texts = list(dict.fromkeys(f"{each.field}: {each.message}" for each in errors))
    return texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]" if texts else ""


def restored(original: Json, converted: Json) -> Json:
    """Return a converted object with the original metadata, except labels and annotations."""
    metadata = dict(original["metadata"])
    for name, _ in _CHANGED:
        metadata.pop(name, None)
        found = converted["metadata"].get(name)
        if found is not None:
            metadata[name] = found
    rest = {key: each for key, each in converted.items() if key != "metadata"}
    return {**copy.deepcopy(rest), "metadata": metadata}
