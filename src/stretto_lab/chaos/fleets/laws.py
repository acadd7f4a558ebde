"""The laws of a fleet: checked after every step, and at rest after the heal."""

from collections import Counter
from collections.abc import Iterator
from typing import Any, Final

from stretto.federation import names
from stretto.federation.objects import pending, placements
from stretto.federation.objects.decision import decided
from stretto.federation.problems import SCHEDULED
from stretto.reconcile.cache import StoredObject
from stretto_lab.chaos.fleets.truth import FleetTruth
from stretto_lab.chaos.fleets.workloads import DrawnWorkload
from stretto_lab.chaos.fleets.world import FleetWorld

FOREIGN: Final = "objects of other owners stay as they are"
KEPT: Final = "the federated object and its last placement stay"
PLAN: Final = "the planned replicas add up"
MOST: Final = "total <= replicas + maxSurge"
LEAST: Final = "available >= replicas - maxUnavailable"
PRESENT: Final = "what is placed is there"
REST: Final = "at rest every replica runs the last template where it is placed"


class FleetLaws:
    """Law 7 over one fleet."""

    def __init__(self, world: FleetWorld) -> None:
        """Read the fleet of a world."""
        self._world = world
        self._truth = FleetTruth(world)
        self._silent: set[str] = set()
        self._left: set[tuple[str, str]] = set()
        #: Checks by law.
        self.checked: Counter[str] = Counter()

    def breaches(self) -> Iterator[str]:
        """Breaches of the laws that apply at every moment."""
        for cluster in self._world.clusters:
            self.checked[FOREIGN] += 1
            if not self._truth.is_untouched(cluster):
                yield f"{cluster}: a Deployment of another owner was changed"
        silent = self._silent_now_or_before()
        for work in self._world.workloads.values():
            federated = self._truth.federated(work)
            self.checked[KEPT] += 1
            if federated is None or federated.is_terminating:
                yield f"{work.name}: its federated object is gone"
                continue
            yield from self._plan(work, federated)
            yield from self._window(work, federated, silent)
            yield from self._present(work, federated)

    def at_rest(self) -> Iterator[str]:
        """Breaches of the laws that apply after every fault is healed."""
        yield from self.breaches()
        for work in self._world.workloads.values():
            self.checked[REST] += 1
            yield from self._rest(work)

    # ---------------------------------------------------------------- laws

    def _plan(self, work: DrawnWorkload, federated: StoredObject) -> Iterator[str]:
        """Check that planned replicas add up, and that a placement is kept."""
        notes = federated.annotations
        if pending.pending(notes) or names.SCHEDULING_MODE in notes:
            return
        if any(_is_kept(each) for each in federated.status.get("conditions") or ()):
            return
        self.checked[PLAN] += 1
        wanted = federated.spec["template"]["spec"]["replicas"]
        patches = placements.overrides_by(federated.spec, names.SCHEDULER)
        total = sum(each.get("value") or 0 for found in patches.values() for each in found)
        if total + decided.waiting_of(notes).unplaced != wanted:
            yield f"{work.name}: {total} replicas are planned of {wanted}"
        if patches.keys() - placements.placement(federated.spec):
            yield f"{work.name}: replicas are planned where it is not placed"

    def _window(
        self, work: DrawnWorkload, federated: StoredObject, silent: set[str]
    ) -> Iterator[str]:
        """Check the limits over all clusters that are not permanently lost."""
        clusters = self._world.clusters
        pods = self._truth.everywhere(work.name, clusters)
        available = sum(each.is_ready for each in pods)
        work.stranded |= silent - placements.placement(federated.spec)
        counted = len(self._truth.everywhere(work.name, set(clusters) - work.stranded))
        self.checked[MOST] += 1
        if counted > work.most + work.surge:
            yield f"{work.name}: {counted} pods of at most {work.most} + {work.surge}"
        self.checked[LEAST] += 1
        if available < work.least - work.unavailable:
            yield f"{work.name}: {available} pods are available of {work.least} that were"
        work.unseen = {x for x in work.unseen if x in clusters and not self._truth.shows(x)}
        ordered = {name: self._ordered(name, work) for name in clusters}
        stay = sum(min(self._available(name, work), count) for name, count in ordered.items())
        work.observe(len(pods), stay, sum(ordered.values()))

    def _silent_now_or_before(self) -> set[str]:
        """Clusters that do not answer, or did not answer after the previous step.

        Within one step, workloads may leave a cluster because it is lost, and the cluster may
        answer again.
        """
        before = self._silent
        self._silent = {x for x in self._world.clusters if not self._truth.answers(x)}
        return (before & set(self._world.clusters)) | self._silent

    def _ordered(self, cluster: str, work: DrawnWorkload) -> int:
        """Replicas in the specification of a member."""
        found = self._truth.deployment(cluster, work.name)
        return 0 if found is None else found.replicas

    def _available(self, cluster: str, work: DrawnWorkload) -> int:
        """Available pods of a member; some of them may be about to be stopped."""
        return sum(each.is_ready for each in self._truth.pods(cluster, work.name))

    def _present(self, work: DrawnWorkload, federated: StoredObject) -> Iterator[str]:
        """Check that every placed and written object exists."""
        states = {
            each["cluster"]: each["status"] for each in federated.status.get("clusters") or ()
        }
        placed = placements.placement(federated.spec)
        for name in self._world.clusters:
            is_there = self._truth.deployment(name, work.name) is not None
            if is_there or name not in placed:
                self._note_leaving(name, work, is_there=is_there)
                continue
            self.checked[PRESENT] += 1
            if states.get(name) == "OK" and (work.name, name) not in self._left:
                yield f"{work.name}: it is gone from {name}, where it is placed"

    def _note_leaving(self, cluster: str, work: DrawnWorkload, *, is_there: bool) -> None:
        """Note that a workload has left a cluster, or is there again.

        Controllers that are killed after a deletion do not report it. Until the workload is created
        there again, the status then still says OK.
        """
        if is_there:
            self._left.discard((work.name, cluster))
        else:
            self._left.add((work.name, cluster))

    def _rest(self, work: DrawnWorkload) -> Iterator[str]:
        """Check that every replica runs the last template, in the clusters of the placement."""
        clusters = self._world.clusters
        federated = self._truth.federated(work)
        found = {name: self._truth.deployment(name, work.name) for name in clusters}
        sizes = {name: each.replicas for name, each in found.items() if each is not None}
        if sum(sizes.values()) != work.replicas:
            yield f"{work.name}: {sizes} replicas at rest instead of {work.replicas}"
        placed = placements.placement(federated.spec) if federated is not None else set()
        if placed != sizes.keys():
            yield f"{work.name}: it is in {sorted(sizes)} and placed in {sorted(placed)}"
        pods = self._truth.everywhere(work.name, clusters)
        images = {pod.image for pod in pods}
        ready = sum(pod.is_ready for pod in pods)
        if (len(pods), ready) != (work.replicas,) * 2 or images != {f"v{work.template}"}:
            yield f"{work.name}: {len(pods)} pods of {sorted(images)} at rest, {ready} ready"
        if federated is not None and names.FAILOVER in federated.annotations:
            yield f"{work.name}: a failover is not over: {federated.annotations[names.FAILOVER]}"


def _is_kept(condition: dict[str, Any]) -> bool:
    """True if a condition states that no cluster is feasible and the last placement stays."""
    return condition.get("type") == SCHEDULED and condition.get("status") != "True"
