"""Domain caps: the largest part of an application on one value of a node label.

The application is a unit (a PodGroup, or the pods of one owner). Its caps are in the annotation
``stretto.dev/domain-caps`` of its pods or of its PodGroup. Its size is the size in its PodGroup, or
else the number of its pods, at least ``min_member``. A cap of 25 % of eight pods is two, of six
pods one: percentages are rounded down, and one pod is always allowed.

A shard checks caps when it places pods, and the binder checks them when it grants claims. Therefore
no interleaving violates them.
"""

from collections.abc import Iterable
from typing import Final

import numpy as np
import numpy.typing as npt

from stretto.api.types.godel import PodGroup
from stretto.api.wire.labels import GROUP_SIZE
from stretto.base.errors import InputError
from stretto.state.classes.annotations import DOMAIN_CAPS, DomainCap, read_caps
from stretto.state.cluster.cluster import Cluster
from stretto.state.rows.pods import NO_SLOT
from stretto.state.work.claims import Plan
from stretto.state.work.units import NO_GROUP, Unit

GROUP_PREFIX: Final = "PodGroupUnit/"
"""Prefix of the key of a unit that is a PodGroup."""


def group_of(cluster: Cluster, unit: Unit | None) -> PodGroup | None:
    """The PodGroup of a unit; ``None`` if it has none."""
    if unit is None or not unit.key.startswith(GROUP_PREFIX):
        return None
    return cluster.groups.get(unit.key.removeprefix(GROUP_PREFIX))


def caps_of(cluster: Cluster, unit: Unit | None, class_id: int) -> tuple[DomainCap, ...]:
    """The caps of a unit: those of its PodGroup, otherwise those of the pod's class."""
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
    """Rows of an application's pods that may be on nodes: its unit's and its owner's."""
    return {*unit.bound, *cluster.reservations.members(row)}


def slots_of(cluster: Cluster, rows: Iterable[int]) -> npt.NDArray[np.int64]:
    """int64[k]: slots of the pods that are on nodes."""
    slots = cluster.pods.slot[np.array(sorted(rows), np.int64)]
    return np.asarray(slots[slots != NO_SLOT], np.int64)


def unit_size(cluster: Cluster, unit: Unit, row: int) -> int:
    """Intended number of pods of an application; ``row`` is one of them."""
    group = group_of(cluster, unit)
    stated = group.metadata.annotations.get(GROUP_SIZE, "") if group is not None else ""
    if stated.isdecimal():
        return max(1, int(stated))
    least = unit.min_member if unit.min_member < NO_GROUP else 1
    return max(unit.size, least, len(cluster.reservations.members(row)), 1)


def count_by_domain(
    column: npt.NDArray[np.int32], slots: npt.NDArray[np.int64], width: int
) -> npt.NDArray[np.int64]:
    """int64[value]: number of the pods on each value of a label column."""
    return np.bincount(column[slots], minlength=width).astype(np.int64)


def exceeds_cap(
    cluster: Cluster, unit: Unit, granted: Iterable[int], claim: tuple[int, int]
) -> bool:
    """Return whether a claim would violate a cap of its unit.

    Args:
        cluster: the current cluster.
        unit: the unit.
        granted: rows of the unit granted in the same plan, already charged.
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
    """Return whether the claims of a plan, all granted, respect every cap of their units."""
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
