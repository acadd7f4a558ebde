"""Class constants as arrays, compiled on first use and shared by the shards of a profile."""

from collections.abc import Iterable
from typing import Final

import numpy as np
import numpy.typing as npt

from stretto.api.effective import HostPort
from stretto.framework.program import DEVICE_REQUESTS, REQUESTS, ClassTable, StaticTable
from stretto.state.classes import PodClass
from stretto.state.cluster import Cluster
from stretto.state.eligibility import Eligibility
from stretto.state.resources import NEVER, PODS

NO_EXTRA: Final = np.zeros((1, 0), np.int16)
"""Answers of Python rules when a profile has none."""


class ClassCompiler:
    """Keeps ``ClassTable`` and the port masks in step with the cluster's classes."""

    def __init__(self, cluster: Cluster, eligibility: Eligibility) -> None:
        """Start with no class compiled."""
        self._cluster = cluster
        self._eligibility = eligibility
        self._serial: npt.NDArray[np.int64] = np.zeros(0, np.int64)
        self._table = _table(64, 8)
        self._port_rows: dict[tuple[HostPort, ...], int] = {(): 0}
        self._port_conflict: npt.NDArray[np.uint64] = np.zeros((1, 1), np.uint64)
        self._port_own: npt.NDArray[np.uint64] = np.zeros((1, 1), np.uint64)
        self._ports_known = 0
        self._epoch = 0

    @property
    def table(self) -> ClassTable:
        """Constants by class id; valid for the classes last ensured."""
        return self._table

    @property
    def static(self) -> StaticTable:
        """Rows that the constants point to."""
        return StaticTable(
            self._eligibility.rows,
            self._eligibility.scores,
            self._port_conflict,
            self._port_own,
            NO_EXTRA,
        )

    def ensure(self, class_ids: Iterable[int]) -> list[int]:
        """Compile these classes where needed; returns those that were (their rows are stale)."""
        resources = self._cluster.ledger.resources
        if self._epoch != resources.epoch:
            self._epoch = resources.epoch
            self._serial[:] = 0
        if len(resources) > self._table.ask.shape[1] or len(self._cluster.classes) > len(
            self._serial
        ):
            self._grow(len(self._cluster.classes), len(resources))
        stale = []
        for class_id in class_ids:
            pod = self._cluster.classes[class_id]
            if self._serial[class_id] != pod.serial:
                self._compile(pod)
                self._serial[class_id] = pod.serial
                stale.append(class_id)
        self._widen_ports()
        return stale

    def serials(self, class_ids: npt.NDArray[np.int32]) -> npt.NDArray[np.int64]:
        """int64[k]: serials under which these classes are compiled."""
        return self._serial[class_ids]

    def _compile(self, pod: PodClass) -> None:
        c, table = pod.id, self._table
        scaled = [*self._cluster.classes.scaled_requests(c), (PODS, 1)]
        if len(scaled) > REQUESTS:
            scaled = [(PODS, NEVER)]
        table.requests[c] = len(scaled)
        table.ask[c] = 0
        for i, (column, amount) in enumerate(scaled):
            table.column[c, i] = column
            table.amount[c, i] = amount
            table.ask[c, column] = amount
        devices = self._cluster.ledger.devices
        table.device[c] = 0
        table.models[c] = 0
        for q, request in enumerate(pod.devices[:DEVICE_REQUESTS]):
            kind = devices.kind_number(request.kind)
            table.device[c, 4 * q : 4 * q + 3] = (request.count, request.milli, kind)
            table.models[c, q] = devices.model_mask(request.models)
        table.filter_row[c] = self._eligibility.filter_row(pod)
        table.score_row[c] = self._eligibility.score_row(pod)
        table.port_row[c] = self._port_row(pod.ports)
        table.extra_row[c] = -1

    def _port_row(self, ports: tuple[HostPort, ...]) -> int:
        found = self._port_rows.get(ports)
        if found is None:
            self._cluster.ledger.ports.learn(ports)
            self._port_rows[ports] = found = len(self._port_rows)
        return found

    def _widen_ports(self) -> None:
        """Make the port masks anew when a port was seen that they could not know."""
        used = self._cluster.ledger.ports
        if used.known == self._ports_known and len(self._port_conflict) == len(self._port_rows):
            return
        self._ports_known = used.known
        self._port_conflict = np.stack([used.conflict_mask(p) for p in self._port_rows])
        self._port_own = np.stack([used.own_mask(p) for p in self._port_rows])

    def _grow(self, classes: int, resources: int) -> None:
        old = self._table
        size = max(len(self._serial), 64)
        while size < classes:
            size *= 2
        new = _table(size, max(resources, old.ask.shape[1]))
        for before, after in zip(old, new, strict=True):
            part = tuple(slice(0, n) for n in before.shape)
            after[part] = before
        self._table = new
        self._serial = np.concatenate(
            [self._serial, np.zeros(size - len(self._serial), np.int64)]
        )


def _table(classes: int, resources: int) -> ClassTable:
    """An empty table for so many classes and resources."""

    def ints(*shape: int) -> npt.NDArray[np.int32]:
        return np.zeros((classes, *shape), np.int32)

    return ClassTable(
        requests=ints(),
        column=ints(REQUESTS),
        amount=ints(REQUESTS),
        ask=ints(resources),
        filter_row=ints(),
        score_row=ints(),
        port_row=ints(),
        device=ints(4 * DEVICE_REQUESTS),
        models=np.zeros((classes, DEVICE_REQUESTS), np.int64),
        extra_row=ints() - 1,
    )
