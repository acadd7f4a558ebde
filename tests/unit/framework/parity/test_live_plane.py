"""A whole plane under kube-parity: gangs, shards, volumes and victims by kube-scheduler's rules."""

from collections.abc import Sequence
from typing import Any

import pytest

from stretto.api.types.storage import BIND_COMPLETED, SELECTED_NODE
from stretto.api.wire import kinds
from stretto.api.wire.kinds import PERSISTENT_VOLUME, PERSISTENT_VOLUME_CLAIM, POD, Kind
from stretto.base.clock import ManualClock
from stretto.base.errors import InputError, UnknownNameError
from stretto.base.rng import Rng
from stretto.control.binder.volumes import LONGEST_WAIT
from stretto.framework.profile.profile import load_profile
from stretto.state.work.claims import ConflictCause
from stretto.stores.capabilities import Capabilities
from stretto.stores.embedded.memory import MemoryStore
from stretto.stores.store import Patch, Replies, Reply, StatusReason, WriteOutcome
from stretto.testing import make_node, make_pod
from stretto_lab.conformance.kube_cases import fields
from tests.support.parity_cluster import HOST, ZONE, pod, thing
from tests.support.parity_plane import Parity

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
WAIT = "WaitForFirstConsumer"
LONG = 30.0


def alone(key: str) -> dict[str, Any]:
    term = {"topologyKey": key, "labelSelector": {"matchLabels": {"app": "x"}}}
    return {"labels": {"app": "x"}, "affinity": {"podAntiAffinity": {REQUIRED: [term]}}}


def with_claim(name: str) -> dict[str, Any]:
    return {"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": name}}]}


def claim(name: str, of: str, mode: str = "ReadWriteOnce") -> Any:
    size = {"requests": {"storage": "1Gi"}}
    spec = {"storageClassName": of, "accessModes": [mode], "resources": size}
    return thing("PersistentVolumeClaim", name, spec=spec)


def disk(name: str, zone: str) -> Any:
    rule = {"key": ZONE, "operator": "In", "values": [zone]}
    nodes = {"required": {"nodeSelectorTerms": [{"matchExpressions": [rule]}]}}
    spec = {"capacity": {"storage": "1Gi"}, "storageClassName": "kept", "nodeAffinity": nodes}
    spec["accessModes"] = ["ReadWriteOnce"]
    return thing("PersistentVolume", name, spec=spec, status={"phase": "Available"})


def classes() -> list[Any]:
    kept = "kubernetes.io/no-provisioner"
    return [
        thing("StorageClass", "kept", provisioner=kept, volumeBindingMode=WAIT),
        thing("StorageClass", "made", provisioner="csi.x", volumeBindingMode=WAIT),
    ]


def zones(count: int = 2, cpu: str = "4") -> list[bytes]:
    return [make_node(f"{z}1", zone=z, cpu=cpu) for z in "abcdef"[:count]]


def furnished(*items: Any, **more: Any) -> Parity:
    plane = Parity(*zones(), **more)
    for item in (*classes(), *items):
        plane.define(item)
    plane.settle()
    return plane


class RefusingStore(MemoryStore):
    """A store that answers the first patches of a resource as configured."""

    def __init__(self) -> None:
        super().__init__(ManualClock(), Rng(0))
        self.refusals: dict[Kind, list[Reply]] = {}
        self.order: list[str] = []

    def patch(self, kind: Kind, patches: Sequence[Patch]) -> Replies:
        self.order.append(kind.kind)
        refusals = self.refusals.get(kind)
        return [refusals.pop(0)] if refusals else super().patch(kind, patches)

    def bind(self, binds: Any) -> Replies:
        self.order.append("Binding")
        return super().bind(binds)


# ---------------------------------------------------------------- the profile


def test_the_profile_reads_what_kube_scheduler_reads_and_counts_devices_as_amounts() -> None:
    profile = load_profile("kube-parity")
    assert profile.exact
    assert {kinds.NAMESPACE, PERSISTENT_VOLUME_CLAIM, kinds.SERVICE} <= set(profile.kinds)
    assert load_profile("default").exact is False


