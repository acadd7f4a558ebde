"""Rules of requests and limits."""

from collections.abc import Iterator
from typing import Any, Final

from stretto.api.checks.fields.errors import invalid, required
from stretto.api.wire.quantity import nano

Json = dict[str, Any]

_STANDARD: Final = ("cpu", "memory", "ephemeral-storage")


def check_resources(resources: Json, path: str) -> Iterator[Any]:
    """Requests and limits of a container."""
    requests, limits = resources.get("requests") or {}, resources.get("limits") or {}
    for word, amounts in (("limits", limits), ("requests", requests)):
        for name, amount in sorted(amounts.items()):
            where = f"{path}.{word}[{name}]"
            if "/" not in name and name not in _STANDARD and not name.startswith("hugepages-"):
                text = "must be a standard resource type or fully qualified"
                yield invalid(where, name, text)
                yield invalid(where, name, "must be a standard resource for containers")
            if nano(amount, where) < 0:
                yield invalid(where, amount, "must be greater than or equal to 0")
    for name, amount in sorted(requests.items()):
        where = f"{path}.requests"
        limit = limits.get(name)
        if limit is None:
            if "/" in name:
                yield required(
                    f"{path}.limits", "Limit must be set for non overcommitable resources"
                )
        elif nano(amount, where) > nano(limit, where):
            text = f"must be less than or equal to {name} limit of {limit}"
            yield invalid(where, amount, text)
