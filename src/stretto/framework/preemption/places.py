"""Nodes that a unit may preempt: topology domains of its PodGroup after evictions, and caps.

A gang that requires one rack preempts in one rack, regardless of the capacity that evictions would
free on other racks. Candidate racks come from sums over the victim index: the free amount of a rack
plus the requests of its pods of lower priority.
"""

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import Final

import numpy as np
import numpy.typing as npt

from stretto.framework.compiled.placement import PlacementRequest
from stretto.framework.engine.runtime import Runtime
from stretto.framework.groups.stage import GroupStage
from stretto.state.classes.table import STAGED
from stretto.state.queries.domain_caps import caps_of, count_by_domain, members, slots_of, unit_size
from stretto.state.victims.index import Victims
from stretto.state.work.units import Unit

Mask = npt.NDArray[np.bool_]
"""bool[slot]: allowed slots of a unit."""

MOST: Final = 16
"""Maximum number of domains to search for one gang per cycle: each costs one search per pod."""


class PreemptionDomains:
    """Reads the allowed places of units from the snapshot of a shard."""

    def __init__(self, runtime: Runtime, victims: Victims) -> None:
        """Use the group stage of one shard and its victim index."""
        self._groups = runtime.stage(GroupStage)
        self._cluster = runtime.engine.cluster
        self._victims = victims

    def domains(
        self, unit: Unit, rows: Sequence[int], needed: int, priority: int
    ) -> list[Mask | None]:
        """Domains in which the pods of a unit may be placed together, in the order of the attempts.

        Args:
            unit: the unit.
            rows: its unplaced pods.
            needed: number of pods that must be placed together.
            priority: pods below this priority may be evicted.
        """
        cluster = self._cluster
        if not cluster.directed:
            return [None]
        ids = cluster.pods.class_id[np.array(rows, np.int64)]
        part = PlacementRequest(ids, [0, len(rows)], [max(1, needed)], rows=rows)
        places = self._groups.places(part, when_idle=True)
        if places is None:
            return [None]
        found: list[Mask | None] = []
        least = self._least(rows, needed)
        for first, last in pairwise(places.start.tolist()):
            slots = places.slots[first:last]
            if not self._can_hold_least(slots, least, priority):
                continue
            mask = np.zeros(cluster.ledger.slots.size, np.bool_)
            mask[slots] = True
            found.append(mask)
            if len(found) == MOST:
                break
        return found

    def allowed_slots(
        self, unit: Unit, row: int, domain: Mask | None, promised: Sequence[int]
    ) -> Mask | None:
        """Slots on which one pod of a unit may be placed; ``None`` for any.

        Args:
            unit: the unit.
            row: the pod.
            domain: the target domain of the unit as a whole.
            promised: slots that other pods of the unit were promised in this cycle.
        """
        cluster = self._cluster
        class_id = int(cluster.pods.class_id[row])
        if not (cluster.directed or cluster.classes.special[class_id] & STAGED):
            return domain
        caps = caps_of(cluster, unit, class_id)
        if not caps:
            return domain
        size = unit_size(cluster, unit, row)
        held = np.concatenate(
            [slots_of(cluster, members(cluster, unit, row)), np.array(promised, np.int64)]
        )
        mask = np.ones(cluster.ledger.slots.size, np.bool_) if domain is None else domain.copy()
        for cap in caps:
            column = cluster.nodes.labels.column(cap.key)[: len(mask)]
            width = int(column.max(initial=0)) + 1
            full = count_by_domain(column, held, width) >= cap.limit(size)
            full[0] = True  # a node without the label has no domain
            mask[: len(column)] &= ~full[column]
        return mask

    def _least(self, rows: Sequence[int], needed: int) -> dict[int, int]:
        """The minimum total requests, by column, of the pods that must be placed together."""
        cluster, requested = self._cluster, dict[int, list[int]]()
        counts = Counter(cluster.pods.class_id[np.array(rows, np.int64)].tolist())
        width = max(1, needed)
        for class_id, count in counts.items():
            for column, amount in cluster.classes.scaled_requests(class_id):
                requested.setdefault(column, []).extend([amount] * min(count, width))
        spare = len(rows) - width
        found = {}
        for column, amounts in requested.items():
            ordered = sorted([0] * (len(rows) - len(amounts)) + amounts)
            found[column] = sum(ordered[: len(ordered) - max(0, spare)][:width])
        return found

    def _can_hold_least(
        self, slots: npt.NDArray[np.int32], least: dict[int, int], priority: int
    ) -> bool:
        """Return whether a domain has that capacity without all pods of lower priority."""
        sums, bands = self._victims.sums, self._victims.bands_below(priority)
        for column, amount in least.items():
            have = np.maximum(sums.free[column][slots], 0).astype(np.int64)
            if bands:
                whole = sums.free[column][slots] + sums.below[bands - 1, column][slots]
                have = np.maximum(whole, 0).astype(np.int64)
            if int(have.sum()) < amount:
                return False
        return True