def test_unknown_rules_are_refused_with_their_path() -> None:
    with pytest.raises((InputError, UnknownNameError), match="rules"):
        load_profile({"profiles": [{"stretto": {"rules": "exatc"}}]})


def test_plugins_cannot_be_set_where_the_rules_are_fixed() -> None:
    plugins = {"score": {"disabled": [{"name": "*"}]}}
    with pytest.raises(InputError, match="plugins"):
        load_profile({"profiles": [{"plugins": plugins, "stretto": {"rules": "exact"}}]})


def test_a_gpu_is_an_amount_like_any_other() -> None:
    plane = Parity(make_node("n1", gpus=2))
    plane.submit(*(make_pod(f"p{i}", gpus=1) for i in range(3)))
    plane.settle()
    assert sorted(plane.placements().values()) == ["", "n1", "n1"]
    assert "Insufficient nvidia.com/gpu" in plane.said["p2"]


# ---------------------------------------------------------------- gangs and shards


def test_a_gang_that_is_short_leaves_no_trace_on_the_snapshot() -> None:
    plane = furnished(claim("data", "made"))
    plane.group("g", 3)
    members = [make_pod(f"g{i}", cpu="3", group="g") for i in range(2)]
    spec = with_claim("data")
    plane.submit(*members, make_pod("g2", cpu="3", group="g", spec=spec))
    plane.settle()
    probe = pod("probe", requests={"cpu": "1"}, **spec)
    assert set(plane.placements().values()) == {""}
    wanted = fields(plane.library().decide(probe, thorough=True))
    assert fields(plane.live(probe)) == wanted


def test_a_gang_is_placed_as_a_whole_once_capacity_is_free() -> None:
    plane = furnished()
    plane.group("g", 3)
    plane.submit(*(make_pod(f"g{i}", cpu="3", group="g") for i in range(3)))
    plane.settle()
    plane.create(kinds.NODE, make_node("c1", cpu="4"))
    plane.settle(LONG)
    assert sorted(plane.placements().values()) == ["a1", "b1", "c1"]


@pytest.mark.parametrize("shards", [2, 3])
def test_shards_together_never_break_what_each_has_kept(shards: int) -> None:
    plane = Parity(*zones(3), config={"shards": shards, "batch": 2})
    for number in range(6):
        plane.submit_pod(pod(f"p{number}", **alone(ZONE)))
    plane.settle(LONG)
    assert sorted(filter(None, plane.placements().values())) == ["a1", "b1", "c1"]
    assert plane.breaches() == []


def test_two_shards_never_give_one_claim_to_two_pods() -> None:
    plane = furnished(claim("data", "made", "ReadWriteOncePod"), config={"shards": 2, "batch": 1})
    for number in range(4):
        plane.submit_pod(pod(f"p{number}", **with_claim("data")))
    plane.settle(LONG)
    assert len(list(filter(None, plane.placements().values()))) == 1


# ---------------------------------------------------------------- volumes


def test_a_waiting_claim_keeps_its_volume_before_the_pod_is_bound() -> None:
    store = RefusingStore()
    plane = furnished(claim("data", "kept"), disk("disk", "b"), store=store)
    plane.submit_pod(pod(**with_claim("data")))
    plane.settle()
    volume = plane.plane.cluster.objects.volumes["disk"]
    assert (plane.node_of("p"), store.order) == ("b1", ["PersistentVolume", "Binding"])
    assert volume.spec.claim_ref is not None
    assert (volume.spec.claim_ref.name, plane.library().snapshot.objects.volumes["disk"]) == (
        "data",
        volume,
    )


def test_a_claim_with_a_provisioned_volume_gets_the_node_first() -> None:
    store = RefusingStore()
    plane = furnished(claim("data", "made"), store=store)
    plane.submit_pod(pod(**with_claim("data")))
    plane.settle()
    found = plane.library().snapshot.objects.pvcs["default", "data"]
    assert found.metadata.annotations[SELECTED_NODE] == plane.node_of("p") == "a1"
    assert store.order == ["PersistentVolumeClaim", "Binding"]


