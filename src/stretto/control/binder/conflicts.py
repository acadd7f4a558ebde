"""Conflict detection: determines which claims of a plan still hold on the current ledger.

The first claim wins: plans are judged in order of arrival, each against everything granted before
it. The fast path judges a whole plan of plain claims at once and applies it if there is no
conflict; the slow path judges claim by claim and unit by unit, and rolls back what fails.
"""

from collections.abc import Callable, Collection
from math import inf
from typing import Final, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from stretto.base.arrays import distinct
from stretto.control.binder.volumes import are_free
from stretto.state.classes.table import EXCLUSIVE, NUMA_ONLY, PORTS_ONLY, STAGED
from stretto.state.cluster.cluster import Cluster
from stretto.state.queries.bulk_numa import NONE, OWN, NumaBulkClaims
from stretto.state.queries.domain_caps import exceeds_cap, respects_caps
from stretto.state.rows.lifecycle import PodState
from stretto.state.work.claims import CommitMode, ConflictCause, ConflictMode, Plan, UnitClaims
from stretto.state.work.evictions import short_of

Eligible = Callable[[int, int], bool]
"""Predicate (class id, slot): the static filters still admit the class to the slot."""


class AffinityConflicts(Protocol):
    """Inter-pod rules on the current cluster."""

    def stands(self, basis: tuple[int, int, int] | None) -> bool:
        """Return whether counts and nodes are unchanged since a plan was made."""
        ...

    def hold(
        self,
        class_ids: npt.NDArray[np.int32],
        slots: npt.NDArray[np.int32],
        gone: Collection[int] = (),
    ) -> bool:
        """Return whether claims hold together, in order, without the evicted rows."""
        ...


_DISPATCHED: Final = int(PodState.DISPATCHED)  # an int, because NumPy compares enums slowly


class Judgement(NamedTuple):
    """The judgement of a plan; granted claims are charged already."""

    #: int64[k]: indices of granted claims in the plan.
    granted: npt.NDArray[np.int64]
    #: Refused rows by unit, with the cause.
    refused: list[tuple[UnitClaims, tuple[int, ...], ConflictCause]]


class VolumeConflicts(Protocol):
    """Volume rules on the current cluster."""

    def holds(self, row: int, slot: int) -> bool:
        """Return whether the volumes of a pod admit it to a slot."""
        ...


class ClaimChecks(NamedTuple):
    """Checks of a claim besides its amounts."""

    #: Predicate (class id, slot): the static filters admit the class to the slot.
    eligible: Eligible
    #: Inter-pod rules; ``None`` if the profile has none.
    between: AffinityConflicts | None = None
    #: Volume rules; ``None`` if the profile has none.
    volumes: VolumeConflicts | None = None


