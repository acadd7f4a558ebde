"""A plane under kube-parity decides like the library on a fresh snapshot after any history."""

from collections.abc import Callable, Sequence
from typing import Any

import msgspec
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from stretto.api import codec
from stretto.api.types.pod import Pod
from stretto.api.wire import kinds
from stretto.api.wire.kinds import NODE, POD
from stretto.state.work.claims import ConflictCause
from stretto.stores.store import Deletion
from stretto.testing import make_node
from stretto_lab.conformance.kube_cases import fields
from tests.support.parity_cluster import HOST, ZONE, pod, thing
from tests.support.parity_plane import Parity

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
COLORS = ("red", "blue")
ZONES = ("a", "b", "c")
BACK_OFF = 12.0  # seconds: longer than the longest delay of a pod that was tried in vain


def peers(color: str, key: str, **more: Any) -> dict[str, Any]:
    return {"topologyKey": key, "labelSelector": {"matchLabels": {"color": color}}, **more}


def affinity(kind: str, *terms: dict[str, Any]) -> dict[str, Any]:
    return {"affinity": {kind: {REQUIRED: list(terms)}}}


def spread(color: str, key: str, **more: Any) -> dict[str, Any]:
    rule = {"maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule", **peers(color, key), **more}
    return {"topologySpreadConstraints": [rule]}


def claims(*names: str) -> dict[str, Any]:
    named = [{"name": n, "persistentVolumeClaim": {"claimName": n}} for n in names]
    return {"volumes": named}


IN_TEAM = {"namespaceSelector": {"matchLabels": {"team": "x"}}}
IN_ZONE_A = {"matchExpressions": [{"key": ZONE, "operator": "In", "values": ["a"]}]}
SPECS: list[dict[str, Any]] = [
    {},
    {"requests": {"cpu": "3"}},
    {"nodeSelector": {"disk": "ssd"}},
    {"tolerations": [{"operator": "Exists"}]},
    {"ports": [{"containerPort": 80, "hostPort": 80}]},
    affinity("podAffinity", peers("red", ZONE)),
    affinity("podAffinity", peers("red", HOST, **IN_TEAM)),
    affinity("podAntiAffinity", peers("red", ZONE)),
    affinity("podAntiAffinity", peers("blue", HOST)),
    {"affinity": {"podAntiAffinity": {PREFERRED: [
        {"weight": 5, "podAffinityTerm": peers("red", ZONE)}]}}},
    spread("red", ZONE),
    spread("blue", HOST, minDomains=3),
    spread("red", ZONE, nodeTaintsPolicy="Honor"),
    {"affinity": {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [IN_ZONE_A]}}}},
    claims("static"),
    claims("made"),
    claims("alone"),
    claims("missing"),
]  # fmt: skip


