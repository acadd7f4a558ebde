"""Preemption at the end of a shard's cycle: room for pods that fit nowhere, by others' leaving.

A single pod preempts for itself. A gang preempts as one: its pods are placed and helped together,
and nobody is asked to leave unless enough of them then stand. Whatever is found is proposed like
any claim, and judged by the binder.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Final, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from stretto.base.clock import Clock
from stretto.framework.compiled.one_node import VictimCandidate
from stretto.framework.preemption.finder import VictimSearchResult
from stretto.state.cluster.cluster import Cluster
from stretto.state.victims.rules import PreemptionRules, guard_against
from stretto.state.work.claims import Plan, UnitClaims, UnitPreemption
from stretto.state.work.units import Cure, Setback, SetbackReason, Unit, Units

ATTEMPTS: Final = 1024
"""Pods that one cycle helps at most; the others are queued again at once."""


TRIES: Final = 8
"""Nodes that are given up because a gang there would be torn, before a pod is."""


REMEMBERED: Final = 100_000
"""Classes that are remembered as refused; all are forgotten when there are more."""


Domain = npt.NDArray[np.bool_] | None
"""bool[slot]: where a unit may go; ``None`` for anywhere."""


class PreemptionFinder(Protocol):
    """Finds victims; see ``framework.preemption.finder``."""

    #: The profile's rules.
    rules: PreemptionRules

    def begin(self, plan: Plan) -> None:
        """A new cycle, whose plain claims are ``plan``'s."""

    def expect(self, rows: Sequence[int]) -> None:
        """These pods will be asked about, perhaps."""

    def domains(self, unit: Unit, rows: Sequence[int], needed: int) -> Sequence[Domain]:
        """Where so many pods of a unit may go together, in the order in which that is tried."""

    def restrict_to(self, unit: Unit, row: int, domain: Domain, promised: Sequence[int]) -> None:
        """Find only where a pod of a unit may go, beside what others of it were promised."""

    def find(self, row: int) -> VictimSearchResult:
        """The best node for a pod, and who must leave it."""

    def take(self, row: int, candidate: VictimCandidate) -> None:
        """A preemptor is promised a node."""

    def may_evict(self, rows: Sequence[int]) -> bool:
        """Whether disruption budgets let these leave together, where budgets are hard."""
        ...

    def allows(self, row: int, candidate: VictimCandidate) -> bool:
        """Whether other pods let a pod go to a node, whoever was added to those who leave."""
        ...

    def stand(self, mark: int) -> bool:
        """Whether rules between pods hold with all that was promised since a mark."""
        ...

    def spare(self, rows: Collection[int]) -> None:
        """These must stay where they are, for the rest of the cycle."""

    def chance(self, class_id: int, priority: int) -> int:
        """1 where the leaving of others may help pods of a class now, else 0."""

    def mark(self) -> int:
        """Where to go back to."""

    def back_to(self, mark: int) -> None:
        """Take back what was promised since a mark."""


class NodePromise(NamedTuple):
    """A pod with the node that it was promised."""

    #: Its row.
    row: int
    #: The node and its victims.
    candidate: VictimCandidate


