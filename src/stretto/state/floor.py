"""What a queue's reclaim must know of nodes: what would fit if others left, who may go."""

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from typing import Final

from stretto.state.budgets import BudgetLedger
from stretto.state.cluster import Cluster
from stretto.state.devices import MAX_DEVICES
from stretto.state.preemption import PreemptionRules, guard_of
from stretto.state.room import devices_after, fits_after

WHOLE: Final = 1000
"""Milli of a whole device."""


class Floor:
    """Reads a cluster under one profile's rules."""

    def __init__(
        self,
        cluster: Cluster,
        rules: PreemptionRules,
        eligible: Callable[[int, int], bool],
        room: Callable[[int], int],
        budgets: BudgetLedger,
    ) -> None:
        """Read this cluster.

        Args:
            cluster: the cluster.
            rules: who may be asked to leave.
            eligible: (class id, slot) to whether static rules let the class onto the slot.
            room: class id to an upper bound of how many pods of it fit now.
            budgets: what is left of the disruption budgets.
        """
        #: Class id to an upper bound of how many pods of it fit now.
        self.room: Callable[[int], int] = room
        self._cluster = cluster
        self._rules = rules
        self._eligible = eligible
        self._budgets = budgets

    def may_leave(self, row: int, now: float) -> bool:
        """Whether a pod may be asked to leave, as far as that depends on it alone."""
        return guard_of(self._cluster, self._rules, row, now) is None and self.may_all_leave([row])

    def may_all_leave(self, rows: Sequence[int]) -> bool:
        """Whether disruption budgets let these pods go together."""
        return not self._budgets or not self._budgets.violating(rows)

    def sync(self) -> None:
        """Bring budgets up to date: before a round of questions."""
        self._budgets.sync()

    def fits(self, slot: int, classes: Sequence[int], going: Collection[int]) -> bool:
        """Whether pods of these classes fit a slot once these rows have gone."""
        cluster = self._cluster
        if slot < 0 or cluster.nodes.live[slot] == 0 or cluster.nodes.unschedulable[slot]:
            return False
        kinds = Counter(classes)
        if not all(self._eligible(class_id, slot) for class_id in kinds):
            return False
        masks = self._masks(slot, classes, going)
        if masks is None:
            return False
        return fits_after(cluster, slot, list(zip(classes, masks, strict=True)), going)

    def _masks(self, slot: int, classes: Sequence[int], going: Collection[int]) -> list[int] | None:
        """Devices that the pods could have one beside the other; ``None`` where there are none."""
        cluster = self._cluster
        if not any(cluster.classes[class_id].devices for class_id in classes):
            return [0] * len(classes)
        table, masks = cluster.ledger.devices, []
        free = devices_after(cluster, slot, going)
        for class_id in classes:
            mask = 0
            for request in cluster.classes[class_id].devices:
                kind, models = table.kind_number(request.kind), table.model_mask(request.models)
                right = [
                    device
                    for device in range(MAX_DEVICES)
                    if table.kind[slot, device] == kind
                    and models >> int(table.model[slot, device]) & 1
                    and free[device] >= request.milli
                ]
                if len(right) < request.count:
                    return None
                if request.milli < WHOLE:
                    right.sort(key=lambda device: (int(free[device]), device))
                for device in right[: request.count]:
                    mask |= 1 << device
                    free[device] -= request.milli
            masks.append(mask)
        return masks
