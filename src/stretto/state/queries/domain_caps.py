"""Caps: the largest part of an application that one value of a node label may hold.

A unit (a PodGroup, or the pods of one owner) is the application. Its caps stand in the annotation
``stretto.dev/domain-caps`` of its pods or of its PodGroup; of its size counts what it is meant to
be: the size that its PodGroup states, else the pods that it has, at least ``min_member``. A cap of
25 % of eight pods is two, of six one: a part is rounded down, and one pod is always allowed.

A shard looks at caps when it places, and the binder when it grants: no interleaving breaks them.
"""

from collections.abc import Iterable
from typing import Final

import numpy as np
import numpy.typing as npt

from stretto.api.types.godel import PodGroup
from stretto.base.errors import InputError
from stretto.state.classes.annotations import DOMAIN_CAPS, DomainCap, read_caps
from stretto.state.cluster.cluster import Cluster
from stretto.state.rows.pods import NO_SLOT
from stretto.state.work.claims import Plan
from stretto.state.work.units import NO_GROUP, Unit

GROUP_SIZE: Final = "stretto.dev/group-size"
"""Annotation on a PodGroup: how many pods it will have."""
_PREFIX: Final = "PodGroupUnit/"


def group_of(cluster: Cluster, unit: Unit | None) -> PodGroup | None:
    """The PodGroup of a unit; ``None`` where it has none."""
    if unit is None or not unit.key.startswith(_PREFIX):
        return None
    return cluster.groups.get(unit.key.removeprefix(_PREFIX))


def caps_of(cluster: Cluster, unit: Unit | None, class_id: int) -> tuple[DomainCap, ...]:
    """The caps of a unit: those of its PodGroup, else those of the pod's class."""
    group = group_of(cluster, unit)
    text = group.metadata.annotations.get(DOMAIN_CAPS, "") if group is not None else ""
    if text and group is not None:
        key = f"podgroup {group.metadata.namespace}/{group.metadata.name}"
        try:
            return read_caps(text, f"{key}, annotation {DOMAIN_CAPS}")
        except InputError as error:
            cluster.abnormal[key] = str(error)
    return cluster.classes[class_id].annotations.caps


def members(cluster: Cluster, unit: Unit, row: int) -> set[int]:
    """Rows of the pods of an application that may be on nodes: its unit's, and its owner's."""
    return {*unit.bound, *cluster.reservations.members(row)}


def slots_of(cluster: Cluster, rows: Iterable[int]) -> npt.NDArray[np.int64]:
    """int64[k]: slots of those of some pods that are on nodes."""
    slots = cluster.pods.slot[np.array(sorted(rows), np.int64)]
    return np.asarray(slots[slots != NO_SLOT], np.int64)


def unit_size(cluster: Cluster, unit: Unit, row: int) -> int:
    """How many pods an application is meant to have; ``row`` is one of them."""
    group = group_of(cluster, unit)
    stated = group.metadata.annotations.get(GROUP_SIZE, "") if group is not None else ""
    if stated.isdecimal():
        return max(1, int(stated))
    least = unit.min_member if unit.min_member < NO_GROUP else 1
    return max(unit.size, least, len(cluster.reservations.members(row)), 1)


def count_by_domain(
    column: npt.NDArray[np.int32], slots: npt.NDArray[np.int64], width: int
) -> npt.NDArray[np.int64]:
    """int64[value]: how many of some pods each value of a label column holds."""
    return np.bincount(column[slots], minlength=width).astype(np.int64)


def exceeds_cap(
    cluster: Cluster, unit: Unit, granted: Iterable[int], claim: tuple[int, int]
) -> bool:
    """Whether a claim would break a cap of its unit.

    Args:
        cluster: the cluster as it is now.
        unit: the unit.
        granted: rows of the unit that were granted in the same plan and are charged already.
        claim: row and slot.
    """
    row, slot = claim
    pods = cluster.pods
    caps = caps_of(cluster, unit, int(pods.class_id[row]))
    if not caps:
        return False
    slots = slots_of(cluster, {*members(cluster, unit, row), *granted} - {row})
    size = unit_size(cluster, unit, row)
    for cap in caps:
        column = cluster.nodes.labels.column(cap.key)
        here = int(column[slot])
        if here == 0 or int(np.count_nonzero(column[slots] == here)) >= cap.limit(size):
            return True
    return False


def respects_caps(cluster: Cluster, plan: Plan) -> bool:
    """Whether the claims of a plan, all granted, would keep every cap of their units."""
    pods, labels = cluster.pods, cluster.nodes.labels
    for claims in plan.units:
        unit, rows = claims.unit, plan.rows[claims.start : claims.stop]
        caps = caps_of(cluster, unit, int(pods.class_id[rows[0]])) if len(rows) else ()
        if not caps:
            continue
        row = int(rows[0])
        bound = slots_of(cluster, members(cluster, unit, row) - set(rows.tolist()))
        wanted, size = plan.slots[claims.start : claims.stop], unit_size(cluster, unit, row)
        slots = np.concatenate([bound, wanted])
        for cap in caps:
            column = labels.column(cap.key)
            full = np.bincount(column[slots]) > cap.limit(size)
            if (column[wanted] == 0).any() or full[column[wanted]].any():
                return False
    return True
