"""Recorded scenarios of Gödel's daemons, replayed for one of ours at a time.

One of our roles stands in the place of the recorded one: it sees the scenario's objects and what
all other clients wrote, when they wrote it, and records its own writes (see ``wire_effects``).
"""

import copy
import json
from collections.abc import Iterator, Sequence
from typing import Any, Final

import msgspec

from stretto.api.edit.patch import PatchType
from stretto.api.kinds.table import typed_kinds
from stretto.api.types.handover_annotations import standing_of
from stretto.api.types.heads import decode_pod_head
from stretto.api.wire.kinds import EVENT, POD, POD_DISRUPTION_BUDGET, SCHEDULER, Kind
from stretto.base.clock import ManualClock, timestamp
from stretto.base.rng import Rng
from stretto.daemons.roles.binder import binder_plane
from stretto.daemons.roles.controller import controller_plane
from stretto.daemons.roles.dispatcher import DispatcherRoleConfig, dispatcher_plane
from stretto.daemons.roles.shard import shard_plane
from stretto.daemons.roles.solo_plane import ShardConfig
from stretto.daemons.scheduler import REPORT, plane_config
from stretto.framework.profile.profile import load_profile
from stretto.plane.config import PlaneConfig
from stretto.plane.plane import Plane
from stretto.state.victims.rules import PreemptionRules
from stretto.stores.embedded.memory import MemoryStore
from stretto.stores.render import render
from stretto.stores.store import (
    Bind,
    Deletion,
    Eviction,
    Patch,
    Replies,
    Reply,
    StatusReason,
    Store,
    Update,
    WriteOutcome,
)
from stretto.stores.wrapper import StoreWrapper
from tests.contract.wire_effects import Effects, Json, Scenario, actors_of, effect_of, note

NAMES: Final = frozenset({"godel-scheduler", "default-scheduler"})
"""Scheduler names whose pods the recorded daemons accept, for every client."""
ROLES: Final = ("dispatcher", "scheduler-a", "scheduler-b", "binder")
SHARD_OF: Final = {"scheduler-a": "godel-scheduler", "scheduler-b": "godel-scheduler-b"}
LONGEST_STEP: Final = 4.0
"""Seconds that pass between two looks of our daemon at most."""
STOPPED: Final = {
    ("05b", "scheduler-b"): (10.4, 1e9),
    ("05c", "scheduler-b"): (2.2, 1e9),
    ("06g", "binder"): (2.5, 5.4),
    ("06i", "binder"): (3.2, 4.5),
    ("09a", "scheduler-a"): (1.5, 3.45),
    ("09a", "binder"): (5.9, 16.7),
    ("09b", "binder"): (1.74, 3.35),
    ("10a", "binder"): (31.4, 32.7),
    ("10b", "binder"): (3.2, 4.8),
    ("10c", "scheduler-a"): (1.6, 3.0),
    ("12b", "scheduler-a"): (6.2, 1e9),
    ("18a", "scheduler-a"): (1.5, 7.35),
}
"""Seconds in which the recorded daemon did not run, as its notes say: ours does not either."""
_BY_PLURAL: Final = {
    kind.plural: kind for kind in typed_kinds() if kind.group != "scheduling.k8s.io"
}
_BY_PLURAL["priorityclasses"] = next(k for k in typed_kinds() if k.plural == "priorityclasses")