@pytest.mark.parametrize(
    "outcome", [WriteOutcome.CONFLICT, WriteOutcome.REFUSED, WriteOutcome.UNKNOWN]
)
def test_a_volume_that_is_lost_sends_the_pod_back_and_it_is_tried_again(
    outcome: WriteOutcome,
) -> None:
    store = RefusingStore()
    plane = furnished(claim("data", "kept"), disk("disk", "b"), store=store)
    store.refusals[PERSISTENT_VOLUME] = [Reply(outcome, StatusReason.CONFLICT)]
    plane.submit_pod(pod(**with_claim("data")))
    plane.plane.step()
    assert (plane.node_of("p"), "Binding" in store.order) == ("", False)
    plane.settle(LONG)
    assert (plane.node_of("p"), plane.breaches()) == ("b1", [])


def test_a_gang_that_loses_a_volume_goes_back_whole() -> None:
    store = RefusingStore()
    plane = furnished(claim("data", "made"), store=store)
    plane.group("g", 2)
    store.refusals[PERSISTENT_VOLUME_CLAIM] = [Reply(WriteOutcome.CONFLICT, StatusReason.CONFLICT)]
    plane.submit(make_pod("g0", group="g"), make_pod("g1", group="g", spec=with_claim("data")))
    plane.plane.step()
    assert set(plane.placements().values()) == {""}
    plane.settle(LONG)
    assert "" not in plane.placements().values()


def test_a_crashed_binder_keeps_no_volume_reserved() -> None:
    plane = furnished(claim("data", "made"))
    plane.plane.restart_binder(0.0)
    plane.submit_pod(pod(**with_claim("data")))
    plane.settle()
    assert plane.node_of("p") == "a1"


# ---------------------------------------------------------------- victims


def full(name: str, node: str, priority: int = 0, **more: Any) -> bytes:
    return make_pod(name, node=node, cpu="4", priority=priority, **more)


def held(plane: Parity, name: str) -> None:
    """A pod that does not terminate."""
    plane.patch(POD, name, metadata={"finalizers": ["x/y"]})


def crowded() -> Parity:
    """Two full nodes; the pod on a1 is the one to go, and it takes its time."""
    plane = Parity(*zones())
    plane.submit(full("low", "a1"), full("high", "b1", 5))
    plane.settle()
    held(plane, "low")
    plane.submit_pod(pod("big", requests={"cpu": "3"}, priority=10))
    plane.settle()
    return plane


def test_a_preemptor_waits_for_its_victim_and_is_bound_when_it_has_gone() -> None:
    plane = crowded()
    record = plane.store.get(POD, "default", "low")
    assert record is not None
    assert (plane.node_of("big"), bool(record.deleting)) == ("", True)
    plane.patch(POD, "low", metadata={"finalizers": None})
    plane.settle(1.0)
    assert plane.node_of("big") == "a1"


def test_reserved_capacity_is_closed_to_pods_of_lower_priority() -> None:
    plane = crowded()
    plane.submit_pod(pod("small", requests={"cpu": "3"}, priority=3))
    plane.patch(POD, "low", metadata={"finalizers": None})
    plane.settle(LONG)
    assert (plane.node_of("big"), plane.node_of("small")) == ("a1", "")


def test_reserved_capacity_does_not_block_a_pod_of_higher_priority() -> None:
    plane = crowded()
    plane.submit_pod(pod("vip", requests={"cpu": "3"}, priority=20))
    plane.settle(1.0)
    plane.patch(POD, "low", metadata={"finalizers": None})
    plane.settle(LONG)
    assert (plane.node_of("vip"), plane.node_of("big")) == ("a1", "b1")


def test_evicting_a_victim_satisfies_rules_that_no_amount_expresses() -> None:
    plane = Parity(*zones())
    running = [make_pod(f"x{z}", node=f"{z}1", labels={"app": "x"}, priority=1) for z in "ab"]
    plane.submit(*running)
    plane.settle()
    plane.submit_pod(pod(priority=10, **alone(HOST)))
    plane.settle(1.0)
    assert plane.node_of("p") == "a1"
    assert sorted(plane.placements()) == ["p", "xb"]


