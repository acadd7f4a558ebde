"""Units of a state as rows of a list."""

from collections.abc import Iterable

import msgspec

from stretto.explain.inventory.pods import PodRow


class UnitRow(msgspec.Struct, frozen=True):
    """One unit with more than one pod, or with a name of its own."""

    #: Namespace of its pods.
    namespace: str
    #: ``Kind/namespace/name``.
    name: str
    #: ``placed``, ``partial`` or ``pending``.
    status: str
    #: Queue of the unit.
    queue: str
    #: Number of pods with a node.
    placed: int
    #: Number of pods without a node.
    pending: int
    #: Number of pods that must start together; ``None`` if unknown.
    min_member: int | None = None
    #: Highest priority of the pods.
    priority: int = 0
    #: Code of the most frequent reason of the pending pods; empty for none.
    reason: str = ""
    #: The reason as a sentence.
    sentence: str = ""


def unit_rows(rows: Iterable[PodRow], min_members: dict[str, int | None]) -> list[UnitRow]:
    """The units of some pods, in the order of their names; a single pod is a unit too.

    Args:
        rows: the pods.
        min_members: number of pods that must start together, by key of the unit.
    """
    members: dict[str, list[PodRow]] = {}
    for each in rows:
        members.setdefault(each.unit or f"Pod/{each.key}", []).append(each)
    return [_row_of(key, found, min_members.get(key)) for key, found in sorted(members.items())]


def _row_of(key: str, rows: list[PodRow], least: int | None) -> UnitRow:
    placed = sum(bool(each.node) for each in rows)
    pending = [each for each in rows if not each.node and each.status != "ended"]
    status = "placed" if not pending else "partial" if placed else "pending"
    codes = [each.reason for each in pending]
    first = max(pending, key=lambda each: codes.count(each.reason), default=None)
    return UnitRow(
        namespace=rows[0].namespace,
        name=key,
        status=status,
        queue=rows[0].queue,
        placed=placed,
        pending=len(pending),
        min_member=1 if key.startswith("Pod/") else least,
        priority=max(each.priority for each in rows),
        reason=first.reason if first is not None else "",
        sentence=first.sentence if first is not None else "",
    )
