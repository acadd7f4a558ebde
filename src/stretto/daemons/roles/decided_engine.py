"""What stands in for a shard's engine at the binder: decisions are read, not made."""

from collections.abc import Callable, Collection, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from stretto.api.types.handover_annotations import MICRO_TOPOLOGY, Hand, HandoverState
from stretto.base.errors import InputError
from stretto.control.scheduler.preemption import Domain
from stretto.daemons.roles.store_view import StoreView
from stretto.framework.compiled.one_node import VictimCandidate
from stretto.framework.compiled.placement import BatchPlacement, PlacementRequest
from stretto.framework.preemption.finder import VictimSearchResult
from stretto.state.classes.table import PodClass
from stretto.state.cluster.cluster import Cluster
from stretto.state.ingest.node_reports import device_mask
from stretto.state.numa.ledger import with_numa_nodes
from stretto.state.rows.snapshot import Columns
from stretto.state.victims.rules import PreemptionRules
from stretto.state.work.claims import PlacementFailure, Plan, VolumeChoice
from stretto.state.work.units import Cure, Unit

ANY_NUMBER: Final = 1 << 30
"""Room for pods whose places are decided already."""


class DecidedEngine:
    """Places pods where their annotations say; in every other way a shard's engine."""

    def __init__(
        self, cluster: Cluster, view: StoreView, eligible: Callable[[int, int], bool]
    ) -> None:
        """Read the decisions off a view; ``eligible`` is what nodes' labels and taints say."""
        #: The snapshot by which claims are dated.
        self.columns = Columns(cluster.ledger)
        #: No partition is ours.
        self.own_block: npt.NDArray[np.uint8] = np.zeros(0, np.uint8)
        #: Chooses the volumes of a pod on a slot, where it needs any.
        self.volumes: Callable[[int, int], VolumeChoice | None] | None = None
        self._cluster = cluster
        self._view = view
        self._eligible = eligible

    def sync(self) -> None:
        """Bring the snapshot up to date."""
        self.columns.sync()

    def room(self, class_id: int) -> int:
        """A place is decided for every pod that we are asked about."""
        del class_id
        return ANY_NUMBER

    def decision(self, row: int) -> tuple[HandoverState, int] | None:
        """What was decided about a pod, with the slot; ``None`` for nothing that holds."""
        pods, known = self._cluster.pods, self._view.known.get(self._cluster.pods.uid[row])
        slot = self._cluster.nodes.by_name.get(known.standing.node) if known is not None else None
        if known is None or slot is None:
            return None
        # The judge looks at labels, taints and cordons only where they changed after a claim was
        # made; this one was made by somebody else, nobody knows when.
        if not self._eligible(int(pods.class_id[row]), slot):
            return None
        return known.standing, slot

    def place(self, request: PlacementRequest) -> BatchPlacement:
        """The decided slots; a unit of which too little is decided has none.

        Whoever waits for others to leave is left to the part that looks after that.
        """
        rows = list(request.rows)
        slots = np.full(len(rows), -1, np.int32)
        masks = np.zeros(len(rows), np.int32)
        said: dict[int, PlacementFailure] = {}
        for start, stop, least in zip(
            request.starts, request.starts[1:], request.at_least, strict=False
        ):
            found = [self.decision(row) for row in rows[start:stop]]
            waits = any(each is not None and each[0].hand is Hand.NOMINATED for each in found)
            enough = sum(each is not None for each in found) >= least
            for i, each in enumerate(found, start):
                if waits or not enough:
                    said[i] = PlacementFailure(Cure.ANY, "not decided")
                elif each is not None:
                    slots[i], masks[i] = each[1], self.mask(rows[i], each[1])
        chosen = {
            i: choice
            for i, row in enumerate(rows)
            if slots[i] >= 0 and (choice := self._volumes_of(row, int(slots[i]))) is not None
        }
        return BatchPlacement(slots, masks, len(request.at_least), said, chosen)

    def _volumes_of(self, row: int, slot: int) -> VolumeChoice | None:
        if self.volumes is None or not self._cluster.pods.volumes[row]:
            return None
        return self.volumes(row, slot)

    def mask(self, row: int, slot: int) -> int:
        """Devices and NUMA nodes that were decided, or the likely ones where nobody says."""
        cluster, pods = self._cluster, self._cluster.pods
        pod: PodClass = cluster.classes[int(pods.class_id[row])]
        known = self._view.known[pods.uid[row]]
        mask = 0
        if pod.devices:
            mask = device_mask(known.record, None)
            if not mask:
                for each in pod.devices:
                    mask |= cluster.ledger.devices.guess(slot, each)
        if pod.annotations.numa is None:
            return mask
        note = known.standing.notes.get(MICRO_TOPOLOGY, "")
        try:
            stated = cluster.topology.mask_of(slot, note, pods.key(row)) if note else 0
        except InputError:
            return mask  # the judge finds that it does not fit, and the shard decides again
        return mask | (stated or with_numa_nodes(0, cluster.topology.choose(slot, pod)))


class NamedVictimFinder:
    """A finder that finds whom the annotations name."""

    def __init__(self, rules: PreemptionRules, decided: DecidedEngine, cluster: Cluster) -> None:
        """Read nominations off what was decided."""
        #: The profile's rules.
        self.rules = rules
        self._decided = decided
        self._cluster = cluster

    def begin(self, plan: Plan) -> None:
        """Every plan stands for itself."""

    def expect(self, rows: Sequence[int]) -> None:
        """Nothing is prepared."""

    def domains(self, unit: Unit, rows: Sequence[int], needed: int) -> Sequence[Domain]:
        """Where the unit may go was looked at when it was decided."""
        del unit, rows, needed
        return (None,)

    def restrict_to(self, unit: Unit, row: int, domain: Domain, promised: Sequence[int]) -> None:
        """Every pod has one node to go to."""

    def find(self, row: int) -> VictimSearchResult:
        """The node that was decided, and who must leave it."""
        found = self._decided.decision(row)
        if found is None:
            return VictimSearchResult(None)
        standing, slot = found
        rows = [self._cluster.pods.row(victim.uid) for victim in standing.victims]
        victims = tuple(each for each in rows if each is not None)
        mask = self._decided.mask(row, slot)
        return VictimSearchResult(VictimCandidate(slot, victims, frozenset(), (), mask))

    def take(self, row: int, candidate: VictimCandidate) -> None:
        """The binder's judge keeps count."""

    def may_evict(self, rows: Sequence[int]) -> bool:
        """The binder's judge asks the budgets."""
        del rows
        return True

    def allows(self, row: int, candidate: VictimCandidate) -> bool:
        """The binder's judge asks the rules."""
        return True

    def stand(self, mark: int) -> bool:
        """The binder's judge asks the rules."""
        return True

    def spare(self, rows: Collection[int]) -> None:
        """There is no second choice."""

    def chance(self, class_id: int, priority: int) -> int:
        """Nobody is woken by a chance: a new decision wakes."""
        del class_id, priority
        return 0

    def mark(self) -> int:
        """Nothing to go back to."""
        return 0

    def back_to(self, mark: int) -> None:
        """Nothing to take back."""
