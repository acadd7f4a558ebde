"""Preemption at the end of a shard's cycle: capacity for pods that fit nowhere, by evicting others.

A single pod preempts for itself. A gang preempts as one: its pods are placed and promised nodes
together, and no pod is evicted unless enough members then have nodes. The results are proposed like
other claims and checked by the binder.
"""

from collections.abc import Collection, Mapping, Sequence
from itertools import islice
from math import inf
from typing import Final, NamedTuple, Protocol

import msgspec
import numpy as np
import numpy.typing as npt

from stretto.control.scheduler.refused import RefusedClasses
from stretto.framework.compiled.one_node import VictimCandidate
from stretto.framework.preemption.tiers import VictimSearchResult
from stretto.state.cluster.cluster import Cluster
from stretto.state.queries.gang_attempts import orders_of_rows
from stretto.state.victims.rules import PreemptionRules, may_preempt
from stretto.state.work.claims import Plan, UnitClaims, UnitPreemption
from stretto.state.work.units import Cure, Setback, SetbackReason, Unit, Units

ATTEMPTS: Final = 1024
"""Maximum number of preemptors per cycle; the others are requeued immediately."""


TRIES: Final = 8
"""Maximum number of candidate nodes rejected because a gang would fall below its minimum."""


ORDERS: Final = 8
"""Maximum number of orders in which a gang with members of different sizes searches victims.

Each order costs one search per pod. All orders of up to three sizes are among them.
"""


Domain = npt.NDArray[np.bool_] | None
"""bool[slot]: the nodes that a unit may use; ``None`` for any."""


class PreemptionFinder(Protocol):
    """Finds victims; see ``framework.preemption.finder``."""

    #: The profile's rules.
    rules: PreemptionRules

    def begin(self, plan: Plan) -> None:
        """Start a cycle; ``plan`` contains its claims without victims."""

    def expect(self, rows: Sequence[int]) -> None:
        """Announce pods that ``find`` may be called for."""

    def domains(self, unit: Unit, rows: Sequence[int], needed: int) -> Sequence[Domain]:
        """Domains that may fit ``needed`` pods of a unit together, in the order of attempts."""

    def restrict_to(self, unit: Unit, row: int, domain: Domain, promised: Sequence[int]) -> None:
        """Restrict the search to a domain, given the nodes promised to other pods of the unit."""

    def find(self, row: int) -> VictimSearchResult:
        """The best node for a pod, and its victims."""

    def take(self, row: int, candidate: VictimCandidate) -> None:
        """Promise a preemptor its node."""

    def may_evict(self, row: int, victims: Sequence[int]) -> bool:
        """Return whether a pod may evict all of these: protections, guarantees and hard budgets."""
        ...

    def allows(self, row: int, candidate: VictimCandidate) -> bool:
        """Return whether inter-pod rules admit a pod to a node, including added victims."""
        ...

    def stand(self, mark: int) -> bool:
        """Return whether inter-pod rules hold with all promises since a mark."""
        ...

    def spare(self, rows: Collection[int]) -> None:
        """Exclude these pods as victims until ``end_sparing``."""

    def end_sparing(self) -> None:
        """Admit the excluded pods as victims again."""

    def chance(self, class_id: int, priority: int) -> int:
        """1 if preemption may help pods of a class now, else 0."""

    def is_guarding(self) -> bool:
        """Return whether guarantees of queues may protect pods."""
        ...

    def protection_ends(self) -> float:
        """Clock time at which the next protected pod becomes evictable; infinity for none."""

    def mark(self) -> int:
        """Current position of the promises, for ``back_to``."""

    def back_to(self, mark: int) -> None:
        """Revoke the promises since a mark."""


class NodePromise(NamedTuple):
    """A pod with its promised node."""

    #: Row of the pod.
    row: int
    #: The node and its victims.
    candidate: VictimCandidate


