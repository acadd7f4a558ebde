"""Topology domains of a gang that must be placed as a whole in one domain."""

from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from stretto.explain.why.scene import Scene
from stretto.explain.words.standing import UnitFacts
from stretto.framework.groups.places import affinity_of
from stretto.state.classes.annotations import DOMAIN_CAPS
from stretto.state.cluster.cluster import Cluster
from stretto.state.queries.domain_caps import slots_of

DOMAINS: Final = 64
"""Maximum number of domains that are tried."""

Mask = npt.NDArray[np.bool_]
"""bool[slot]: the slots of one domain."""


def is_capped(cluster: Cluster, unit: UnitFacts, rows: Sequence[int]) -> bool:
    """Return whether the PodGroup of a unit, or any of its pods, limits its pods by domain."""
    group = cluster.groups.get(unit.key.partition("/")[2])
    if group is not None and group.metadata.annotations.get(DOMAIN_CAPS):
        return True
    class_ids = set(cluster.pods.class_id[np.array(rows, np.int64)].tolist())
    return any(cluster.classes[each].annotations.caps for each in class_ids)


def gang_domains(cluster: Cluster, unit: UnitFacts, *, is_anywhere: bool) -> list[Mask]:
    """Domains that the PodGroup of a unit requires, the one with the most nodes first.

    One mask of all live slots if it requires no domain, or if the profile places units anywhere.
    Empty if no node has the labels.
    """
    live = np.zeros(cluster.nodes.size, np.bool_)
    slots = cluster.nodes.live_slots()
    live[slots] = True
    terms = affinity_of(cluster.groups.get(unit.key.partition("/")[2])).required
    if not terms or is_anywhere:
        return [live]
    labels = cluster.nodes.labels
    values = np.stack([labels.column(term.topology_key)[slots] for term in terms])
    labelled = slots[(values > 0).all(axis=0)]
    if not len(labelled):
        return []
    columns = values[:, (values > 0).all(axis=0)]
    _, numbers, counts = np.unique(columns, axis=1, return_inverse=True, return_counts=True)
    found = []
    for number in np.argsort(-counts, kind="stable")[:DOMAINS].tolist():
        mask = np.zeros(cluster.nodes.size, np.bool_)
        mask[labelled[numbers.ravel() == number]] = True
        found.append(mask)
    return found


def around_placed(scene: Scene, row: int, domains: list[Mask]) -> list[Mask]:
    """Domains that contain the placed pods of a pod's unit; all domains if no pod is placed."""
    unit = scene.units.of_row(row) if scene.units is not None else None
    if unit is None or not unit.bound:
        return domains
    held = slots_of(scene.cluster, unit.bound)
    return [mask for mask in domains if mask[held].all()]