class Spy(StoreWrapper):
    """Keeps what one role has written with success."""

    def __init__(self, inner: Store) -> None:
        super().__init__(inner)
        self.effects: Effects = {}
        #: Pods that were reported as pending.
        self.waiting: set[str] = set()

    def create(self, kind: Kind, bodies: Sequence[bytes]) -> Replies:
        replies = self._inner.create(kind, bodies)
        for body, reply in zip(bodies, replies, strict=True):
            self._keep("create", kind, json.loads(body)["metadata"]["name"], {}, reply)
        return replies

    def patch(self, kind: Kind, patches: Sequence[Patch]) -> Replies:
        return self._patched(kind, patches, self._inner.patch(kind, patches))

    def patch_status(self, kind: Kind, patches: Sequence[Patch]) -> Replies:
        return self._patched(kind, patches, self._inner.patch_status(kind, patches))

    def delete(self, kind: Kind, deletions: Sequence[Deletion]) -> Replies:
        replies = self._inner.delete(kind, deletions)
        for each, reply in zip(deletions, replies, strict=True):
            self._keep("delete", kind, each.name, {}, reply)
        return replies

    def bind(self, binds: Sequence[Bind]) -> Replies:
        replies = self._inner.bind(binds)
        for each, reply in zip(binds, replies, strict=True):
            self._keep("bind", POD, each.name, {}, reply)
        return replies

    def evict(self, evictions: Sequence[Eviction]) -> Replies:
        """As an API server does: within the budgets' statuses, from which each is taken off."""
        return [self._evicted(each) for each in evictions]

    def _evicted(self, each: Eviction) -> Reply:
        record = self._inner.get(POD, each.namespace, each.name)
        labels = json.loads(record.body)["metadata"].get("labels", {}) if record else {}
        for budget in self._inner.list(POD_DISRUPTION_BUDGET).records:
            found = json.loads(render(budget))
            wanted = found["spec"]["selector"].get("matchLabels", {})
            if budget.namespace != each.namespace or not wanted.items() <= labels.items():
                continue
            left = found.get("status", {}).get("disruptionsAllowed", 0)
            if left < 1:
                return Reply(
                    WriteOutcome.REFUSED, StatusReason.TOO_MANY_REQUESTS, "the budget is used up"
                )
            status = {"status": {"disruptionsAllowed": left - 1}}
            self._inner.patch_status(
                POD_DISRUPTION_BUDGET, [Patch(budget.namespace, budget.name, status)]
            )
        reply = self._inner.delete(POD, [Deletion(each.namespace, each.name, each.uid)])[0]
        self._keep("delete", POD, each.name, {}, reply)
        return reply

    def _patched(self, kind: Kind, patches: Sequence[Patch], replies: Replies) -> Replies:
        for each, reply in zip(patches, replies, strict=True):
            self._keep("patch", kind, each.name, each.patch, reply)
        return replies

    def _keep(self, verb: str, kind: Kind, name: str, body: Json, reply: Reply) -> None:
        if reply.outcome is WriteOutcome.OK and kind is not EVENT:
            found = effect_of(verb, kind.plural, body, self.waiting, name)
            note(self.effects, found, kind.plural, name)


