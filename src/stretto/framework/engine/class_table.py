"""Class constants as arrays, compiled on first use and shared by the shards of a profile."""

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from stretto.api.types.effective_requests import HostPort
from stretto.framework.compiled.tables import DEVICE_REQUESTS, REQUESTS, ClassTable, StaticTable
from stretto.framework.contract.rule import DerivedRule, View
from stretto.state.classes.table import PodClass
from stretto.state.cluster.cluster import Cluster
from stretto.state.nodes.eligibility import Eligibility
from stretto.state.rows.resources import NEVER, PODS
from stretto.state.rows.snapshot import Columns

NO_EXTRA: Final = np.zeros((1, 0), np.int16)
"""Results of Python rules for a profile without any."""


class ClassCompiler:
    """Keeps ``ClassTable`` and the port masks up to date with the classes of the cluster."""

    def __init__(
        self,
        cluster: Cluster,
        eligibility: Eligibility[View],
        derived: DerivedRule | None = None,
    ) -> None:
        """Start without compiled classes; classes also request amounts of ``derived`` columns."""
        self._cluster = cluster
        self._derived = derived
        self._eligibility = eligibility
        #: int64[class]: serials of the compiled versions; 0 for none.
        self.serials: npt.NDArray[np.int64] = np.zeros(0, np.int64)
        self._row_serial: npt.NDArray[np.int64] = np.zeros((0, 2), np.int64)
        self._row_epoch = 0
        #: Constants by class id; valid for the last ensured classes.
        self.table: ClassTable = _table(64, 8)
        self._port_rows: dict[tuple[HostPort, ...], int] = {(): 0}
        self._port_conflict: npt.NDArray[np.uint64] = np.zeros((1, 1), np.uint64)
        self._port_own: npt.NDArray[np.uint64] = np.zeros((1, 1), np.uint64)
        self._ports_known = 0
        self._models_known = 0
        self._epoch = 0

    @property
    def static(self) -> StaticTable:
        """Static rows to which the constants refer."""
        rows, scores, uniform = self._eligibility.tables()
        return StaticTable(rows, scores, uniform, self._port_conflict, self._port_own, NO_EXTRA)

    def fits(self, columns: Columns) -> bool:
        """True if a snapshot has all resources and port words to which the constants refer."""
        words, resources = self._port_conflict.shape[1], len(self._cluster.ledger.resources.names)
        return words <= len(columns.ports) and resources <= len(columns.free)

    def ensure(self, class_ids: npt.NDArray[np.int32]) -> None:
        """Compile the given classes if needed: new ones and those with reassigned rows."""
        self._fit()
        self._eligibility.mark_used(
            self.table.filter_row[class_ids], self.table.score_row[class_ids]
        )
        self._compile_missing(class_ids)
        if self._eligibility.epoch != self._row_epoch:
            self._row_epoch = self._eligibility.epoch
            self._check_rows()
            self._compile_missing(class_ids)
        self._widen_ports()

    def _fit(self) -> None:
        """Follow the number of classes, resources and models, and coarser scan steps."""
        ledger, classes = self._cluster.ledger, len(self._cluster.classes)
        resources, models = ledger.resources, len(ledger.devices.model_names)
        if self._epoch != resources.epoch or self._models_known != models:
            self._epoch, self._models_known = resources.epoch, models
            self.serials[:] = 0
        width = len(resources.names)
        if width > self.table.by_column.shape[1] or classes > len(self.serials):
            self._grow(classes, width)

    def _compile_missing(self, class_ids: npt.NDArray[np.int32]) -> None:
        classes = self._cluster.classes
        missing = class_ids[self.serials[class_ids] != classes.serials[class_ids]]
        for class_id in missing.tolist():
            self._compile(classes[class_id])

    def _check_rows(self) -> None:
        """Drop classes whose static rows were reassigned to another signature."""
        rows, scores = self._eligibility.row_serials, self._eligibility.score_serials
        table = self.table
        gone = rows[table.filter_row] != self._row_serial[:, 0]
        gone |= scores[table.score_row] != self._row_serial[:, 1]
        self.serials[gone] = 0

    def _compile(self, pod: PodClass) -> None:
        c, table = pod.id, self.table
        scaled = [*self._cluster.classes.scaled_requests(c), (PODS, 1)]
        scored = 0
        if self._derived is not None:
            scaled += self._derived.amounts(pod)
            scored = self._derived.scored
        if len(scaled) > REQUESTS or len(pod.devices) > DEVICE_REQUESTS:
            scaled = [(PODS, NEVER)]  # more resources than the table's width: unschedulable
            scored = 0
        table.requests[c], table.checked[c] = len(scaled), len(scaled) - scored
        table.by_column[c] = 0
        for i, (column, amount) in enumerate(scaled):
            table.column[c, i] = column
            table.amount[c, i] = amount
            table.by_column[c, column] = amount
        devices = self._cluster.ledger.devices
        table.device[c] = 0
        table.models[c] = 0
        for q, request in enumerate(pod.devices[:DEVICE_REQUESTS]):
            kind = devices.kind_number(request.kind)
            table.device[c, 4 * q : 4 * q + 3] = (request.count, request.milli, kind)
            table.models[c, q] = devices.model_mask(request.models)
        table.filter_row[c] = row = self._eligibility.filter_row(pod)
        table.score_row[c] = score = self._eligibility.score_row(pod)
        self._row_serial[c, 0] = self._eligibility.row_serials[row]
        self._row_serial[c, 1] = self._eligibility.score_serials[score]
        table.port_row[c] = self._port_row(pod.ports)
        table.extra_row[c] = -1
        self.serials[c] = pod.serial

    def _port_row(self, ports: tuple[HostPort, ...]) -> int:
        found = self._port_rows.get(ports)
        if found is None:
            self._cluster.ledger.learn_ports(ports)
            self._port_rows[ports] = found = len(self._port_rows)
        return found

    def _widen_ports(self) -> None:
        """Rebuild the port masks after a port appears that they do not include."""
        used = self._cluster.ledger.ports
        if used.known == self._ports_known and len(self._port_conflict) == len(self._port_rows):
            return
        self._ports_known = used.known
        self._port_conflict = np.stack([used.conflict_mask(p) for p in self._port_rows])
        self._port_own = np.stack([used.own_mask(p) for p in self._port_rows])

    def _grow(self, classes: int, resources: int) -> None:
        old = self.table
        size = max(len(self.serials), 64)
        while size < classes:
            size *= 2
        new = _table(size, max(resources, old.by_column.shape[1]))
        pairs: list[tuple[npt.NDArray[Any], npt.NDArray[Any]]] = list(zip(old, new, strict=True))
        for before, after in pairs:
            after[tuple(slice(0, n) for n in before.shape)] = before
        self.table = new
        more = size - len(self.serials)
        self.serials = np.concatenate([self.serials, np.zeros(more, np.int64)])
        self._row_serial = np.concatenate([self._row_serial, np.zeros((more, 2), np.int64)])


def _table(classes: int, resources: int) -> ClassTable:
    """An empty table for a number of classes and resources."""

    def ints(*shape: int) -> npt.NDArray[np.int32]:
        return np.zeros((classes, *shape), np.int32)

    return ClassTable(
        requests=ints(),
        checked=ints(),
        column=ints(REQUESTS),
        amount=ints(REQUESTS),
        by_column=ints(resources),
        filter_row=ints(),
        score_row=ints(),
        port_row=ints(),
        device=ints(4 * DEVICE_REQUESTS),
        models=np.zeros((classes, DEVICE_REQUESTS), np.int64),
        extra_row=ints() - 1,
    )