class World:
    """A plane and random changes of what it sees."""

    specs: Sequence[dict[str, Any]] = SPECS
    nodes = 3

    def __init__(
        self, data: st.DataObject | None, priorities: tuple[int, ...] = (0,), **more: Any
    ) -> None:
        self.data = data
        self.priorities = priorities
        self.plane = Parity(**more)
        self.count = 0
        for item in furniture():
            self.plane.define(item)
        for number in range(self.nodes):
            self.add_node(number)
        self.plane.settle()

    def draw(self, *choices: Any) -> Any:
        assert self.data is not None
        return self.data.draw(st.sampled_from(choices))

    def new_pod(self) -> Pod:
        self.count += 1
        constraints = dict(self.draw(*self.specs))
        space = self.draw("default", "default", "other")
        labels = {"color": self.draw(*COLORS)}
        rank = {"priority": self.draw(*self.priorities)}
        return pod(f"p{self.count}", namespace=space, labels=labels, **constraints, **rank)

    def add_node(self, number: int) -> None:
        body = make_node(f"n{number}", cpu="4", zone=self.draw(*ZONES), pods=4)
        self.plane.store.create(NODE, [body])

    def step(self) -> None:
        actions: list[Callable[[], None]] = [
            self.submit,
            self.submit,
            self.submit,
            self.delete,
            self.relabel_pod,
            self.change_node,
            self.come_or_go,
            self.change_object,
        ]
        self.draw(*actions)()

    def submit(self) -> None:
        self.plane.submit_pod(self.new_pod())

    def delete(self) -> None:
        bound = [r for r in self.plane.store.list(POD).records if r.node]
        if bound:
            gone = self.draw(*bound)
            self.plane.store.delete(POD, [Deletion(gone.namespace, gone.name)])

    def relabel_pod(self) -> None:
        records = self.plane.store.list(POD).records
        if records:
            one = self.draw(*records)
            labels = {"color": self.draw(*COLORS)}
            self.plane.patch(POD, one.name, one.namespace, metadata={"labels": labels})

    def change_node(self) -> None:
        name = f"n{self.draw(0, 1, 2, 3)}"
        taint = {"key": "k", "effect": self.draw("NoSchedule", "PreferNoSchedule")}
        change = self.draw(
            {"metadata": {"labels": {"disk": self.draw("ssd", "hdd")}}},
            {"metadata": {"labels": {ZONE: self.draw(*ZONES)}}},
            {"spec": {"taints": self.draw([], [taint])}},
            {"spec": {"unschedulable": self.draw(True, False)}},
        )
        self.plane.patch(NODE, name, **change)

    def come_or_go(self) -> None:
        number = self.draw(0, 1, 2, 3)
        if self.draw(True, False):
            self.add_node(number)
        else:
            self.plane.store.delete(NODE, [Deletion("", f"n{number}")])

    def change_object(self) -> None:
        team = {"labels": {"team": self.draw("x", "y")}}
        claim = thing("PersistentVolumeClaim", "missing", spec={"storageClassName": "fast"})
        name = self.draw("other", "missing", "static", "disk")
        if name == "other":
            self.plane.patch(kinds.NAMESPACE, "other", metadata=team)
        elif name == "missing" and self.draw(True, False):
            self.plane.store.create(kinds.PERSISTENT_VOLUME_CLAIM, [codec.encode(claim)])
        elif name == "disk":
            self.plane.store.create(
                kinds.PERSISTENT_VOLUME, [codec.encode(disk(f"disk-{self.count}"))]
            )
        else:
            self.plane.store.delete(kinds.PERSISTENT_VOLUME_CLAIM, [Deletion("default", name)])


def disk(name: str) -> Any:
    terms = {"required": {"nodeSelectorTerms": [IN_ZONE_A]}}
    spec = {"capacity": {"storage": "1Gi"}, "storageClassName": "kept", "nodeAffinity": terms}
    spec |= {"accessModes": ["ReadWriteOnce"]}
    return thing("PersistentVolume", name, spec=spec, status={"phase": "Available"})


def furniture() -> list[Any]:
    wait = "WaitForFirstConsumer"
    size = {"resources": {"requests": {"storage": "1Gi"}}}
    once = {"accessModes": ["ReadWriteOnce"]}
    pick = {"accessModes": ["ReadWriteOncePod"]}
    return [
        thing("Namespace", "default", meta={"labels": {"team": "x"}}),
        thing("Namespace", "other", meta={"labels": {"team": "y"}}),
        thing("StorageClass", "fast", provisioner="csi.x", volumeBindingMode=wait),
        thing("StorageClass", "kept", provisioner="kubernetes.io/no-provisioner",
              volumeBindingMode=wait),
        thing("PersistentVolumeClaim", "static", spec={"storageClassName": "kept", **size, **once}),
        thing("PersistentVolumeClaim", "made", spec={"storageClassName": "fast", **size, **once}),
        thing("PersistentVolumeClaim", "alone", spec={"storageClassName": "fast", **size, **pick}),
        disk("disk-0"),
    ]  # fmt: skip


