"""Fields of decoded objects by paths with dots, such as ``spec.replicas``."""

from typing import Any

from stretto.reconcile.cache import Fields


def field_at(fields: Fields, path: str) -> Any:
    """The value at a path; ``None`` if the path is empty or leads nowhere."""
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
    """The object with another value at a path; objects on the way are created."""
    first, _, rest = path.partition(".")
    inner = fields.get(first)
    changed = (
        value if not rest else with_field(inner if isinstance(inner, dict) else {}, rest, value)
    )
    return {**fields, first: changed}
