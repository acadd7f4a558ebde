"""The nodes without some of their pods, in the form that rules read.

kube-scheduler runs every filter on a copy of the node without the victims. Rules with a Python form
read a copy of the snapshot here: amounts, ports, devices and the measured use of pods. The ledger's
own device and port tables and NUMA nodes show the current node.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from stretto.framework.contract.rule import View
from stretto.state.cluster.cluster import Cluster
from stretto.state.queries.fit_after import devices_after_eviction, ports_after_eviction
from stretto.state.queries.numa_after import numa_choice_of
from stretto.state.rows.pods import NO_SLOT
from stretto.state.rows.resources import CPU, MEMORY
from stretto.state.rows.snapshot import Columns

Ints = npt.NDArray[np.int64]


class PromisedClaim(NamedTuple):
    """A claim that is not charged yet."""

    #: Class of the pod.
    class_id: int
    #: Slot of the pod.
    slot: int
    #: Devices and NUMA nodes of the pod, as a mask.
    devices: int


class NodesWithout:
    """A copy of the nodes from which pods are removed."""

    def __init__(self, cluster: Cluster, view: View) -> None:
        """Copy the columns that claims change; pods are removed from the copy."""
        self._cluster = cluster
        self._columns: Columns = view.columns.copied()
        self._measured = cluster.nodes.reports.pods.copied()
        self._measured.grow(self._columns.size)
        self._gone: set[int] = set()
        #: View of the nodes in the form that rules read.
        self.view = view._replace(
            columns=self._columns, nodes=cluster.nodes.showing(self._measured)
        )

    def claim(self, claims: Sequence[PromisedClaim]) -> None:
        """Add claims."""
        classes, ledger = self._cluster.classes, self._cluster.ledger
        for class_id, slot, devices in claims:
            pod = classes[class_id]
            self._add(np.array([slot]), np.array([class_id], np.int32), -1)
            self._columns.hold(slot, self._cluster.charges.exclusive(class_id, slot, devices))
            if pod.ports:
                ledger.learn_ports(pod.ports)
                mask = ledger.ports.own_mask(pod.ports)[: len(self._columns.ports)]
                self._columns.ports[:, slot] |= mask
            for request in pod.devices:
                chosen = numa_choice_of(self._cluster, slot, devices, request)
                self._columns.device_free[slot, chosen] -= request.milli

    def remove(self, rows: Ints) -> None:
        """Remove pods from their nodes; rows without a node are ignored."""
        pods, classes = self._cluster.pods, self._cluster.classes
        rows = rows[pods.slot[rows] != NO_SLOT]
        slots, class_ids = pods.slot[rows].astype(np.int64), pods.class_id[rows]
        self._add(slots, class_ids, 1)
        self._hold(rows, -1)
        requests = classes.requests_of(class_ids)[:, [CPU, MEMORY]]
        self._measured.subtract(rows, slots, requests)
        self._gone.update(rows.tolist())
        ids = np.unique(class_ids).tolist()
        odd = [each for each in ids if classes[each].ports or classes[each].devices]
        for slot in np.unique(slots[np.isin(class_ids, odd)]).tolist() if odd else ():
            self._free_devices(slot, set(rows[slots == slot].tolist()))

    @contextmanager
    def without(self, rows: Ints) -> Iterator[None]:
        """Context manager that removes pods, and adds them again."""
        here = self._cluster.pods.slot[rows]
        slots = np.unique(here[here != NO_SLOT])
        columns, used = self._columns, self._columns.ledger.used
        before = columns.free[:, slots], columns.ports[:, slots], columns.device_free[slots]
        whole = columns.alloc[:, slots], columns.percent[:, slots]
        measured = self._measured.gone_use, self._measured.gone_requests
        amounts, gone = used[slots], [each[slots] for each in measured]
        self.remove(rows)
        try:
            yield
        finally:
            self._hold(rows, 1)
            columns.free[:, slots], columns.ports[:, slots], columns.device_free[slots] = before
            columns.alloc[:, slots], columns.percent[:, slots] = whole
            used[slots] = amounts
            for each, kept in zip(measured, gone, strict=True):
                each[slots] = kept
            self._gone.difference_update(rows.tolist())

    def _add(self, slots: Ints, class_ids: npt.NDArray[np.int32], sign: int) -> None:
        """Add (1) or subtract (-1) free amounts.

        The scan amounts change by the difference between the rounded exact amounts.
        """
        ledger, live = self._columns.ledger, self._columns
        width = len(live.free)
        steps = ledger.resources.step_array()[:width]
        touched = np.unique(slots)
        whole = ledger.alloc[touched, :width]
        before = (whole - ledger.used[touched, :width]) // steps
        requests = self._cluster.classes.requests_of(class_ids)
        shared = min(requests.shape[1], ledger.used.shape[1])
        np.add.at(ledger.used[:, :shared], slots, -sign * requests[:, :shared])
        after = (whole - ledger.used[touched, :width]) // steps
        live.free[:, touched] += (after - before).T.astype(np.int32)

    def _hold(self, rows: Ints, sign: int) -> None:
        """Add (1) or remove (-1) the exclusive amounts of pods, which lower promises."""
        charges = self._cluster.charges
        for row in charges.holding() & rows.tolist():
            self._columns.hold(int(self._cluster.pods.slot[row]), charges.held_by(row), sign)

    def _free_devices(self, slot: int, going: set[int]) -> None:
        """Free the host ports and devices of pods that are removed from a slot."""
        now = self._cluster.ledger.devices.free[slot]
        self._columns.device_free[slot] += devices_after_eviction(self._cluster, slot, going) - now
        still = ports_after_eviction(self._cluster, slot, self._gone)[: len(self._columns.ports)]
        held = ports_after_eviction(self._cluster, slot, ())[: len(self._columns.ports)]
        self._columns.ports[:, slot] &= ~(held & ~still)
