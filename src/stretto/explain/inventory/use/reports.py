"""Reports of node agents, with their age and their validity by a profile."""

from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Final, NamedTuple

import msgspec
import numpy as np

from stretto.api import codec
from stretto.api.types.cnr import CustomNodeResource, GroupUsage, Usage
from stretto.api.wire.kinds import CUSTOM_NODE_RESOURCE
from stretto.api.wire.quantity import Quantity
from stretto.base.clock import timestamp_or_none
from stretto.base.errors import InputError
from stretto.framework.plugins.load_aware import EXPIRATION, LoadAwareRule
from stretto.framework.profile.capacity.reclaim import ReclaimRules
from stretto.framework.profile.profile import Profile
from stretto.state.nodes.reports import newest_measurement
from stretto.stores.store import Record


class ReportState(Enum):
    """Validity of a report."""

    #: It is valid.
    CURRENT = "current"
    #: It is older than the profile allows, or its time is missing or unreadable.
    STALE = "stale"
    #: Its time is in the future by more than the profile allows.
    AHEAD = "ahead"
    #: There is no readable measurement.
    NONE = "none"


class ReportFacts(msgspec.Struct, frozen=True):
    """Age and validity of the report of a node."""

    #: RFC 3339 time of the measurement; ``None`` without one.
    measured: str | None = None
    #: Seconds since the measurement, negative for a time in the future; ``None`` if unknown.
    age_s: float | None = None
    #: Validity of the report.
    state: ReportState = ReportState.NONE
    #: Invalid parts of the report, and how they are read; empty if there are none.
    problem: str = ""

    @property
    def is_old(self) -> bool:
        """True if the report states something that is not current."""
        return self.state in (ReportState.STALE, ReportState.AHEAD)


class ReportExpiry(NamedTuple):
    """The time of a state, and the time for which its reports are valid."""

    #: Wall time of the state in seconds; ``None`` for the newest measurement.
    at: float | None = None
    #: Seconds for which the measured use of a node is valid.
    use_s: float = EXPIRATION
    #: Seconds for which the pool of a node is valid.
    pool_s: float = ReclaimRules().degrade_seconds


DEFAULT_EXPIRY: Final = ReportExpiry()
"""Expiry by the defaults of the rules, at the time of the newest measurement."""


def expiry_of(profile: Profile, at: float | None) -> ReportExpiry:
    """Return the expiry of a profile: for use, the shortest of the rules that read it."""
    rules = (*profile.filters, *(rule for rule, _ in profile.scores))
    capacity = profile.capacity
    sections = (each for each in (capacity.overcommit, capacity.hot_nodes) if each is not None)
    use = [float(rule.expiration) for rule in rules if isinstance(rule, LoadAwareRule)]
    use += [section.expiration_seconds for section in sections]
    reclaim = capacity.reclaim or ReclaimRules()
    return ReportExpiry(at, min(use, default=EXPIRATION), reclaim.degrade_seconds)


class ReportsOfNodes:
    """The reports of a state with their ages."""

    def __init__(self, records: Iterable[Record], at: float | None, expires_s: float) -> None:
        """Read the reports; ``at`` is the wall time of the state, ``None`` for the newest one."""
        #: Readable reports by node.
        self.by_name: dict[str, CustomNodeResource] = {}
        #: Error messages of the other reports by node.
        self.unreadable: dict[str, str] = {}
        self._expires_s = expires_s
        for record in records:
            if record.kind == CUSTOM_NODE_RESOURCE:
                try:
                    report = codec.decode_as(CustomNodeResource, record.body, "report")
                except InputError as error:
                    self.unreadable[record.name] = str(error)
                else:
                    self.by_name[record.name] = report
        self._at = at if at is not None else self._newest()

    def usage(self, name: str) -> Usage | None:
        """Measured use of a node."""
        report = self.by_name.get(name)
        metric = report.status.node_metric_status if report is not None else None
        return metric.node_metric.generic_usage if metric and metric.node_metric else None

    def groups(self, name: str) -> tuple[GroupUsage, ...]:
        """Measured use of a node by QoS level."""
        report = self.by_name.get(name)
        metric = report.status.node_metric_status if report is not None else None
        return metric.group_metric if metric is not None else ()

    def pool(self, name: str) -> Mapping[str, Quantity]:
        """Amounts of the best-effort pool of a node; empty without a pool."""
        report = self.by_name.get(name)
        return report.status.resources.allocatable if report is not None else {}

    def facts(self, name: str, problems: list[str]) -> ReportFacts:
        """Age and validity of the report of a node, with the problems of its parts."""
        report = self.by_name.get(name)
        if name in self.unreadable:
            problems = [*problems, self.unreadable[name]]
        metric = report.status.node_metric_status if report is not None else None
        if metric is None:
            return ReportFacts(problem="; ".join(problems))
        said = metric.update_time or ""
        measured = timestamp_or_none(said)
        if measured is None:
            problems = [*problems, f"updateTime {said!r} is no RFC 3339 time; the report is stale"]
            return ReportFacts(said or None, None, ReportState.STALE, "; ".join(problems))
        age = self._at - measured
        state = ReportState.STALE if age > self._expires_s else ReportState.CURRENT
        if age < -self._expires_s:
            state = ReportState.AHEAD
            problems = [*problems, f"updateTime {said} is in the future: compare the clocks"]
        return ReportFacts(said, age, state, "; ".join(problems))

    def _newest(self) -> float:
        """Time of the newest measurement, as the scheduler determines it."""
        metrics = [each.status.node_metric_status for each in self.by_name.values()]
        times = [timestamp_or_none(each.update_time or "") for each in metrics if each is not None]
        return newest_measurement(np.array([each for each in times if each], np.float64))
