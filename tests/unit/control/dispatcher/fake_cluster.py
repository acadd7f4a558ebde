"""A dispatcher with a make-believe cluster, store and shards around it, by pod names."""

import json
from collections.abc import Callable, Iterable
from typing import Any

import msgspec
import numpy as np

from stretto.api.types.godel import PodGroup, PodGroupSpec, PodGroupStatus
from stretto.api.types.heads import MetaHead
from stretto.api.wire.meta import ObjectMeta
from stretto.control.dispatcher.dispatcher import Dispatcher
from stretto.control.queues.config import DispatcherConfig, QueueConfig
from stretto.state.rows.lifecycle import PodEvent, PodState, step_pods
from stretto.state.rows.pods import NewPod, Pods
from stretto.state.work.changes import ClusterChanges, GroupChange, PodArrival, PodDeparture
from stretto.state.work.claims import ConflictCause
from stretto.state.work.units import Cure, Dispatch, Setback, SetbackReason, Unit, Units

GROUP_NAME = "godel.bytedance.com/pod-group-name"
LEFT = Cure.POD_LEFT


def raw(value: object) -> msgspec.Raw:
    return msgspec.Raw(json.dumps(value).encode())


def owned_by(kind: str, name: str, uid: str = "") -> msgspec.Raw:
    owner = {"kind": kind, "name": name, "uid": uid or f"uid-{name}", "controller": True}
    return raw([owner])


def make_meta(name: str, uid: str, **notes: Any) -> MetaHead:
    """Notes: group, queue, duration, labels, annotations, owner (raw)."""
    annotations = dict(notes.get("annotations", {}))
    if "group" in notes:
        annotations[GROUP_NAME] = notes["group"]
    if "queue" in notes:
        annotations["stretto.dev/queue"] = notes["queue"]
    if "duration" in notes:
        annotations["stretto.dev/duration"] = str(notes["duration"])
    return MetaHead(
        name=name,
        namespace="ns",
        uid=uid,
        labels=raw(notes["labels"]) if "labels" in notes else msgspec.Raw(),
        annotations=raw(annotations) if annotations else msgspec.Raw(),
        owner_references=notes.get("owner", msgspec.Raw()),
    )


def make_group(name: str, min_member: int, timeout: int | None = None, **more: Any) -> PodGroup:
    """More: uid, phase, annotations."""
    return PodGroup(
        metadata=ObjectMeta(
            name=name,
            namespace="ns",
            uid=more.get("uid", f"group-{name}"),
            annotations=more.get("annotations", {}),
        ),
        spec=PodGroupSpec(min_member=min_member, schedule_timeout_seconds=timeout),
        status=PodGroupStatus(phase=more.get("phase", "")),
    )


class FlatPool:
    """One pool of one resource: a pod of class n requests n + 1 of it, and a place."""

    def __init__(self, size: int = 100) -> None:
        self.size, self.left = size, size

    def requesters(self) -> None:
        return None

    def requests_of(self, class_id: int) -> tuple[tuple[int, int], ...]:
        return ((0, class_id + 1), (3, 1))

    def capacity(self) -> dict[int, int]:
        return {0: self.size, 3: 1 << 20}

    def free(self) -> dict[int, int]:
        return {0: self.left, 3: 1 << 20}

    def column(self, name: str) -> int:
        return {"cpu": 0, "pods": 3}[name]

    def count(self, name: str, amount: int) -> tuple[int, int]:
        return self.column(name), amount

    def names(self, column: int, amount: int) -> tuple[str, int]:
        return {0: "cpu", 3: "pods"}[column], amount


