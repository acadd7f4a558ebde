"""All roles over one memory store, in virtual time and in one process."""

import json
from collections.abc import Callable, Sequence
from typing import Any

from stretto.api.types.handover_annotations import PREFIX
from stretto.api.wire.kinds import NODE, POD, POD_GROUP, SCHEDULER, Kind
from stretto.base.clock import ManualClock
from stretto.base.rng import Rng
from stretto.control.reporting.reporter import ReportConfig
from stretto.daemons.roles.binder import binder_plane
from stretto.daemons.roles.controller import controller_plane
from stretto.daemons.roles.dispatcher import DispatcherRoleConfig, dispatcher_plane
from stretto.daemons.roles.shard import shard_plane
from stretto.daemons.roles.solo_plane import ShardConfig
from stretto.daemons.scheduler import plane_config
from stretto.framework.profile.profile import load_profile
from stretto.plane.config import PlaneConfig
from stretto.plane.plane import Plane
from stretto.stores.embedded.memory import MemoryStore
from stretto.stores.render import render
from stretto.stores.store import Deletion, Patch, Store, WriteOutcome

MOST_STEPS = 2_000


class Rig:
    """A cluster whose scheduler runs as several daemons."""

    def __init__(self, *shards: str, preempts: bool = True, **more: Any) -> None:
        self.clock = ManualClock()
        self.store: Store = MemoryStore(self.clock, Rng(7))
        profile = load_profile(more.get("profile", "default"))
        if not preempts:
            rules = profile.preemption.__class__(enabled=False)
            profile = profile.__class__(**{**fields(profile), "preemption": rules})
        moves = {**fields(profile), "rescheduling": more.get("rescheduling")}
        profile = profile.__class__(**moves)
        self.config = plane_config(profile, (), 1, "numpy", None)
        self.config = with_report(self.config)
        self.dead_after = more.get("dead_after", 120.0)
        self.shares_nodes = more.get("shares_nodes", False)
        self.door: Callable[[Store, ManualClock], Store] = more.get("door", lambda store, _: store)
        self.roles: dict[str, Plane] = {}
        for role in ("dispatcher", *shards, "binder", "controller"):
            self.start(role)

    def start(self, role: str) -> None:
        """Start a role, afresh where it runs already."""
        self.stop(role)
        store, clock = self.door(self.store, self.clock), self.clock
        if role == "dispatcher":
            wire = DispatcherRoleConfig(self.dead_after, self.shares_nodes)
            self.roles[role] = dispatcher_plane(self.config, store, clock, wire)
        elif role == "binder":
            self.roles[role] = binder_plane(self.config, store, clock)
        elif role == "controller":
            self.roles[role] = controller_plane(self.config, store, clock)
        else:
            self.roles[role] = shard_plane(self.config, store, clock, ShardConfig(role))

    def stop(self, role: str) -> None:
        """Stop a role in the middle of its work."""
        plane = self.roles.pop(role, None)
        if plane is not None:
            plane.close()

    def settle(self, *only: str) -> int:
        """Let roles work until none has anything to do at this instant; returns the rounds."""
        for rounds in range(MOST_STEPS):
            moved = [plane.step() for name, plane in self.roles.items() if not only or name in only]
            if not any(moved):
                return rounds
        raise AssertionError("they do not come to rest")

    def run(self, seconds: float, step: float = 0.5) -> None:
        """Let time pass."""
        until = self.clock.monotonic() + seconds
        while self.clock.monotonic() < until:
            self.settle()
            self.clock.advance(step)
        self.settle()

    # ------------------------------------------------------------ the cluster

    def put(self, kind: Kind, *bodies: bytes) -> None:
        """Create objects."""
        assert all(r.outcome is WriteOutcome.OK for r in self.store.create(kind, list(bodies)))

    def nodes(self, *bodies: bytes) -> None:
        self.put(NODE, *bodies)

    def pods(self, *bodies: bytes) -> None:
        self.put(POD, *bodies)

    def groups(self, *bodies: bytes) -> None:
        self.put(POD_GROUP, *bodies)

    def change(self, kind: Kind, name: str, patch: dict[str, Any], namespace: str = "") -> None:
        """A user changes an object."""
        reply = self.store.patch(kind, [Patch(namespace, name, patch)])[0]
        assert reply.outcome is WriteOutcome.OK, reply

    def say(self, pod: str, **notes: str) -> None:
        """Write a hand-over on a pod as another client."""
        self.change(POD, pod, {"metadata": {"annotations": says(**notes)}}, "default")

    def delete(self, kind: Kind, *names: str, namespace: str = "") -> None:
        self.store.delete(kind, [Deletion(namespace, name) for name in names])

    def shown(self, kind: Kind, name: str, namespace: str = "") -> dict[str, Any]:
        """An object as JSON."""
        record = self.store.get(kind, namespace, name)
        assert record is not None, name
        return json.loads(render(record))

    def notes(self, name: str, kind: Kind = POD) -> dict[str, str]:
        """A pod's annotations, or a node's, without the prefix."""
        space = "default" if kind is POD else ""
        notes = self.shown(kind, name, space)["metadata"].get("annotations", {})
        return {key.removeprefix(PREFIX): text for key, text in notes.items()}

    def node_of(self, name: str) -> str:
        """The node a pod is bound to; empty for none."""
        record = self.store.get(POD, "default", name)
        return record.node if record is not None else ""

    def bound(self) -> dict[str, str]:
        """Bound pods with their nodes."""
        return {r.name: r.node for r in self.store.list(POD).records if r.node}

    def schedulers(self) -> list[str]:
        """Shards that are registered."""
        return [record.name for record in self.store.list(SCHEDULER).records]


def fields(struct: Any) -> dict[str, Any]:
    """A struct's fields by name."""
    return {name: getattr(struct, name) for name in struct.__struct_fields__}


def with_report(config: PlaneConfig) -> PlaneConfig:
    """A config under which pending pods are reported."""
    return config.__class__(**{**fields(config), "report": ReportConfig(keep_events=1e9)})


def says(**notes: str) -> dict[str, str]:
    """Annotations of a hand-over by their names without the prefix, with ``_`` for ``-``."""
    return {PREFIX + key.replace("_", "-"): text for key, text in notes.items()}


def names(prefix: str, count: int) -> Sequence[str]:
    """Numbered names."""
    return [f"{prefix}-{i}" for i in range(count)]