def unhappy(world: World) -> list[str]:
    """Pods that wait although the library would place them, or finds victims for them."""
    library = world.plane.library()
    decided = map(library.decide, world.plane.pending())
    return [
        each.pod.key[1]
        for each in decided
        if each.best or (each.preemption is not None and each.preemption.chosen is not None)
    ]


@settings(max_examples=settings.default.max_examples // 2)
@given(st.data())
def test_the_snapshot_of_a_plane_equals_a_fresh_one(data: st.DataObject) -> None:
    world = World(data)
    for _ in range(data.draw(st.integers(1, 14))):
        world.step()
        world.plane.settle()
    probe = world.new_pod()
    wanted = fields(world.plane.library().decide(probe, thorough=True))
    assert fields(world.plane.live(probe)) == wanted


@settings(max_examples=settings.default.max_examples // 2)
@given(st.data())
def test_a_pod_goes_where_the_library_would_put_it(data: st.DataObject) -> None:
    world = World(data)
    for _ in range(data.draw(st.integers(1, 10))):
        world.step()
        world.plane.settle(BACK_OFF)
    requested = world.new_pod()
    wanted = world.plane.library().decide(requested)
    world.plane.submit_pod(requested)
    world.plane.settle()
    namespace, name, _ = wanted.pod.key
    assert world.plane.node_of(name, namespace) == (wanted.best or [""])[0]
    assert world.plane.said.get(requested.metadata.name, "") == wanted.message


@settings(max_examples=settings.default.max_examples // 2)
@given(st.data(), st.sampled_from([1, 2, 3]))
def test_nothing_that_may_cure_a_pod_is_missed(data: st.DataObject, shards: int) -> None:
    world = World(data, config={"shards": shards})
    for _ in range(data.draw(st.integers(1, 14))):
        world.step()
        world.plane.settle(BACK_OFF)
        assert unhappy(world) == []
    assert world.plane.breaches() == []


@settings(max_examples=settings.default.max_examples // 2)
@given(st.data(), st.sampled_from([1, 2]))
def test_only_permitted_pods_evict_others(data: st.DataObject, shards: int) -> None:
    world = World(data, priorities=(0, 5, 10), config={"shards": shards})
    for _ in range(data.draw(st.integers(1, 14))):
        world.step()
        world.plane.settle(BACK_OFF)
        assert unhappy(world) == []
    probe = world.new_pod()
    wanted = fields(world.plane.library().decide(probe, thorough=True))
    assert fields(world.plane.live(probe)) == wanted
    assert world.plane.breaches() == []


class Crowd(World):
    """Two nodes on which other clients bound pods against the rules, some of them kept alive."""

    nodes = 2
    specs = (
        {"ports": [{"containerPort": 80, "hostPort": 80}]},
        affinity("podAntiAffinity", peers("blue", HOST)),
        spread("red", HOST),
        claims("alone"),
    )

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        super().__init__(None, priorities=(0, 5))
        for node in ("n0", "n1") * 3:
            body, held = self.new_pod(), self.draw((), ("example.com/held",))
            spec = msgspec.structs.replace(body.spec, node_name=node)
            meta = msgspec.structs.replace(body.metadata, finalizers=held)
            self.plane.define(msgspec.structs.replace(body, spec=spec, metadata=meta))

    def draw(self, *choices: Any) -> Any:
        return choices[self.rng.integers(len(choices))]

    def refused(self) -> int:
        counts = self.plane.plane.evictor.counts
        return sum(counts[cause.value] for cause in ConflictCause)


@settings(max_examples=settings.default.max_examples // 2)
@given(st.integers(0, 1 << 32))
def test_the_judge_admits_every_preemption_that_the_search_finds(seed: int) -> None:
    world = Crowd(seed)
    for _ in range(6):
        world.draw(world.submit, world.submit, world.delete)()
        world.plane.settle(BACK_OFF)
    assert (world.refused(), world.plane.breaches()) == (0, [])
