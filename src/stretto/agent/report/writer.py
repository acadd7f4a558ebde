"""Writer of reports: one write per changed report, none for an unchanged one.

Reports are compared without their time. An unchanged report is written again after ``REFRESH_S``,
so that readers can distinguish an idle node from a stopped agent.
"""

from typing import Any, Final

import msgspec

from stretto.agent.report.extended import ExtendedResources
from stretto.api.types.cnr import CnrStatus
from stretto.api.wire.kinds import CUSTOM_NODE_RESOURCE
from stretto.framework.profile.capacity.reclaim import ExtendedNames
from stretto.stores.store import Patch, Reply, StatusReason, Store, WriteOutcome

REFRESH_S: Final = 120.0
"""Seconds after which an unchanged report is written again; less than the lifetime of metrics."""


class ReportWriter:
    """Writer of the reports of one node."""

    def __init__(
        self, store: Store, node: str, extended: ExtendedNames = ExtendedNames.NONE
    ) -> None:
        """Write to the CustomNodeResource of a node, and its headroom as extended resources."""
        #: Number of writes.
        self.writes = 0
        self._store = store
        self._node = node
        self._last: Any = None
        self._written_s = 0.0
        self._extended = ExtendedResources(extended)

    def report(self, status: CnrStatus, now_s: float) -> Reply | None:
        """Write a status; return ``None`` if it has not changed.

        Args:
            status: the new status.
            now_s: monotonic clock time.
        """
        self._extended.write(self._store, self._node, status)
        fields = msgspec.to_builtins(status)
        compared = _without_time(fields)
        if compared == self._last and now_s - self._written_s < REFRESH_S:
            return None
        reply = self._write(fields)
        self.writes += 1
        if reply.outcome is WriteOutcome.OK:
            self._last, self._written_s = compared, now_s
        return reply

    def _write(self, status: Any) -> Reply:
        """Patch the status; the object is created if the node has none."""
        patch = Patch("", self._node, {"status": status})
        reply = self._store.patch_status(CUSTOM_NODE_RESOURCE, [patch])[0]
        if reply.code is not StatusReason.NOT_FOUND:
            return reply
        created = {
            "apiVersion": CUSTOM_NODE_RESOURCE.api_version,
            "kind": CUSTOM_NODE_RESOURCE.kind,
            "metadata": {"name": self._node},
        }
        first = self._store.create(CUSTOM_NODE_RESOURCE, [msgspec.json.encode(created)])[0]
        if first.outcome is not WriteOutcome.OK:
            return first
        return self._store.patch_status(CUSTOM_NODE_RESOURCE, [patch])[0]


def _without_time(status: Any) -> Any:
    """A status without the time of its measurement."""
    metric = dict(status.get("nodeMetricStatus") or {})
    metric.pop("updateTime", None)
    return {**status, "nodeMetricStatus": metric}
