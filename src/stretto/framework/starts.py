"""The nodes over time: where a job fits after running pods have ended, next to reservations.

Backfill uses this module. The rules, scores and topology of the profile decide on a copy of the
state in which pods that are expected to end have ended and reserved pods run.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from stretto.framework.compiled.placement import PlacementRequest
from stretto.framework.engine.runtime import Runtime
from stretto.framework.groups.stage import GroupStage
from stretto.state.cluster.cluster import Cluster
from stretto.state.numa.ledger import DEVICE_BITS
from stretto.state.queues.end_times import NEVER
from stretto.state.queues.starts import (
    Instant,
    StartGround,
    StartJob,
    StartPlacement,
    StartReservation,
)
from stretto.state.rows.devices import WHOLE
from stretto.state.rows.resources import PODS

ONE_NODE: Final = 1
"""Number of nodes up to which the sum over all nodes is exact."""

STATES: Final = 512
"""Maximum number of instants whose free amounts are cached."""

_PODS: Final = 256
"""Initial number of reserved pods; columns double when they are full."""


class NodeStarts:
    """Creates the ground of timetables from the nodes of a cluster."""

    def __init__(self, cluster: Cluster, make: Callable[[], Runtime]) -> None:
        """Use a cluster; ``make`` creates a runtime with a snapshot of its own."""
        self._cluster = cluster
        self._make = make

    def ground(self, running: Sequence[tuple[int, int]]) -> "NodeGround | None":
        """The nodes over time; ``None`` for a single node, because its sums are exact.

        Args:
            running: (expected end in microseconds, row) of running pods with an expected end.
        """
        if int((self._cluster.nodes.live > 0).sum()) <= ONE_NODE:
            return None
        return NodeGround(self._cluster, self._make(), running)


class _NodeState(NamedTuple):
    """Free amounts of every slot at one instant."""

    #: int32[resource, slot]: free amounts in scan steps.
    free: npt.NDArray[np.int32]
    #: int32[slot, device]: free milli.
    device_free: npt.NDArray[np.int32]
    #: uint64[word, slot]: host ports in use.
    ports: npt.NDArray[np.uint64]
    #: int64[slot, NUMA node, column]: free amounts of NUMA nodes.
    numa: npt.NDArray[np.int64]


class _ExpectedEnd(NamedTuple):
    """A running pod with an expected end."""

    end: int
    class_id: int
    slot: int
    devices: int


class _Change(NamedTuple):
    """A pod that has ended (-1) or a reserved pod that runs (1), in a state."""

    class_id: int
    slot: int
    sign: int


class _ReservedPods:
    """The pods of reservations in columns.

    Pods that need more than amounts are stored only by number.
    """

    def __init__(self) -> None:
        """Start without reservations."""
        #: Number of reservations.
        self.count = 0
        #: Numbers of the reservations whose pods need devices, ports or NUMA nodes.
        self.special: list[int] = []
        #: By number of a reservation: index of its first pod; one more entry for the end.
        self.first = [0]
        #: int64[pod], longer than the number of pods: start and end of the reservation, and the
        #: slot and the class of the pod.
        self.starts, self.ends, self.slots, self.classes = np.zeros((4, _PODS), np.int64)

    def add(self, reservation: StartReservation, special: bool) -> None:
        """Append a reservation."""
        job, slots = reservation.job, reservation.placement.slots
        pods = [(s, c) for s, c in zip(slots, job.classes, strict=True) if s >= 0 and not special]
        begin, end = self.first[-1], self.first[-1] + len(pods)
        while end > len(self.starts):
            columns = (self.starts, self.ends, self.slots, self.classes)
            self.starts, self.ends, self.slots, self.classes = np.concatenate(
                [columns, np.zeros_like(columns)], axis=1
            )
        self.starts[begin:end], self.ends[begin:end] = reservation.start, reservation.end
        if pods:
            self.slots[begin:end], self.classes[begin:end] = np.array(pods, np.int64).T
        if special:
            self.special.append(self.count)
        self.count += 1
        self.first.append(end)


class NodeGround:
    """The nodes of one cluster over time; it is used for one round of dispatching."""

    def __init__(
        self, cluster: Cluster, runtime: Runtime, running: Sequence[tuple[int, int]]
    ) -> None:
        """Start from the current state and the pods that are expected to end."""
        runtime.sync()
        slots = cluster.pods.slot
        line = sorted((end, row) for end, row in running if slots[row] >= 0)
        self._cluster = cluster
        self._runtime = runtime
        self._numa = runtime.stage(GroupStage).slot_sets.numa.snapshot
        columns = runtime.columns
        self._now = _NodeState(
            columns.free.copy(),
            columns.device_free.copy(),
            columns.ports.copy(),
            self._numa.free.copy(),
        )
        self._times = np.array([end for end, _ in line], np.int64)
        self._rows = np.array([row for _, row in line], np.int64)
        self._slots = np.asarray(slots[self._rows], np.int64)
        self._classes = np.asarray(cluster.pods.class_id[self._rows], np.int64)
        self._devices = np.asarray(cluster.pods.devices[self._rows], np.int64)
        self._versions = cluster.nodes.version, cluster.objects.version
        self._states: dict[Instant, tuple[_NodeState, int]] = {}
        self._need: dict[int, npt.NDArray[np.int32]] = {}
        self._needs: npt.NDArray[np.int32] | None = None
        self._reserved = _ReservedPods()
        self._special = [i for i in range(len(line)) if self._is_special(int(self._classes[i]))]
        #: Changes of inter-pod counts that the runtime includes now.
        self._shown: list[_Change] = []
        #: Expected ends of running pods, without duplicates.
        self.ends: Sequence[int] = np.unique(self._times).tolist()

    def changed_until(self, earlier: StartGround, started: Sequence[StartReservation]) -> int:
        """Return the time after which this ground equals the expectation of an earlier one.

        A pod that ended early or exceeds its estimate changes the time until its expected end.
        Everything may differ after a change of a node or a volume, with inter-pod rules, and if the
        free amounts are not as expected.
        """
        if not isinstance(earlier, NodeGround) or self._versions != earlier._versions:  # noqa: SLF001
            return NEVER
        mine, theirs = self._line(), earlier._line()  # noqa: SLF001
        for each in started:
            pairs = zip(each.job.rows, each.job.classes, each.placement.slots, strict=True)
            theirs |= {row: _ExpectedEnd(each.end, c, s, 0) for row, c, s in pairs if s >= 0}
        changes = [(each, -1) for row, each in mine.items() if row not in theirs]
        until = max((each.end for each, _ in changes), default=0)
        for row, one in theirs.items():
            other = mine.get(row)
            if other is None and one.end < NEVER:
                changes.append((one, 1))
                until = max(until, one.end)
            elif other is not None and other != one._replace(end=other.end, devices=other.devices):
                changes += [(one, 1), (other, -1)]
                until = max(until, other.end, one.end)
            elif other is not None and other.end != one.end:
                until = max(until, other.end, one.end)
        classes = [each.class_id for each, _ in changes]
        classes += [class_id for each in started for class_id in each.job.classes]
        if self._runtime.has_inter_pod_terms(np.array(classes, np.int32)):
            return NEVER
        return until if self._is_as_expected(earlier, changes, started) else NEVER

    def _line(self) -> "dict[int, _ExpectedEnd]":
        """The running pods with an expected end, by row."""
        columns = (self._times, self._classes, self._slots, self._devices)
        values = (_ExpectedEnd(*each) for each in zip(*(c.tolist() for c in columns), strict=True))
        return dict(zip(self._rows.tolist(), values, strict=True))

    def _is_as_expected(
        self,
        earlier: "NodeGround",
        changes: "Iterable[tuple[_ExpectedEnd, int]]",
        started: Iterable[StartReservation],
    ) -> bool:
        """True if the free amounts equal those of an earlier ground after some ends and starts.

        ``changes``: pods that have ended (1) and other pods that run now (-1).
        """
        state, now = _copied(earlier._now), self._now  # noqa: SLF001
        for reservation in started:
            self._charge(state, reservation)
        for each, sign in changes:
            state.free[:, each.slot] += sign * self._need_of(each.class_id)
            self._count_devices(state, each.class_id, each.slot, each.devices, sign)
            if ports := self._cluster.classes[each.class_id].ports:
                mask = self._cluster.ledger.ports.own_mask(ports)
                state.ports[:, each.slot] &= ~mask
                state.ports[:, each.slot] |= mask * np.uint64(sign < 0)
        return (
            np.array_equal(state.free, now.free)
            and np.array_equal(state.device_free, now.device_free)
            and np.array_equal(state.ports, now.ports)
            and np.array_equal(state.numa, now.numa)
        )

    def may_hold(
        self, job: StartJob, instant: Instant, reservations: Sequence[StartReservation]
    ) -> bool:
        """Return whether the free amounts at an instant suffice for a job."""
        return self._may_hold(self._state(instant, reservations), job)

    def place(
        self, job: StartJob, instants: Sequence[Instant], reservations: Sequence[StartReservation]
    ) -> StartPlacement | None:
        """Place a job with the rules of the profile on the amounts free at every instant."""
        state = self._state(instants[0], reservations)
        for instant in instants[1:]:
            state = _least(state, self._state(instant, reservations))
            if not self._may_hold(state, job):
                return None
        self._show(state, self._changes(job, instants, reservations))
        ids = np.array(job.classes, np.int32)
        request = PlacementRequest(ids, [0, len(ids)], [job.at_least], rows=job.rows)
        placed = self._runtime.place(request)
        found = placed.slots >= 0
        if self._runtime.has_inter_pod_terms(ids):
            for class_id, slot in zip(
                ids[found].tolist(), placed.slots[found].tolist(), strict=True
            ):
                self._runtime.between.take(class_id, slot, -1)
        if not found.any() or int(found.sum()) < job.at_least:
            return None
        return StartPlacement(tuple(placed.slots.tolist()), tuple(placed.devices.tolist()))

    # ------------------------------------------------------------ states

    def _state(self, instant: Instant, reservations: Sequence[StartReservation]) -> _NodeState:
        """Free amounts at an instant; the caller must not change them."""
        known = self._states.get(instant)
        state, counted = known if known is not None else (self._without_ended(instant), 0)
        if counted < len(reservations):
            self._charge_active(state, instant.time, reservations, counted)
        if known is None and len(self._states) >= STATES:
            self._states.clear()
        self._states[instant] = state, len(reservations)
        return state

    def _charge_active(
        self, state: _NodeState, time: int, reservations: Sequence[StartReservation], first: int
    ) -> None:
        """Charge the reservations, from a number on, that use capacity at a time."""
        pods = self._reserved
        for each in reservations[pods.count :]:
            pods.add(each, any(map(self._is_special, set(each.job.classes))))
        part = slice(pods.first[first], pods.first[-1])
        mine = (pods.starts[part] <= time) & (time < pods.ends[part])
        if mine.any():
            needs = self._amounts(pods.classes[part][mine])
            np.subtract.at(state.free.T, pods.slots[part][mine], needs)
        for number in pods.special[bisect_left(pods.special, first) :]:
            each = reservations[number]
            if each.start <= time < each.end:
                self._charge(state, each)

    def _without_ended(self, instant: Instant) -> _NodeState:
        """The free amounts at an instant, without reservations."""
        state = _copied(self._now)
        ended = int(np.searchsorted(self._times, instant.time, side="right"))
        if instant.is_later and ended:
            if self._needs is None:
                self._needs = self._amounts(self._classes)
            np.add.at(state.free.T, self._slots[:ended], self._needs[:ended])
            for i in self._special:
                if i >= ended:
                    break
                self._release(state, i)
            np.minimum(state.free, self._runtime.columns.alloc, out=state.free)
        return state

    def _may_hold(self, state: _NodeState, job: StartJob) -> bool:
        """True if the members of each class fit by amounts alone: a quick necessary condition."""
        short = 0
        for class_id, count in Counter(job.classes).items():
            need = self._need_of(class_id)
            needed = np.flatnonzero(need)
            most = (state.free[needed] // need[needed, None]).min(axis=0)
            for request in self._cluster.classes[class_id].devices:
                kind = self._cluster.ledger.devices.kind_number(request.kind)
                usable = self._runtime.columns.device_kind == kind
                usable &= state.device_free >= request.milli
                each = usable.sum(axis=1) // request.count if request.milli >= WHOLE else count
                most = np.minimum(most, np.where(usable.any(axis=1), each, 0))
            short += max(0, count - int(np.maximum(most, 0).sum()))
        return len(job.classes) - short >= job.at_least

    def _amounts(self, class_ids: npt.NDArray[np.int64]) -> npt.NDArray[np.int32]:
        """int32[k, resource]: requests of classes in scan steps, including the pod slot."""
        ids, which = np.unique(class_ids, return_inverse=True)
        return np.stack([self._need_of(class_id) for class_id in ids.tolist()])[which]

    def _need_of(self, class_id: int) -> npt.NDArray[np.int32]:
        found = self._need.get(class_id)
        if found is None:
            found = np.zeros(len(self._now.free), np.int32)
            found[PODS] = 1
            for column, amount in self._cluster.classes.scaled_requests(class_id):
                found[column] = amount
            self._need[class_id] = found
        return found

    def _is_special(self, class_id: int) -> bool:
        """Return whether pods of a class need more than amounts of resources."""
        pod = self._cluster.classes[class_id]
        return bool(pod.devices or pod.ports or pod.annotations.numa is not None)

    def _release(self, state: _NodeState, i: int) -> None:
        """Free the devices, ports and NUMA nodes of a running pod."""
        cluster, row, slot = self._cluster, int(self._rows[i]), int(self._slots[i])
        pod, mask = cluster.classes[int(self._classes[i])], int(cluster.pods.devices[row])
        self._count_devices(state, int(self._classes[i]), slot, mask, 1)
        if pod.ports:
            state.ports[:, slot] &= ~cluster.ledger.ports.own_mask(pod.ports)
        holding = cluster.topology.holdings.get(row)
        if holding is None or holding.slot != slot:
            return
        for node, column, amount in holding.parts:
            state.numa[slot, node, column] += amount
        steps = cluster.ledger.resources.step_array()
        for column, amount in holding.extra:
            state.free[column, slot] += amount // int(steps[column])

    def _charge(self, state: _NodeState, reservation: StartReservation) -> None:
        """Charge the pods of a reservation; their NUMA nodes count as amounts of the node."""
        job, (slots, devices) = reservation.job, reservation.placement
        for class_id, slot, mask in zip(job.classes, slots, devices, strict=True):
            if slot < 0:
                continue
            state.free[:, slot] -= self._need_of(class_id)
            pod = self._cluster.classes[class_id]
            self._count_devices(state, class_id, slot, mask, -1)
            if pod.ports:
                state.ports[:, slot] |= self._cluster.ledger.ports.own_mask(pod.ports)

    def _count_devices(
        self, state: _NodeState, class_id: int, slot: int, mask: int, sign: int
    ) -> None:
        for request in self._cluster.classes[class_id].devices:
            kind = self._cluster.ledger.devices.kind_number(request.kind)
            for device, its_kind in enumerate(self._runtime.columns.device_kind[slot].tolist()):
                if (mask & int(DEVICE_BITS)) >> device & 1 and its_kind == kind:
                    state.device_free[slot, device] += sign * request.milli

    def _changes(
        self, job: StartJob, instants: Sequence[Instant], reservations: Sequence[StartReservation]
    ) -> list[_Change]:
        """Pods that are missing in the inter-pod counts of the present, or counted too much.

        Pods of a reservation at any of the instants count.
        """
        runtime = self._runtime
        if not runtime.has_inter_pod_terms(np.array(job.classes, np.int32)):
            return []
        found: list[_Change] = []
        if instants[0].is_later:
            ended = int(np.searchsorted(self._times, instants[0].time, side="right"))
            pairs = zip(self._classes[:ended].tolist(), self._slots[:ended].tolist(), strict=True)
            found += [_Change(class_id, slot, -1) for class_id, slot in pairs]
        for each in reservations:
            if not any(each.start <= instant.time < each.end for instant in instants):
                continue
            pairs = zip(each.job.classes, each.placement.slots, strict=True)
            found += [_Change(class_id, slot, 1) for class_id, slot in pairs if slot >= 0]
        return [
            each
            for each in found
            if runtime.has_inter_pod_terms(np.array([each.class_id], np.int32))
        ]

    def _show(self, state: _NodeState, changes: list[_Change]) -> None:
        """Write a state to the snapshot of the runtime."""
        columns, between = self._runtime.columns, self._runtime.between
        columns.free[...], columns.device_free[...] = state.free, state.device_free
        columns.ports[...] = state.ports
        self._numa.free[...] = state.numa
        for each in self._shown:
            between.take(each.class_id, each.slot, -each.sign)
        if changes:
            self._runtime.make_ready(np.array(sorted({c.class_id for c in changes}), np.int32))
        for each in changes:
            between.take(each.class_id, each.slot, each.sign)
        self._shown = changes
        columns.void()


def _copied(state: _NodeState) -> _NodeState:
    """Copy the amounts of a state, so that they can be changed."""
    return _NodeState(
        state.free.copy(), state.device_free.copy(), state.ports.copy(), state.numa.copy()
    )


def _least(left: _NodeState, right: _NodeState) -> _NodeState:
    """Amounts that are free in both states."""
    return _NodeState(
        np.minimum(left.free, right.free),
        np.minimum(left.device_free, right.device_free),
        left.ports | right.ports,
        np.minimum(left.numa, right.numa),
    )
