"""Validity and hierarchy of role names."""

from collections.abc import Iterator

_SPACES = frozenset("\t\n\v\f\r \x7f")


def role_error(role: str) -> str | None:
    """Mesos' error for an invalid role name; ``None`` if it is valid."""
    if role == "*":
        return None
    if not role:
        return "Role names cannot be the empty string"
    if role.startswith("/"):
        return f"Role '{role}' cannot start with a slash"
    if role.endswith("/"):
        return f"Role '{role}' cannot end with a slash"
    if "//" in role:
        return f"Role '{role}' cannot contain two adjacent slashes"
    return next((error for part in role.split("/") if (error := _part_error(role, part))), None)


def is_below(role: str, ancestor: str) -> bool:
    """True if a role is a strict descendant of another."""
    return role.startswith(ancestor + "/")


def ancestors(role: str) -> Iterator[str]:
    """The ancestors of a role, nearest first."""
    while "/" in role:
        role = role.rpartition("/")[0]
        yield role


def _part_error(role: str, part: str) -> str | None:
    if part in (".", ".."):
        return f"Role '{role}' cannot include '{part}' as a component"
    if part == "*":
        return f"Role '{role}' cannot include '*' as a component"
    if part.startswith("-"):
        return f"Role component '{part}' is invalid because it starts with a dash"
    if _SPACES.intersection(part):
        return f"Role component '{part}' is invalid because it contains backspace or whitespace"
    return None
