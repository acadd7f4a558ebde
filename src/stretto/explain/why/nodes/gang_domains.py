"""The topology domains in one of which a gang must be placed as a whole."""

from typing import Final

import numpy as np
import numpy.typing as npt

from stretto.explain.words.standing import UnitFacts
from stretto.framework.groups.places import affinity_of
from stretto.state.classes.annotations import DOMAIN_CAPS
from stretto.state.cluster.cluster import Cluster

DOMAINS: Final = 64
"""Largest number of domains that are tried."""

Mask = npt.NDArray[np.bool_]
"""bool[slot]: the slots of one domain."""


def is_capped(cluster: Cluster, unit: UnitFacts) -> bool:
    """Whether the PodGroup of a unit limits its pods by domain."""
    group = cluster.groups.get(unit.key.partition("/")[2])
    return group is not None and bool(group.metadata.annotations.get(DOMAIN_CAPS))


def gang_domains(cluster: Cluster, unit: UnitFacts, *, is_anywhere: bool) -> list[Mask]:
    """The domains that the PodGroup of a unit requires, the one with the most nodes first.

    One mask of all live slots where it requires none, or where the profile places units anywhere;
    nothing where no node has the labels.
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