class Desk:
    """The environment of one dispatcher; a test sets the time ``now``."""

    def __init__(self, *queues: QueueConfig, shards: int = 1, **config: Any) -> None:
        self.pods, self.units, self.now = Pods(), Units(), 0.0
        self.pool = FlatPool()
        self.dispatcher = Dispatcher(
            self.pods, self.units, DispatcherConfig(queues=queues, **config), self.pool
        )
        for number in range(shards):
            self.dispatcher.add_shard(number)
        self.rows: dict[str, int] = {}
        self.metas: dict[str, MetaHead] = {}
        self._uids = 0

    # ------------------------------------------------------------ what happens in the cluster

    def arrive(self, *names: str, priority: int = 0, class_id: int = 0, **notes: Any) -> None:
        self.absorb(arrivals=self.born(*names, priority=priority, class_id=class_id, **notes))

    def born(
        self, *names: str, priority: int = 0, class_id: int = 0, **notes: Any
    ) -> list[PodArrival]:
        """Pods are in the columns, and the dispatcher does not know yet."""
        gated, state = notes.pop("gated", False), notes.pop("state", PodState.PENDING)
        state = PodState.GATED if gated else state
        made = []
        for name in names:
            self._uids += 1
            self.metas[name] = make_meta(name, f"{name}-{self._uids}", **notes)
            uid = self.metas[name].uid
            made.append(NewPod(uid, "ns", name, class_id, priority, 1, self.now, state))
        self.rows.update(zip(names, self.pods.add(made).tolist(), strict=True))
        return [
            PodArrival(self.rows[name], self.metas[name], gated, self.metas[name].uid)
            for name in names
        ]

    def change(self, name: str, gated: bool = False, **notes: Any) -> None:
        self.metas[name] = make_meta(name, self.metas[name].uid, **notes)
        meta = self.metas[name]
        self.absorb(regrouped=[PodArrival(self.rows[name], meta, gated, meta.uid)])

    def _arrival(self, name: str, gated: bool) -> PodArrival:
        return PodArrival(self.rows[name], self.metas[name], gated, self.metas[name].uid)

    def died(self, *names: str) -> list[PodDeparture]:
        """Pods are out of the columns, and the dispatcher does not know yet."""
        gone = []
        for name in names:
            row = self.rows.pop(name)
            gone.append(PodDeparture(row, int(self.pods.serial[row]), self.pods.uid[row]))
            self.pods.remove(row)
        return gone

    def delete(self, *names: str) -> None:
        self.absorb(departures=self.died(*names))

    def group(self, name: str, min_member: int, timeout: int | None = None, **more: Any) -> None:
        group = make_group(name, min_member, timeout, **more)
        self.absorb(groups=[GroupChange(f"ns/{name}", group)])

    def ungroup(self, name: str) -> None:
        self.absorb(groups=[GroupChange(f"ns/{name}", None)])

    def absorb(self, **what: Any) -> None:
        changes = ClusterChanges()
        for name, value in what.items():
            setattr(changes, name, value)
        self.dispatcher.absorb(changes, self.now)

    # ------------------------------------------------------------ what shards and binder do

    def work(self, capacity: int | list[int] = 1000) -> list[list[Dispatch]]:
        capacities = [capacity] if isinstance(capacity, int) else capacity
        return self.dispatcher.sender.dispatch(self.now, capacities)

    def sent(self, capacity: int | list[int] = 1000) -> list[str]:
        """Names of the pods that are handed out now, in order."""
        return [
            name for work in self.work(capacity) for each in work for name in self.names(each.rows)
        ]

    def over_limits(self) -> dict[tuple[str, int], int]:
        """Excess over limits by queue and column."""
        usage = self.dispatcher._places.usage
        branches = () if usage is None else tuple(usage.tree)
        return {
            (branch.name, column): branch.used[column] - most
            for branch in branches
            for column, most in branch.limit.items()
            if branch.used.get(column, 0) > most
        }

    def assume(self, *names: str) -> None:
        rows = self._rows(names)
        step_pods(self.pods.state, rows, PodEvent.ASSUME)
        self.dispatcher.answers.placed(rows, self.now)

    def bind(self, *names: str) -> None:
        rows = self._rows(names)
        step_pods(self.pods.state, rows, PodEvent.BIND)
        self.absorb(bound=rows.tolist())

    def place(self, *names: str) -> None:
        self.assume(*names)
        self.bind(*names)

    def refuse(self, *names: str, cause: ConflictCause = ConflictCause.DOES_NOT_FIT) -> None:
        self.dispatcher.answers.settle(
            [(unit, rows, cause) for unit, rows in self._by_unit(names)], self.now
        )

    def reject(self, *names: str, cause: ConflictCause = ConflictCause.STORE_REFUSED) -> None:
        """The store refuses pods that were assumed."""
        step_pods(self.pods.state, self._rows(names), PodEvent.REJECT)
        self.refuse(*names, cause=cause)

    def no_place(self, *names: str, cures: Cure = LEFT, class_id: int | None = None) -> None:
        for unit, rows in self._by_unit(names):
            blamed = int(self.pods.class_id[rows[0]]) if class_id is None else class_id
            self.dispatcher.answers.set_back([Setback(unit, rows, blamed, cures)], self.now)

    def give_back(self, *names: str) -> None:
        found = [
            Setback(unit, rows, -1, Cure.ANY, SetbackReason.GIVEN_BACK)
            for unit, rows in self._by_unit(names)
        ]
        self.dispatcher.answers.set_back(found, self.now)

    def wake(self, cures: Cure = LEFT, fits: int | Callable[[int], int] = 1 << 30) -> int:
        probe = fits if callable(fits) else lambda class_id: fits
        return self.dispatcher.timers.wake(cures, probe, self.now)

    def pass_time(self, seconds: float) -> None:
        self.now += seconds
        self.dispatcher.timers.due(self.now)

    # ------------------------------------------------------------ looking

    def unit(self, name: str) -> Unit:
        unit = self.units.by_row[self.rows[name]]
        assert unit is not None
        return unit

    def state(self, name: str) -> PodState:
        return PodState(int(self.pods.state[self.rows[name]]))

    def names(self, rows: Iterable[int]) -> list[str]:
        return [self.pods.name[row] for row in rows]

    def failures(self) -> list[str]:
        return [failure.message for failure in self.dispatcher.drain_failures()]

    def _rows(self, names: Iterable[str]) -> Any:
        return np.array([self.rows[name] for name in names], np.int64)

    def _by_unit(self, names: Iterable[str]) -> list[tuple[Unit, tuple[int, ...]]]:
        found: dict[Unit, list[int]] = {}
        for name in names:
            found.setdefault(self.unit(name), []).append(self.rows[name])
        return [(unit, tuple(rows)) for unit, rows in found.items()]