def test_a_pod_that_must_not_preempt_reports_it() -> None:
    plane = Parity(*zones())
    plane.submit(full("low", "a1"), full("lower", "b1", -1))
    plane.submit_pod(pod(requests={"cpu": "3"}, priority=10, preemptionPolicy="Never"))
    plane.settle()
    assert plane.said["p"].endswith("preemption: not eligible due to preemptionPolicy=Never.")


def test_two_preemptors_of_one_cycle_take_two_nodes() -> None:
    plane = Parity(*zones())
    plane.submit(full("low", "a1"), full("lower", "b1"))
    plane.settle()
    for name in ("one", "two"):
        plane.submit_pod(pod(name, requests={"cpu": "3"}, priority=10))
    plane.settle(LONG)
    assert sorted(plane.placements().values()) == ["a1", "b1"]
    assert plane.breaches() == []


# ---------------------------------------------------------------- claims that others complete


class Attended(RefusingStore):
    """A store with a volume controller, which the test plays."""

    capabilities = Capabilities(completes_claims=True)

    def bind_claim(self, name: str, volume: str) -> None:
        done = {"annotations": {BIND_COMPLETED: "yes"}}
        change = {"metadata": done, "spec": {"volumeName": volume}}
        super().patch(PERSISTENT_VOLUME_CLAIM, [Patch("default", name, change)])

    def unselect(self, name: str) -> None:
        nothing = {"metadata": {"annotations": {SELECTED_NODE: None}}}
        super().patch(PERSISTENT_VOLUME_CLAIM, [Patch("default", name, nothing)])


def attended(*items: Any) -> tuple[Parity, Attended]:
    store = Attended()
    plane = furnished(*items, store=store)
    plane.submit_pod(pod(**with_claim("data")))
    plane.settle()
    return plane, store


def test_a_pod_waits_until_its_claim_is_bound() -> None:
    plane, store = attended(claim("data", "kept"), disk("disk", "b"))
    assert plane.node_of("p") == ""
    store.bind_claim("data", "disk")
    plane.settle()
    assert plane.node_of("p") == "b1"


def test_a_pod_whose_volume_cannot_be_made_is_scheduled_again() -> None:
    plane, store = attended(claim("data", "made"))
    plane.patch(kinds.NODE, "a1", spec={"unschedulable": True})
    store.unselect("data")
    plane.settle(LONG)
    found = plane.library().snapshot.objects.pvcs["default", "data"]
    assert found.metadata.annotations[SELECTED_NODE] == "b1"
    assert plane.breaches() == []


def test_waiting_for_a_volume_times_out() -> None:
    plane, _ = attended(claim("data", "made"))
    plane.settle(LONGEST_WAIT - 1)
    late = ConflictCause.VOLUME_TIMED_OUT.value
    assert plane.plane.binder.counts[late] == 0
    plane.settle(2.0)
    assert plane.plane.binder.counts[late] == 1
    ((_, words),) = plane.plane.cluster.objects.wait_timeouts.values()
    assert words.startswith("waited 600 s for volumes on node ")
    assert words.endswith(
        "has not provisioned PVC data (class made); see kubectl describe pvc data -n default"
    )


def test_a_new_binder_waits_for_the_claims_that_the_old_one_waited_for() -> None:
    plane, store = attended(claim("data", "kept"), disk("disk", "b"))
    plane.plane.restart_binder(plane.clock.monotonic())
    plane.settle(LONG)
    assert plane.node_of("p") == ""
    store.bind_claim("data", "disk")
    plane.settle()
    assert plane.node_of("p") == "b1"


def test_a_preemptor_gets_its_volume_when_its_victim_has_gone() -> None:
    store = RefusingStore()
    plane = furnished(claim("data", "kept"), disk("disk", "b"), store=store)
    plane.submit(full("low", "b1"))
    plane.settle()
    plane.submit_pod(pod("big", requests={"cpu": "3"}, priority=10, **with_claim("data")))
    plane.settle(1.0)
    kept = plane.library().snapshot.objects.volumes["disk"].spec.claim_ref
    assert plane.node_of("big") == "b1"
    assert kept is not None
    assert kept.name == "data"