class PlanJudge:
    """Judges plans against a cluster and charges granted claims."""

    def __init__(
        self,
        cluster: Cluster,
        checks: ClaimChecks,
        conflicts: ConflictMode,
        commit: CommitMode,
    ) -> None:
        """Use one of Omega's two conflict modes and one of its two commit modes."""
        self._between = checks.between
        self._volumes = checks.volumes
        self._cluster = cluster
        self._portions = NumaBulkClaims(cluster)
        self._eligible = checks.eligible
        self._by_version = conflicts is ConflictMode.VERSION
        self._all_or_nothing = commit is CommitMode.ALL_OR_NOTHING

    def judge(self, plan: Plan) -> Judgement:
        """Grant the claims that hold.

        Mark the slots of refused claims as changed for all snapshots.
        """
        if len(plan.rows) == 0:
            return Judgement(np.zeros(0, np.int64), [])
        before = self._cluster.ledger.version[plan.slots]
        if self.grants_all(plan):
            return Judgement(np.arange(len(plan.rows)), [])
        plan = self.with_needs(plan)
        judgement = self._judge_one_by_one(plan, before if self._by_version else None)
        self._restore_versions(plan, judgement.granted, before)
        return judgement

    def grants_all(self, plan: Plan) -> bool:
        """Grant and charge all claims at once, or none."""
        return self.with_needs(plan) is plan and self._grant_all(plan)

    def grant(
        self,
        plan: Plan,
        i: int,
        unit: UnitClaims,
        good: list[int],
        versions: npt.NDArray[np.int64] | None = None,
    ) -> ConflictCause | None:
        """Charge one claim if it holds; otherwise return the cause.

        Args:
            plan: the plan.
            i: the claim.
            unit: its unit.
            good: claims of the unit that are granted already.
            versions: versions of the slots before the commit, if the conflict mode compares
                versions.
        """
        problem = self._problem(plan, i, versions)
        if problem is None and self._is_capped(plan, i, unit, good):
            problem = ConflictCause.DOMAIN_FULL
        if problem is None:
            self._cluster.charges.charge(
                int(plan.rows[i]), int(plan.slots[i]), int(plan.devices[i])
            )
        return problem

    def is_short(self, unit: UnitClaims, granted: int, refused: int) -> bool:
        """Return whether the granted claims of a unit must be rolled back."""
        return granted < unit.at_least or (self._all_or_nothing and refused > 0)

    def expire(self, now: float) -> None:
        """Do nothing: this judge has no tentative claims."""

    def next_due(self) -> float:
        """Infinity: this judge has no tentative claims."""
        return inf

    def with_needs(self, plan: Plan) -> Plan:
        """Return the plan with the number of claims that each gang lacks now or will lack.

        A member beyond the minimum of a gang must not remain alone: other members may be in
        eviction, evicted or refused in the meantime.
        """
        pods, leaving = self._cluster.pods, bool(self._cluster.evictions.in_progress)
        units: list[UnitClaims] | None = None
        for i, (unit, _, _, at_least) in enumerate(plan.units):
            if unit.min_member > 1:
                needed = max(unit.still_needed, short_of(unit, pods) if leaving else 0)
                if needed > at_least:
                    units = list(plan.units) if units is None else units
                    units[i] = units[i]._replace(at_least=needed)
        return plan if units is None else plan._replace(units=units)

    def _grant_all(self, plan: Plan) -> bool:
        """The fast path: grant all claims at once, or none."""
        cluster = self._cluster
        pods, ledger = cluster.pods, cluster.ledger
        slots = plan.slots
        sound = (
            (pods.serial[plan.rows] == plan.serials).all()
            and (pods.state[plan.rows] == _DISPATCHED).all()
            and (ledger.slots.generation[slots] == plan.generations).all()
            and ledger.slots.live[slots].all()
            and not (self._by_version and (ledger.version[slots] != plan.versions).any())
            and (ledger.static_version[slots] <= plan.versions).all()
        )
        if not sound:
            return False
        with_volumes = np.flatnonzero(pods.volumes[plan.rows]).tolist()
        if not all(self._has_volumes(plan, i) for i in with_volumes):
            return False
        kinds = cluster.classes.special[pods.class_id[plan.rows]]
        if (cluster.directed or (kinds & STAGED).any()) and not respects_caps(cluster, plan):
            return False
        if not self._affinity_holds(plan):
            return False
        return self._charge_all(plan, kinds)

    def _charge_all(self, plan: Plan, kinds: npt.NDArray[np.uint8]) -> bool:
        """Charge all claims with all their needs, or none."""
        cluster, ledger, slots = self._cluster, self._cluster.ledger, plan.slots
        kinds = self._kinds(kinds)
        by_ports = (kinds & (PORTS_ONLY | EXCLUSIVE)) == PORTS_ONLY
        plain = (kinds == 0) | by_ports
        zoned = np.flatnonzero((kinds & (NUMA_ONLY | EXCLUSIVE)) == NUMA_ONLY)
        portions = self._portions_of(plan, zoned)
        if (portions == NONE).any():
            return False
        zoned, portions = zoned[portions != OWN], portions[portions != OWN]
        plain[zoned] = True
        cluster.charges.charge_plain(plan.rows[plain], slots[plain])
        if self._portions.take(plan.rows[zoned], slots[zoned], portions):
            ported = np.flatnonzero(by_ports).tolist()
            if (ledger.used[slots] <= ledger.alloc[slots]).all() and self._take_ports(plan, ported):
                if self._grant_special(plan, np.flatnonzero(~plain).tolist()):
                    cluster.pods.devices[plan.rows[zoned]] = plan.devices[zoned]
                    return True
                self._release_ports(plan, ported)
            self._portions.give_back(plan.rows[zoned].tolist())
        cluster.charges.uncharge_plain(plan.rows[plain], slots[plain])
        return False

    def _kinds(self, kinds: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
        """Kinds of classes; without overcommit, exclusive amounts are plain amounts."""
        if self._cluster.ledger.promises.ratios:
            return kinds
        return kinds & np.uint8(~EXCLUSIVE & 0xFF)

    def _portions_of(self, plan: Plan, zoned: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Numbers of the NUMA portions of claims; reserved capacity is granted one by one."""
        if not len(zoned) or self._cluster.reservations:
            return np.full(len(zoned), OWN, np.int64)
        class_ids = self._cluster.pods.class_id[plan.rows[zoned]]
        return self._portions.numbers(class_ids, plan.slots[zoned], plan.devices[zoned])

    def _take_ports(self, plan: Plan, claims: list[int]) -> bool:
        """Take host ports of claims without other needs besides amounts; all or none."""
        classes, ports = self._cluster.classes, self._cluster.ledger.ports
        class_ids = self._cluster.pods.class_id[plan.rows[claims]].tolist()
        wants = {class_id: classes[class_id].ports for class_id in dict.fromkeys(class_ids)}
        for wanted in wants.values():
            self._cluster.ledger.learn_ports(wanted)
        slots = plan.slots[claims].tolist()
        for done, (slot, class_id) in enumerate(zip(slots, class_ids, strict=True)):
            if not ports.free_on(slot, wants[class_id]):
                self._release_ports(plan, claims[:done])
                return False
            ports.take(slot, wants[class_id])
        return True

    def _release_ports(self, plan: Plan, claims: list[int]) -> None:
        """Undo ``_take_ports``."""
        cluster = self._cluster
        for i in claims:
            wanted = cluster.classes[int(cluster.pods.class_id[plan.rows[i]])].ports
            cluster.ledger.ports.release(int(plan.slots[i]), wanted)

    def _has_volumes(self, plan: Plan, i: int) -> bool:
        """Return whether the volumes of a claim are available; true if nothing has changed."""
        cluster, row = self._cluster, int(plan.rows[i])
        if self._volumes is None or not cluster.pods.volumes[row] or plan.basis == cluster.basis:
            return True
        slot, chosen = int(plan.slots[i]), plan.volumes.get(i)
        if chosen is not None and not are_free(chosen, cluster.objects, cluster.nodes.names[slot]):
            return False
        return self._volumes.holds(row, slot)

    def _affinity_holds(self, plan: Plan) -> bool:
        """Return whether inter-pod rules admit the plan; true if no count has changed since."""
        class_ids = self._cluster.pods.class_id[plan.rows]
        if self._between is None or not self._cluster.classes.judged[class_ids].any():
            return True
        if plan.others is not None and self._between.stands(plan.others):
            return True
        return self._between.hold(class_ids, plan.slots)

    def _grant_special(self, plan: Plan, claims: list[int]) -> bool:
        """Grant claims of ports and devices one by one; all or none."""
        for done, i in enumerate(claims):
            if self._problem(plan, i, None) is not None:
                self.take_back(plan, claims[:done])
                return False
            self._cluster.charges.charge(
                int(plan.rows[i]), int(plan.slots[i]), int(plan.devices[i])
            )
        return True

    def _judge_one_by_one(self, plan: Plan, versions: npt.NDArray[np.int64] | None) -> Judgement:
        """The slow path, unit by unit in order; ``versions`` of the slots before the commit."""
        granted: list[int] = []
        refused: list[tuple[UnitClaims, tuple[int, ...], ConflictCause]] = []
        for unit in plan.units:
            good: list[int] = []
            bad: list[int] = []
            cause = ConflictCause.GANG_SHORT
            claims = range(unit.start, unit.stop)
            if (lost := self._first_failed_gang(plan, unit, versions)) is not None:
                cause, claims, bad = lost, range(0), list(claims)
            for i in claims:
                problem = self.grant(plan, i, unit, good, versions)
                if problem is None:
                    good.append(i)
                else:
                    bad.append(i)
                    cause = problem
            if self.is_short(unit, len(good), len(bad)):
                self.take_back(plan, good)
                bad, good = sorted(bad + good), []
            granted.extend(good)
            if bad:
                refused.append((unit, tuple(int(plan.rows[i]) for i in bad), cause))
                self.touch(plan, bad)
        return Judgement(np.array(granted, np.int64), refused)

    def _first_failed_gang(
        self, plan: Plan, unit: UnitClaims, versions: npt.NDArray[np.int64] | None
    ) -> ConflictCause | None:
        """Cause for which a gang fails in any case, so that none of its claims need be charged.

        A claim is lost if its pod or node was deleted or changed, and one claim is lost on each
        slot that cannot hold all claims of the gang there. ``None`` if enough claims may still
        hold.
        """
        if unit.at_least <= 1 or self._cluster.reservations:
            return None
        ledger, pods, part = self._cluster.ledger, self._cluster.pods, slice(unit.start, unit.stop)
        rows, slots = plan.rows[part], plan.slots[part]
        lost = (pods.serial[rows] != plan.serials[part]) | (pods.state[rows] != _DISPATCHED)
        lost |= ledger.slots.live[slots] == 0
        lost |= ledger.slots.generation[slots] != plan.generations[part]
        if versions is not None:
            lost |= versions[part] != plan.versions[part]
        for i in np.flatnonzero(ledger.static_version[slots] > plan.versions[part]).tolist():
            lost[i] |= not self._eligible(int(pods.class_id[rows[i]]), int(slots[i]))
        spare = len(rows) - (len(rows) if self._all_or_nothing else unit.at_least)
        if spare < 0:
            return ConflictCause.GANG_SHORT  # the claims do not replace members in eviction
        if (count := int(lost.sum())) > spare:
            return self._problem(plan, unit.start + int(np.flatnonzero(lost)[-1]), versions)
        requests = self._cluster.classes.requests_of(pods.class_id[rows[~lost]])
        places, width = distinct(slots[~lost]), min(requests.shape[1], ledger.used.shape[1])
        wanted = np.zeros((len(places), width), np.int64)
        np.add.at(wanted, np.searchsorted(places, slots[~lost]), requests[:, :width])
        over = ledger.used[places, :width] + wanted > ledger.alloc[places, :width]
        short = count + int((over & (wanted > 0)).any(axis=1).sum()) > spare
        return ConflictCause.DOES_NOT_FIT if short else None

    def take_back(self, plan: Plan, claims: list[int]) -> None:
        """Roll back claims charged in this commit, by columns where possible.

        This raises no event: for other pods nothing was added and nothing removed.
        """
        cluster, rows, slots = self._cluster, plan.rows[claims], plan.slots[claims]
        kinds = self._kinds(cluster.classes.special[cluster.pods.class_id[rows]])
        zoned = (kinds & (NUMA_ONLY | EXCLUSIVE)) == NUMA_ONLY
        by_columns = (kinds == 0) | zoned
        self._portions.give_back(rows[zoned].tolist())
        cluster.pods.devices[rows[by_columns]] = 0
        cluster.charges.uncharge_plain(rows[by_columns], slots[by_columns])
        for row in reversed(rows[~by_columns].tolist()):
            cluster.charges.refund(row)

    def _is_capped(self, plan: Plan, i: int, unit: UnitClaims, good: list[int]) -> bool:
        """True if a claim would put more pods of its unit into a domain than its caps allow."""
        cluster, row = self._cluster, int(plan.rows[i])
        if (
            not cluster.directed
            and not cluster.classes[int(cluster.pods.class_id[row])].annotations.caps
        ):
            return False
        granted = plan.rows[good].tolist()
        return exceeds_cap(cluster, unit.unit, granted, (row, int(plan.slots[i])))

    def _problem(
        self, plan: Plan, i: int, versions: npt.NDArray[np.int64] | None
    ) -> ConflictCause | None:
        """Cause for which one claim does not hold, or ``None``.

        Its own reservation does not block it.
        """
        cluster, row = self._cluster, int(plan.rows[i])
        if not cluster.reservations or cluster.pods.serial[row] != plan.serials[i]:
            return self._fault(plan, i, versions)
        pod = cluster.classes[int(cluster.pods.class_id[row])]
        place = cluster.reservations.open(row, int(plan.slots[i]), pod)
        problem = self._fault(plan, i, versions)
        if place is not None:
            cluster.reservations.close(place, row, taken=problem is None)
        return problem

    def _fault(
        self, plan: Plan, i: int, versions: npt.NDArray[np.int64] | None
    ) -> ConflictCause | None:
        """Cause for which one claim does not hold on the current ledger, or ``None``."""
        cluster = self._cluster
        row, slot = int(plan.rows[i]), int(plan.slots[i])
        pods, ledger = cluster.pods, cluster.ledger
        if pods.serial[row] != plan.serials[i] or pods.state[row] != _DISPATCHED:
            return ConflictCause.POD_DELETED
        if not ledger.slots.live[slot] or ledger.slots.generation[slot] != plan.generations[i]:
            return ConflictCause.NODE_DELETED
        if versions is not None and versions[i] != plan.versions[i]:
            return ConflictCause.NODE_CHANGED
        class_id = int(pods.class_id[row])
        if not self._eligible(class_id, slot):
            return ConflictCause.NOT_ELIGIBLE
        pod = cluster.classes[class_id]
        ports, devices, mask = ledger.ports, ledger.devices, int(plan.devices[i])
        exclusive = pod.annotations.is_exclusive and ledger.promises.is_overcommitted(slot)
        amounts = cluster.charges.needs(pod, slot, mask) if exclusive else pod.requests
        if not ledger.fits(slot, amounts, exclusive=exclusive):
            return ConflictCause.DOES_NOT_FIT
        if pod.ports and not ports.free_on(slot, pod.ports):
            return ConflictCause.DOES_NOT_FIT
        if not all(devices.covers(slot, mask, request) for request in pod.devices):
            return ConflictCause.DOES_NOT_FIT
        if pod.annotations.numa is not None and not cluster.topology.covers(slot, mask, pod):
            return ConflictCause.DOES_NOT_FIT
        if not self._has_volumes(plan, i):
            return ConflictCause.VOLUME_TAKEN
        if self._between is not None and cluster.classes.judged[class_id]:
            ids = np.array([class_id], np.int32)
            if not self._between.hold(ids, plan.slots[i : i + 1]):
                return ConflictCause.INTER_POD_RULE_BROKEN
        return None

    def _restore_versions(
        self, plan: Plan, granted: npt.NDArray[np.int64], before: npt.NDArray[np.int64]
    ) -> None:
        """Restore the versions of slots that were charged and rolled back.

        Otherwise one refusal would cause a conflict for the next plan, and two shards could cause
        refusals for each other indefinitely (Omega guarantees progress).
        """
        undone = ~np.isin(plan.slots, plan.slots[granted])
        self._cluster.ledger.version[plan.slots[undone]] = before[undone]

    def touch(self, plan: Plan, claims: list[int]) -> None:
        """Mark slots as changed, so that every snapshot reads them again."""
        self._cluster.ledger.touch(plan.slots[claims].astype(np.int64))
