"""Reports faults of objects on the objects: one event per object and message.

Nodes, node reports, PodGroups, Queues and Movements that are unreadable or invalid fail
individually and are recorded in ``cluster.abnormal``. Their owners read the object and not the log.
Therefore an event reports the fault, once per message. An unreadable pod also gets a condition;
``reporter`` reports about readable pods.
"""

from typing import Final

from stretto.api.kinds.table import TABLE
from stretto.api.wire.kinds import CUSTOM_NODE_RESOURCE, EVENT, NODE, POD, POD_GROUP
from stretto.control.reporting.wording import (
    NOT_VALID,
    PodReport,
    complaint_event,
    condition_patch,
)
from stretto.state.cluster.cluster import Cluster
from stretto.stores.store import Patch, Record, Store

AT_ONCE: Final = 16
"""Maximum number of events per call."""


class ObjectWarnings:
    """Writes events about faulty objects."""

    def __init__(self, cluster: Cluster, store: Store) -> None:
        """Start without reports."""
        self._cluster = cluster
        self._store = store
        self._reported: dict[str, str] = {}
        self._kinds = {kind.kind.lower(): kind for kind in TABLE.where(lambda entry: entry.warned)}

    def report(self, wall: float) -> int:
        """Write events about new faults.

        Returns the number of events. ``wall`` is seconds since the epoch.
        """
        abnormal, reported = self._cluster.abnormal, self._reported
        for key in [key for key in reported if key not in abnormal]:
            del reported[key]
        news = [
            key
            for key, message in abnormal.items()
            if reported.get(key) != message and key.partition(" ")[0] in self._kinds
        ]
        bodies, patches = list[bytes](), list[Patch | None]()
        component = min(self._cluster.config.scheduler_names)
        for key in news[:AT_ONCE]:
            reported[key] = abnormal[key]
            record = self._record(key)
            if record is None:
                continue
            bodies.append(complaint_event(record, abnormal[key], component, wall))
            if record.kind is POD and not record.node:
                word = PodReport(False, NOT_VALID, abnormal[key])
                patches.append(condition_patch(record, word, wall))
        if bodies:
            self._store.create(EVENT, bodies)
        if any(patches):
            self._store.patch_status(POD, [each for each in patches if each is not None])
        return len(bodies)

    def _record(self, key: str) -> Record | None:
        """Metadata of the faulty object; ``None`` if it is deleted."""
        word, _, name = key.partition(" ")
        namespace, _, name = name.rpartition("/")
        if self._kinds[word] is POD:
            return self._store.get(POD, namespace, name)
        return Record(self._kinds[word], namespace, name, self._uid(word, namespace, name), 0, b"")

    def _uid(self, word: str, namespace: str, name: str) -> str:
        """Uid of an object if it is known without a read; empty otherwise."""
        cluster = self._cluster
        if word == NODE.kind.lower():
            slot = cluster.nodes.by_name.get(name)
            return "" if slot is None else cluster.nodes.uids[slot]
        if word == CUSTOM_NODE_RESOURCE.kind.lower():
            report = cluster.nodes.reports.by_name.get(name)
            return "" if report is None else report.metadata.uid
        group = (
            cluster.groups.get(f"{namespace}/{name}") if word == POD_GROUP.kind.lower() else None
        )
        return "" if group is None else group.metadata.uid