class ShardPreemption:
    """Adds to a shard's plan what the leaving of others makes possible."""

    def __init__(
        self, cluster: Cluster, units: Units, finder: PreemptionFinder, clock: Clock
    ) -> None:
        """Help pods of one cluster; the clock tells who started a short while ago."""
        self._cluster = cluster
        self._clock = clock
        self._refused: dict[int, int] = {}
        self._units = units
        self._finder = finder
        #: Rows that leave for the promises of this cycle.
        self._going: list[int] = []

    def extend(self, plan: Plan) -> Plan:
        """The plan with claims for pods that could be helped instead of their setbacks."""
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

    def chance(self, class_id: int) -> int:
        """1 where the leaving of others may help pods of a class that was refused, else 0.

        An upper bound, asked when something has changed that may cure a "no".
        """
        priority = self._refused.get(class_id)
        return 0 if priority is None else self._finder.chance(class_id, priority)

    def _note_refused(self, rows: Sequence[int]) -> None:
        """Remember the highest priority that was refused of each class."""
        pods = self._cluster.pods
        if len(self._refused) > REMEMBERED:
            self._refused.clear()
        for row in rows:
            class_id, priority = int(pods.class_id[row]), int(pods.priority[row])
            self._refused[class_id] = max(self._refused.get(class_id, priority), priority)

    def _place_with_victims(
        self, setback: Setback, helped: list[tuple[Unit, int, list[NodePromise]]]
    ) -> list[Setback]:
        """Help the pods of one setback; returns what is left of it."""
        unit, needed = setback.unit, self._needed(setback.unit)
        if unit.is_gang and needed > 1:
            promises = self._together(unit, setback.rows, needed)
            if len(promises) < needed:
                self._note_refused(setback.rows[:1])
                return [setback]
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
        self._note_refused(lost)
        if lost:
            rests.append(_unhelped_setback(setback, tuple(lost), said))
        if again:
            rests.append(_untried_setback(setback, tuple(again)))
        return rests

    def _needed(self, unit: Unit) -> int:
        """How many pods must be placed together for a unit to stand once those who leave have."""
        if not unit.is_gang or not unit.bound:
            return unit.still_needed
        leaves = self._cluster.evictions.is_being_evicted
        staying = sum(not leaves(row) for row in unit.bound)
        if staying == len(unit.bound):
            return unit.still_needed
        return max(unit.still_needed, unit.min_member - staying)

    def _together(self, unit: Unit, rows: Sequence[int], needed: int) -> list[NodePromise]:
        """Promises for as many pods of a gang as it needs, in one place that it may go to."""
        if len(rows) < needed:
            return []
        for domain in self._finder.domains(unit, rows, needed):
            promises = self._inside(unit, domain, rows, needed)
            if promises:
                return promises
        return []

    def _inside(
        self, unit: Unit, domain: Domain, rows: Sequence[int], needed: int
    ) -> list[NodePromise]:
        """Promises for as many pods of a gang as it needs, in one domain, or none at all."""
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
        """A pod is promised a node."""
        self._finder.take(row, candidate)
        self._going.extend(candidate.victims)

    def _find_for(self, unit: Unit, row: int, promised: Sequence[int]) -> VictimSearchResult:
        """The best node for one pod of a unit, in the first place that it may go to and has one."""
        found = VictimSearchResult(None)
        for domain in self._finder.domains(unit, [row], 1):
            self._finder.restrict_to(unit, row, domain, promised)
            found = self._find(row)
            if found.candidate is not None:
                break
        return found

    def _find(self, row: int) -> VictimSearchResult:
        """The best node for a pod where no gang is torn."""
        for _ in range(TRIES):
            found = self._finder.find(row)
            if found.candidate is None:
                return found
            torn = self._broken_gangs(found.candidate.victims)
            if not torn:
                return found
            mates = {mate for each in torn for mate in each}
            if self._may_go(row, mates, found.candidate.victims):
                hard = self._finder.rules.hard_budgets
                joined = _joined(found.candidate, mates, hard=hard)
                if self._finder.allows(row, joined):
                    return found._replace(candidate=joined)
            self._finder.spare(mates.union(found.candidate.victims))
        return VictimSearchResult(None)

    def _broken_gangs(self, victims: Sequence[int]) -> list[set[int]]:
        """Who is left of each gang that would fall under its minimum without these."""
        evictions, found = self._cluster.evictions, []
        gangs = [self._units.of_row(row) for row in victims]
        for unit in dict.fromkeys(each for each in gangs if each is not None and each.is_gang):
            left = set(unit.bound).difference(victims, self._going)
            left = {row for row in left if not evictions.is_being_evicted(row)}
            if 0 < len(left) < unit.min_member:
                found.append(left)
        return found

    def _may_go(self, row: int, mates: Collection[int], victims: Sequence[int]) -> bool:
        """Whether a pod may push these out too, beside its victims."""
        if not self._finder.may_evict([*victims, *sorted(mates)]):
            return False
        cluster, now = self._cluster, self._clock.monotonic()
        priority = int(cluster.pods.priority[row])
        return all(
            guard_against(cluster, self._finder.rules, mate, priority, now) is None
            for mate in mates
        )

    def _with(self, plan: Plan, helped: list[tuple[Unit, int, list[NodePromise]]]) -> Plan:
        """The plan with the claims that wait for victims, behind its plain claims."""
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
    """A candidate with the rest of the gangs that its victims belong to.

    Where budgets are best effort these may go beyond them, for a gang leaves whole or not at all.
    """
    return candidate._replace(
        victims=(*candidate.victims, *sorted(mates)),
        beyond=candidate.beyond if hard else candidate.beyond.union(mates),
    )


def _untried_setback(setback: Setback, rows: tuple[int, ...]) -> Setback:
    """Pods that are worth another try at once."""
    return Setback(setback.unit, rows, -1, Cure.NONE, SetbackReason.GIVEN_BACK)


def _unhelped_setback(setback: Setback, rows: tuple[int, ...], said: Mapping[int, str]) -> Setback:
    """The part of a setback that nobody's leaving cures, with what is said of each pod."""
    messages = tuple(said[row] for row in rows) if said else ()
    return Setback(
        setback.unit, rows, setback.class_id, setback.cures, setback.why, messages=messages
    )
