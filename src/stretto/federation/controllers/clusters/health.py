"""Probes the health and the served kinds of members, and sums the capacity of their nodes."""

from collections.abc import Hashable, Iterable
from concurrent.futures import CancelledError, Future
from typing import Final

import msgspec

from stretto.base.clock import Clock, timestamp
from stretto.base.errors import StrettoError
from stretto.federation.connection.protocol import MemberAnswer, MemberProbe
from stretto.federation.controllers.clusters.links import MemberLinks
from stretto.federation.fleet import HOST, ClusterFleet, is_joined
from stretto.federation.objects.membership import conditions
from stretto.federation.objects.membership.capacity import MemberCapacity
from stretto.federation.objects.membership.health import HealthTrend, shown_answer
from stretto.federation.shares import ControllerShare
from stretto.reconcile import writes
from stretto.reconcile.cache import Change, Fields, StoredObject

_LOOK: Final = 0.25
"""Seconds between two checks for an answer that is still missing."""


class HealthController:
    """Writes the answers of members to the status of FederatedClusters."""

    name = "health"

    def __init__(
        self, fleet: ClusterFleet, clock: Clock, links: MemberLinks, share: ControllerShare
    ) -> None:
        """Initialize for the clusters of a fleet.

        Args:
            fleet: the fleet.
            clock: its wall time gives the times of conditions.
            links: the connections to members.
            share: clusters of other processes are only probed; their status is not written.
        """
        self._share = share
        self._fleet = fleet
        self._clock = clock
        self._links = links
        self._capacities: dict[str, MemberCapacity] = {}
        self._probes: dict[str, Future[MemberProbe]] = {}
        self._trends: dict[str, HealthTrend] = {}

    def affected(self, change: Change) -> Iterable[Hashable]:
        """Keys of clusters that are added or join; nodes and pods only change the sums."""
        if change.source != HOST:
            if self._share.has(self.name, change.source):
                self._capacities.setdefault(change.source, MemberCapacity()).apply(change)
        elif change.kind.kind == "FederatedCluster" and _is_new(change):
            yield change.object.record.name

    def reconcile(self, key: Hashable, now: float) -> float | None:
        """Probe one member; write the fields that changed."""
        assert isinstance(key, str)
        cluster = self._fleet.cluster(key)
        if cluster is None or cluster.is_terminating or not is_joined(cluster):
            self._probes.pop(key, None)
            self._trends.pop(key, None)
            return None
        connection = self._links.connection(key)
        if connection is None:
            return _LOOK if key not in self._trends else self._fleet.settings.health_period
        probe = self._probes.get(key)
        if probe is None:
            probe = self._probes[key] = connection.probe()
        if not probe.done():
            return _LOOK
        del self._probes[key]
        self._report(cluster, _answer(probe), now)
        return self._fleet.settings.health_period

    def _report(self, cluster: StoredObject, probe: MemberProbe, now: float) -> None:
        """Write the fields that an answer changes."""
        name, status = cluster.record.name, cluster.status
        before = status.get("conditions") or ()
        trend = self._trends.get(name) or HealthTrend(shown_answer(before))
        threshold = self._fleet.settings.health_threshold
        trend = self._trends[name] = trend.with_answer(probe.answer, now, threshold)
        self._fleet.note_answer(name, answers=probe.answer is MemberAnswer.HEALTHY)
        if not self._share.has(self.name, name):
            return
        changed: Fields = {}
        if trend.shown is probe.answer:
            time = timestamp(int(self._clock.now()))
            merged = conditions.merged(before, conditions.health(probe), time)
            if merged is not None:
                changed["conditions"] = merged
        if probe.answer is MemberAnswer.HEALTHY:
            changed |= self._observed(name, status, probe)
        if changed:
            writes.patch_status(self._fleet.host.store, cluster, changed)

    def _observed(self, name: str, status: Fields, probe: MemberProbe) -> Fields:
        """Fields of a status that the answer of a member changes."""
        found: Fields = {}
        capacity = self._capacities.get(name)
        resources = (capacity or MemberCapacity()).resources()
        if status.get("resources") != resources:
            # A merge patch keeps the names that it does not contain.
            gone = _removed(status.get("resources") or {}, resources)
            found["resources"] = {**resources, **gone}
        if probe.kinds is not None:
            kinds = [msgspec.to_builtins(each) for each in probe.kinds]
            if status.get("apiResourceTypes") != kinds:
                found["apiResourceTypes"] = kinds
        return found


def _is_new(change: Change) -> bool:
    """True if a cluster was added or has just joined."""
    return change.new is not None and (change.old is None or not is_joined(change.old))


def _answer(probe: Future[MemberProbe]) -> MemberProbe:
    """The answer of a member; an error counts as no answer."""
    try:
        return probe.result()
    except (StrettoError, OSError) as error:
        return MemberProbe(MemberAnswer.UNREACHABLE, str(error))
    except CancelledError:
        return MemberProbe(MemberAnswer.UNREACHABLE, "the connection was closed")


def _removed(before: Fields, after: Fields) -> Fields:
    """Lists of amounts for a merge patch that removes resources which no longer exist."""
    return {
        key: {**dict.fromkeys(before.get(key) or {}), **after[key]}
        for key in ("allocatable", "available")
        if (before.get(key) or {}).keys() - after[key].keys()
    }
