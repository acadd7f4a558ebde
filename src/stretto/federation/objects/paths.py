"""Access to fields of decoded objects by dotted paths, such as ``spec.replicas``."""

from typing import Any

from stretto.reconcile.cache import Fields


def field_at(fields: Fields, path: str) -> Any:
    """The value at a path; ``None`` if the path is empty or does not exist."""
    found: Any = fields
    for step in path.split("."):
        if not isinstance(found, dict) or step not in found:
            return None
        found = found[step]
    return found


def pointer(path: str) -> str:
    """The JSON pointer of a path."""
    steps = (step.replace("~", "~0").replace("/", "~1") for step in path.split("."))
    return "/" + "/".join(steps)


def with_field(fields: Fields, path: str, value: Any) -> Fields:
    """A copy of the object with a new value at a path; missing parent objects are created."""
    first, _, rest = path.partition(".")
    inner = fields.get(first)
    changed = (
        value if not rest else with_field(inner if isinstance(inner, dict) else {}, rest, value)
    )
    return {**fields, first: changed}