class Replay:
    """One scenario with one of our roles in the place of the recorded one."""

    def __init__(self, scenario: Scenario, role: str) -> None:
        self.clock = ManualClock(1000.0)
        self.store = MemoryStore(self.clock, Rng(3))
        self.spy = Spy(self.store)
        self.role = role
        self._scenario = scenario
        self._uids: dict[str, str] = {}
        self._planes: list[Plane] = []
        self._late = 0.0
        self._was_stopped = False
        self._early: list[Json] = []
        self._dead: set[str] = set()
        self._number = 0
        self._beats: dict[str, float] = {}

    def run(self) -> Effects:
        """Return the writes of the role at the end."""
        for each in self._scenario.objects:
            kind = _BY_PLURAL.get(_plural(each))
            if kind is not None:
                self._create(kind, each)
        self._planes = list(self._roles())
        for number, step in enumerate(self._scenario.steps):
            self._number = number
            self._pass_to(step["t"])
            if step["resource"] == "schedulers":
                (self._dead.add if step["verb"] == "delete" else self._dead.discard)(step["name"])
            if step["actor"] not in actors_of(self.role):
                self._wait_for_ours(step)
                self._apply(step)
                self._keep_reported(step)
            self._settle()
        self._pass_to(self._scenario.steps[-1]["t"] + 3.0)
        self._settle()
        return {key: found for key, found in self.spy.effects.items() if found}

    def _roles(self) -> Iterator[Plane]:
        scenario, role = self._scenario, self.role
        config = self._config()
        if role == "dispatcher":
            flags = " ".join(scenario.config["dispatcher"].get("flags", ()))
            wire = DispatcherRoleConfig(shares_nodes="DispatcherNodeShuffle=true" in flags)
            yield dispatcher_plane(config, self.spy, self.clock, wire)
        elif role in SHARD_OF:
            yield shard_plane(config, self.spy, self.clock, ShardConfig(SHARD_OF[role]))
        else:
            yield binder_plane(config, self.spy, self.clock)
            yield controller_plane(config, self.spy, self.clock)

    def _config(self) -> PlaneConfig:
        """The profile as the scenario's files say it."""
        files = [each.get("config") or {} for each in self._scenario.config.values()]
        profiles = [each.get("defaultProfile") or {} for each in files]
        preempts = any(each.get("disablePreemption") is False for each in profiles)
        if self.role not in SHARD_OF:
            preempts = True
        rules = PreemptionRules(enabled=preempts, hard_budgets=True, opt_in=True)
        profile = msgspec.structs.replace(load_profile("default"), preemption=rules)
        report = REPORT if self.role in SHARD_OF else None
        return plane_config(profile, tuple(sorted(NAMES)), 1, "numpy", report)

    # ------------------------------------------------------------ time

    def _pass_to(self, t: float) -> None:
        """Let time pass; our role is stopped and started again when the recorded one was."""
        since, until = STOPPED.get((self._scenario.name, self.role), (1e9, 1e9))
        if t >= since and not self._was_stopped:
            self._look_until(since)
            self._was_stopped = True
            while self._planes:
                self._planes.pop().close()
        if t >= until and not self._planes:
            self._look_until(until)
            self._planes = list(self._roles())
        self._look_until(t)

    def _look_until(self, t: float) -> None:
        """Advance time, and run our role whenever it is due."""
        end = 1000.0 + t + self._late
        while self._planes and self.clock.monotonic() < end:
            self._beat()
            now = self.clock.monotonic()
            due = min(plane.next_due() for plane in self._planes)
            self.clock.set(min(end, max(now + 0.05, min(due, now + LONGEST_STEP))))
            self._settle()
        if self.clock.monotonic() < end:
            self.clock.set(end)

    def _settle(self) -> None:
        for _ in range(200):
            moved = [plane.step() for plane in self._planes]
            if not any(moved):
                return

    def _wait_for_ours(self, step: Json) -> None:
        """A write that answers one of ours follows it, regardless of the latency."""
        if step["resource"] != "pods" or step["actor"] not in (*SHARD_OF, "binder"):
            return
        began = self.clock.monotonic()
        while self._planes and self._is_early(step) and self.clock.monotonic() < began + 100.0:
            self._late += 1.0
            self._look_until(self.clock.monotonic() - 1000.0 - self._late + 1.0)

    def _is_early(self, step: Json) -> bool:
        """Return whether our dispatcher has not yet done what a step of a shard answers."""
        if self.role != "dispatcher" or step["actor"] == "binder":
            return False
        record = self.store.get(POD, step.get("namespace", ""), step["name"])
        if record is None or record.node:
            return False
        has = standing_of(decode_pod_head(record.body).metadata).scheduler
        return not has or has in self._dead

    def _keep_reported(self, step: Json) -> None:
        """Record the pods already reported as pending, which need no second report."""
        body = step.get("body") or {}
        if step["resource"] == "pods" and step["verb"] == "patch":
            list(effect_of("patch", "pods", body, self.spy.waiting, step["name"]))

    def _beat(self) -> None:
        """Shards that will beat again beat in between too: most beats were cut from the record."""
        for actor, name in SHARD_OF.items():
            if actor == self.role or self.clock.monotonic() < self._beats.get(name, 0.0) + 20.0:
                continue
            since, until = STOPPED.get((self._scenario.name, actor), (1e9, 1e9))
            if not since <= self.clock.monotonic() - 1000.0 - self._late < until:
                self._beats[name] = self.clock.monotonic()
                at = timestamp(self.clock.now())
                said = {"status": {"lastUpdateTime": at}}
                self.store.patch_status(SCHEDULER, [Patch("", name, said)])

    # ------------------------------------------------------------ what others write

    def _create(self, kind: Kind, body: Json) -> None:
        found = self._real(body)
        reply = self.store.create(kind, [json.dumps(found).encode()])[0]
        if reply.record is not None:
            name = f"{kind.kind}/{reply.record.name}"
            self._uids[f"<uid:{name}>" if name not in self._seen() else ""] = reply.record.uid
            self._uids[name] = reply.record.uid
        if found.get("status"):
            meta = found["metadata"]
            patch = Patch(meta.get("namespace", ""), meta["name"], {"status": found["status"]})
            self.store.patch_status(kind, [patch])

    def _seen(self) -> set[str]:
        return {key for key in self._uids if not key.startswith("<")}

    def _real(self, body: Any) -> Any:
        """A body without the server's notes, with our uids."""
        text = json.dumps(body)
        for mark, uid in self._uids.items():
            if mark.startswith("<"):
                text = text.replace(mark, uid)
        found = json.loads(text.replace('"<ts>"', '"2026-01-01T00:00:00Z"'))
        for key in ("uid", "resourceVersion", "creationTimestamp", "generation"):
            found.get("metadata", {}).pop(key, None)
        return found

    def _apply(self, step: Json) -> None:
        kind = _BY_PLURAL.get(step["resource"])
        if kind is None or step.get("code", 200) >= 400 or step["resource"] in ("events", "leases"):
            return
        space, name = step.get("namespace", "") or "", step["name"]
        is_new = step["verb"] == "create" and not step.get("subresource")
        about_pod = step["resource"] == "pods" and not is_new
        if about_pod and self.store.get(POD, space, name) is None and self._comes(name):
            self._early.append(step)  # two writes a few milliseconds apart, noted the other way
            return
        verb, sub, body = step["verb"], step.get("subresource", ""), step.get("body")
        if sub == "binding":
            record = self.store.get(POD, space, name)
            if record is not None:
                node = body["target"]["name"]
                self.store.bind([Bind(space, name, record.uid, node)])
        elif verb == "create":
            self._create(kind, self._held(body) if kind is POD else body)
            self._catch_up(name)
        elif verb == "delete":
            self.store.delete(kind, [Deletion(space, name)])
            if step["actor"] == "kubelet" and kind is POD:
                gone = {"metadata": {"finalizers": None}}
                self.store.patch(kind, [Patch(space, name, gone)])
        elif verb == "patch":
            self._patch(kind, space, name, step)
        else:
            self._put(kind, space, name, self._real(body), sub)

    def _comes(self, name: str) -> bool:
        """Return whether a pod is created later."""
        later = self._scenario.steps[self._number + 1 :]
        return any(
            s["name"] == name and s["verb"] == "create" and not s.get("subresource") for s in later
        )

    def _catch_up(self, name: str) -> None:
        """Return the writes to an object that was recorded too late."""
        mine = [step for step in self._early if step["name"] == name]
        self._early = [step for step in self._early if step["name"] != name]
        for step in mine:
            self._apply(step)

    def _held(self, body: Json) -> Json:
        """A pod that its kubelet deletes later is deleted no earlier than that."""
        name = body["metadata"]["name"]
        kept = any(
            s["actor"] == "kubelet" and s["verb"] == "delete" and s["name"] == name
            for s in self._scenario.steps
        )
        more = {"finalizers": ["kubelet.example/holds"]} if kept else {}
        return {**body, "metadata": {**body["metadata"], **more}}

    def _patch(self, kind: Kind, space: str, name: str, step: Json) -> None:
        """A patch as it was sent, without its directives about the order of lists."""
        body, sub = copy.deepcopy(step["body"]), step.get("subresource", "")
        status = body.get("status")
        if isinstance(status, dict):
            for key in [key for key in status if key.startswith("$")]:
                del status[key]
        strategic = step.get("content_type") == PatchType.STRATEGIC.value
        form = PatchType.STRATEGIC if strategic else PatchType.MERGE
        patch = Patch(space, name, self._real(body), type=form)
        if sub:
            self.store.patch_status(kind, [patch])
        else:
            self.store.patch(kind, [patch])

    def _put(self, kind: Kind, space: str, name: str, body: Any, sub: str) -> None:
        if sub:
            self.store.patch_status(kind, [Patch(space, name, {"status": body.get("status")})])
            return
        self.store.update(kind, [Update(space, name, json.dumps(body).encode())])


def _plural(body: Json) -> str:
    """The plural of an object's kind."""
    group = body["apiVersion"].rpartition("/")[0]
    found = [k for k in typed_kinds() if k.kind == body["kind"] and k.group == group]
    return found[0].plural if found else ""
