"""What is wrong with objects, told on them: one event an object and sentence.

Nodes, their agents' reports, groups, queues and Movements that cannot be read, or not as they are
written, fail alone and are noted in ``cluster.abnormal``. Their owners look at the object, not at
our log, so an event says it there, once as long as it is the same. A pod that cannot be read has a
condition besides; of pods that can, the ``reporter`` tells.
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
"""Events of one look."""


class ObjectWarnings:
    """Tells what is wrong with objects."""

    def __init__(self, cluster: Cluster, store: Store) -> None:
        """Nothing has been told yet."""
        self._cluster = cluster
        self._store = store
        self._told: dict[str, str] = {}
        self._kinds = {kind.kind.lower(): kind for kind in TABLE.where(lambda entry: entry.warned)}

    def tell(self, wall: float) -> int:
        """Write events about what is new; returns how many. ``wall`` is seconds since the epoch."""
        abnormal, told = self._cluster.abnormal, self._told
        for key in [key for key in told if key not in abnormal]:
            del told[key]
        news = [
            key
            for key, message in abnormal.items()
            if told.get(key) != message and key.partition(" ")[0] in self._kinds
        ]
        bodies, patches = list[bytes](), list[Patch | None]()
        component = min(self._cluster.config.scheduler_names)
        for key in news[:AT_ONCE]:
            told[key] = abnormal[key]
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
        """The object that a note is about, as far as an event needs it; ``None`` if it is gone."""
        word, _, name = key.partition(" ")
        namespace, _, name = name.rpartition("/")
        if self._kinds[word] is POD:
            return self._store.get(POD, namespace, name)
        return Record(self._kinds[word], namespace, name, self._uid(word, namespace, name), 0, b"")

    def _uid(self, word: str, namespace: str, name: str) -> str:
        """The identity of an object as far as it is known without asking; empty else."""
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
