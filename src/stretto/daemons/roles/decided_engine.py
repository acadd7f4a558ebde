"""The engine of the binder role: it reads decisions instead of making them."""

from collections.abc import Callable
from typing import Final

import numpy as np
import numpy.typing as npt

from stretto.api.types.handover_annotations import MICRO_TOPOLOGY, Hand, HandoverState
from stretto.base.errors import InputError
from stretto.daemons.roles.store_view import StoreView
from stretto.framework.compiled.placement import BatchPlacement, PlacementRequest
from stretto.state.classes.table import PodClass
from stretto.state.cluster.cluster import Cluster
from stretto.state.ingest.node_reports import device_mask
from stretto.state.numa.ledger import with_numa_nodes
from stretto.state.rows.snapshot import Columns
from stretto.state.work.claims import PlacementFailure, VolumeChoice
from stretto.state.work.units import Cure

ANY_NUMBER: Final = 1 << 30
"""Capacity reported for every class: each pod has a decided node already."""


class DecidedEngine:
    """Engine that places pods on the node of their annotations; otherwise like a shard's engine."""

    def __init__(
        self,
        cluster: Cluster,
        view: StoreView,
        eligible: Callable[[int, int], bool],
        volumes: Callable[[int, int], VolumeChoice | None] | None = None,
    ) -> None:
        """Read the decisions of a view.

        Args:
            cluster: the cluster.
            view: the store view that contains the decisions.
            eligible: returns for (class id, slot) whether labels and taints of the node admit the
                class.
            volumes: chooses the volumes of a pod on a slot; ``None`` without volume rules.
        """
        #: The snapshot whose version the claims contain.
        self.columns = Columns(cluster.ledger)
        #: Empty: this engine has no partition.
        self.own_block: npt.NDArray[np.uint8] = np.zeros(0, np.uint8)
        self._volumes = volumes
        self._cluster = cluster
        self._view = view
        self._eligible = eligible

    def sync(self) -> None:
        """Bring the snapshot up to date."""
        self.columns.sync()

    def capacity(self, class_id: int) -> int:
        """A constant: every pod of this engine has a decided node."""
        del class_id
        return ANY_NUMBER

    def decision(self, row: int) -> tuple[HandoverState, int] | None:
        """The valid decision about a pod, with the slot; ``None`` if there is none."""
        pods, known = self._cluster.pods, self._view.known.get(self._cluster.pods.uid[row])
        slot = self._cluster.nodes.by_name.get(known.standing.node) if known is not None else None
        if known is None or slot is None:
            return None
        # The judge checks labels, taints and cordons only on nodes that changed after a claim was
        # made. Another process made this claim at an unknown time.
        if not self._eligible(int(pods.class_id[row]), slot):
            return None
        return known.standing, slot

    def place(self, request: PlacementRequest) -> BatchPlacement:
        """The decided slots; a unit with too few decisions gets none.

        Nominated pods are excluded: the preemption places them.
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
        if self._volumes is None or not self._cluster.pods.volumes[row]:
            return None
        return self._volumes(row, slot)

    def mask(self, row: int, slot: int) -> int:
        """Mask of decided devices and NUMA nodes; of probable ones if the decision names none."""
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
            return mask  # the judge rejects it, and the shard decides again
        return mask | (stated or with_numa_nodes(0, cluster.topology.choose(slot, pod)))