class ShardPreemption:
    """Extends a shard's plan by claims that wait for victims."""

    def __init__(
        self, cluster: Cluster, units: Units, finder: PreemptionFinder, refused: RefusedClasses
    ) -> None:
        """Preempt in one cluster.

        ``refused`` is shared by all loops, because any of them may probe a refused class.
        """
        self._cluster = cluster
        self._refused = refused
        self._units = units
        self._finder = finder
        #: Victims of the promises of this cycle.
        self._going: list[int] = []

    def extend(self, plan: Plan) -> Plan:
        """Return the plan with claims instead of setbacks for pods that preemption helps."""
        self._finder.begin(plan)
        self._going.clear()
        left: list[Setback] = []
        helped: list[tuple[Unit, int, list[NodePromise]]] = []
        self._finder.expect([row for setback in plan.setbacks for row in setback.rows])
        tried = 0
        for setback in plan.setbacks:
            if setback.why is not SetbackReason.NO_PLACE or not (
                setback.messages or setback.class_id >= 0
            ):
                left.append(setback)
            elif tried >= ATTEMPTS:
                left.append(_untried_setback(setback, setback.rows))
            else:
                tried += len(setback.rows)
                left.extend(self._place_with_victims(setback, helped))
        if not helped:
            return plan._replace(setbacks=left)
        return self._with(plan._replace(setbacks=left), helped)

    def chance(self, class_id: int) -> bool:
        """Return whether preemption may help pods of a refused class.

        The result is an upper bound, used after an event that may cure a refusal.
        """
        priority = self._refused.priority_of(class_id)
        if priority is None:
            return False
        found = self._finder.chance(class_id, priority) > 0
        if not found:
            self._note_protection()
        return found

    def rehearse(self, unit: Unit, rows: Sequence[int]) -> list[NodePromise]:
        """Promises for the pods that a unit needs together, in a cycle that ``begin`` started.

        Args:
            unit: the unit.
            rows: its pending pods.
        """
        self._going.clear()
        needed = self._needed(unit)
        if unit.is_gang and needed > 1:
            return self._together(unit, rows, needed)
        found = self._find_for(unit, rows[0], [])
        if found.candidate is None:
            return []
        self._take(rows[0], found.candidate)
        return [NodePromise(rows[0], found.candidate)]

    def _note_refused(self, rows: Sequence[int]) -> Cure:
        """Record that no eviction helps these pods now; returns the events that may change that.

        A refusal depends on pods that cannot be evicted *yet*: their binds are not confirmed, they
        are being evicted, or they are protected for a time or by the guarantee of a queue. The end
        of each of these states wakes the refused pods. A pod of lower priority that is placed later
        wakes them, too.
        """
        pods, cures = self._cluster.pods, Cure.NONE
        for row in rows:
            priority = int(pods.priority[row])
            if priority > pods.lowest and may_preempt(self._cluster, row):
                self._refused.note(int(pods.class_id[row]), priority)
                cures = Cure.POD_EVICTABLE
        if cures:
            self._note_protection()
            if self._finder.is_guarding():
                cures |= Cure.QUEUE_CHANGED
        return cures

    def _note_protection(self) -> None:
        """Schedule a retry for the end of the next protection."""
        ends = self._finder.protection_ends()
        if ends < inf:
            self._refused.note_protection(ends)

    def _place_with_victims(
        self, setback: Setback, helped: list[tuple[Unit, int, list[NodePromise]]]
    ) -> list[Setback]:
        """Find victims for the pods of one setback; returns the rest of it."""
        unit, needed = setback.unit, self._needed(setback.unit)
        if unit.is_gang and needed > 1:
            promises = self._together(unit, setback.rows, needed)
            if len(promises) < needed:
                cures = setback.cures | self._note_refused(setback.rows)
                return [msgspec.structs.replace(setback, cures=cures)]
            helped.append((unit, needed, promises))
            rest = tuple(r for r in setback.rows if r not in {each.row for each in promises})
            return [_untried_setback(setback, rest)] if rest else []
        lost: list[int] = []
        again: list[int] = []
        said = dict(zip(setback.rows, setback.messages, strict=False))
        promised: list[int] = []
        for row in setback.rows:
            found = self._find_for(unit, row, promised)
            if found.candidate is None:
                (again if found.again else lost).append(row)
                if found.message:
                    said[row] = found.message
                continue
            self._take(row, found.candidate)
            promised.append(found.candidate.slot)
            helped.append((unit, 1, [NodePromise(row, found.candidate)]))
        rests = []
        if lost:
            cures = setback.cures | self._note_refused(lost)
            refused = msgspec.structs.replace(setback, cures=cures)
            rests.append(_unhelped_setback(refused, tuple(lost), said))
        if again:
            rests.append(_untried_setback(setback, tuple(again)))
        return rests

    def _needed(self, unit: Unit) -> int:
        """Number of pods to place together so that the unit is complete after evictions."""
        if not unit.is_gang or not unit.bound:
            return unit.still_needed
        leaves = self._cluster.evictions.is_being_evicted
        staying = sum(not leaves(row) for row in unit.bound)
        if staying == len(unit.bound):
            return unit.still_needed
        return max(unit.still_needed, unit.min_member - staying)

    def _together(self, unit: Unit, rows: Sequence[int], needed: int) -> list[NodePromise]:
        """Promises for the needed pods of a gang, in one domain that admits it.

        A gang with members of different sizes is tried in several orders.
        """
        if len(rows) < needed:
            return []
        domains = self._finder.domains(unit, rows, needed)
        for order in islice(orders_of_rows(self._cluster, rows), ORDERS):
            for domain in domains:
                promises = self._inside(unit, domain, order, needed)
                if promises:
                    return promises
        return []

    def _inside(
        self, unit: Unit, domain: Domain, rows: Sequence[int], needed: int
    ) -> list[NodePromise]:
        """Promises for the needed pods of a gang in one domain, or none."""
        mark, going, promises = self._finder.mark(), len(self._going), list[NodePromise]()
        for at, row in enumerate(rows):
            if len(promises) + len(rows) - at < needed or len(promises) == needed:
                break
            self._finder.restrict_to(unit, row, domain, [each.candidate.slot for each in promises])
            found = self._find(row)
            if found.candidate is not None:
                self._take(row, found.candidate)
                promises.append(NodePromise(row, found.candidate))
        if len(promises) < needed or not self._finder.stand(mark):
            self._finder.back_to(mark)
            del self._going[going:]
            return []
        return promises

    def _take(self, row: int, candidate: VictimCandidate) -> None:
        """Promise a pod its node."""
        self._finder.take(row, candidate)
        self._going.extend(candidate.victims)

    def _find_for(self, unit: Unit, row: int, promised: Sequence[int]) -> VictimSearchResult:
        """The best node for one pod of a unit, in the first domain that has one."""
        found = VictimSearchResult(None)
        for domain in self._finder.domains(unit, [row], 1):
            self._finder.restrict_to(unit, row, domain, promised)
            found = self._find(row)
            if found.candidate is not None:
                break
        return found

    def _find(self, row: int) -> VictimSearchResult:
        """Best node for a pod whose victims leave every gang whole or complete.

        The pods that this search excludes are victims for the next pod, which may need fewer of
        them.
        """
        found = self._find_whole(row)
        self._finder.end_sparing()
        return found

    def _find_whole(self, row: int) -> VictimSearchResult:
        """``_find``, with the gangs that it cannot evict excluded afterwards."""
        for _ in range(TRIES):
            found = self._finder.find(row)
            if found.candidate is None:
                return found
            broken = self._broken_gangs(found.candidate.victims)
            if not broken:
                return found
            mates = {mate for each in broken for mate in each}
            if self._finder.may_evict(row, [*found.candidate.victims, *sorted(mates)]):
                hard = self._finder.rules.hard_budgets
                joined = _joined(found.candidate, mates, hard=hard)
                if self._finder.allows(row, joined):
                    return found._replace(candidate=joined)
            self._finder.spare(mates.union(found.candidate.victims))
        return VictimSearchResult(None)

    def _broken_gangs(self, victims: Sequence[int]) -> list[set[int]]:
        """Remaining pods of each gang that these evictions would reduce below its minimum."""
        evictions, found = self._cluster.evictions, []
        gangs = [self._units.of_row(row) for row in victims]
        for unit in dict.fromkeys(each for each in gangs if each is not None and each.is_gang):
            left = set(unit.bound).difference(victims, self._going)
            left = {row for row in left if not evictions.is_being_evicted(row)}
            if 0 < len(left) < unit.min_member:
                found.append(left)
        return found

    def _with(self, plan: Plan, helped: list[tuple[Unit, int, list[NodePromise]]]) -> Plan:
        """Return the plan with the claims that wait for victims after its other claims."""
        pods, slots = self._cluster.pods, self._cluster.ledger.slots
        promises = [each for _, _, many in helped for each in many]
        rows = np.array([each.row for each in promises], np.int64)
        wanted = np.array([each.candidate.slot for each in promises], np.int32)
        devices = np.array([each.candidate.devices for each in promises], np.int32)
        units, preemptions = list(plan.units), list[UnitPreemption]()
        at = len(plan.rows)
        for unit, needed, many in helped:
            preemptions.append(self._preemption(len(units), many))
            units.append(UnitClaims(unit, at, at + len(many), needed))
            at += len(many)
        return plan._replace(
            rows=np.concatenate([plan.rows, rows]),
            serials=np.concatenate([plan.serials, pods.serial[rows]]),
            slots=np.concatenate([plan.slots, wanted]),
            generations=np.concatenate([plan.generations, slots.generation[wanted]]),
            versions=np.concatenate([plan.versions, self._cluster.ledger.version[wanted]]),
            devices=np.concatenate([plan.devices, devices]),
            units=units,
            preemptions=preemptions,
        )

    def _preemption(self, position: int, promises: Sequence[NodePromise]) -> UnitPreemption:
        victims = [row for each in promises for row in each.candidate.victims]
        serials = self._cluster.pods.serial[np.array(victims, np.int64)].tolist()
        return UnitPreemption(
            position,
            tuple(victims),
            tuple(serials),
            frozenset().union(*(each.candidate.beyond for each in promises)),
            tuple(row for each in promises for row in each.candidate.displaced),
        )


def _joined(candidate: VictimCandidate, mates: Collection[int], *, hard: bool) -> VictimCandidate:
    """Return a candidate whose victims include the rest of their gangs.

    With best-effort budgets the additional victims may exceed a budget, because a gang is evicted
    completely or not at all.
    """
    return candidate._replace(
        victims=(*candidate.victims, *sorted(mates)),
        beyond=candidate.beyond if hard else candidate.beyond.union(mates),
    )


def _untried_setback(setback: Setback, rows: tuple[int, ...]) -> Setback:
    """Setback of pods that are retried immediately."""
    return Setback(setback.unit, rows, -1, Cure.NONE, SetbackReason.GIVEN_BACK)


def _unhelped_setback(setback: Setback, rows: tuple[int, ...], said: Mapping[int, str]) -> Setback:
    """The part of a setback that no eviction cures, with the message of each pod."""
    messages = tuple(said[row] for row in rows) if said else ()
    return Setback(
        setback.unit, rows, setback.class_id, setback.cures, setback.why, messages=messages
    )
