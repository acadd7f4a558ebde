"""One pool: pods, gangs and offers share one ledger."""

from typing import Any

import msgspec

from stretto.api.wire.kinds import NODE, POD, QUEUE
from stretto.offers.allocator.subjects.settings import MESOS
from stretto.stores.store import Patch
from stretto.testing import make_pod
from tests.support.mesos import scalar
from tests.support.offered_nodes import SCHEDULER, PoolBench, node


def pod(name: str, cpu: str, **more: Any) -> bytes:
    return make_pod(name, cpu=cpu, scheduler=SCHEDULER, **more)


def queue(name: str, **spec: Any) -> bytes:
    return msgspec.json.encode(
        {
            "apiVersion": QUEUE.api_version,
            "kind": "Queue",
            "metadata": {"name": name},
            "spec": spec,
        }
    )


def amounts(offer: dict[str, Any]) -> dict[str, float]:
    return {e["name"]: e["scalar"]["value"] for e in offer["resources"]}


def nodes_of(bench: PoolBench) -> dict[str, str | None]:
    return {p["metadata"]["name"]: p["spec"].get("nodeName") for p in bench.pods()}


def test_the_free_capacity_of_a_node_is_offered() -> None:
    bench = PoolBench(node("n1", cpu="4", memory="2Gi"))
    bench.create(POD, pod("p", "1500m", memory="512Mi"))
    bench.settle()
    bench.subscribe()
    bench.settle()
    assert amounts(bench.offer()) == {"cpus": 2.5, "mem": 1536}


def test_labels_are_attributes_and_zone_and_region_the_fault_domain() -> None:
    labels = {"topology.kubernetes.io/region": "eu", "rack": "k1"}
    bench = PoolBench(node("n1", zone="eu-a", labels=labels), region="eu", zone="eu-a")
    bench.subscribe()
    bench.settle()
    offer = bench.offer()
    assert {"name": "rack", "type": "TEXT", "text": {"value": "k1"}} in offer["attributes"]
    domain = {"region": {"name": "eu"}, "zone": {"name": "eu-a"}}
    assert offer["domain"] == {"fault_domain": domain}


def test_no_pod_takes_what_is_offered() -> None:
    bench = PoolBench(node("n1"))
    bench.subscribe()
    bench.settle()
    bench.create(POD, pod("p", "1"))
    bench.settle()
    assert nodes_of(bench) == {"p": None}


def test_a_pod_starts_on_what_is_declined() -> None:
    bench = PoolBench(node("n1"))
    framework = bench.subscribe()
    bench.settle()
    bench.create(POD, pod("p", "1"))
    bench.settle()
    bench.call(framework, "DECLINE", offer_ids=[bench.offer()["id"]])
    bench.settle()
    assert nodes_of(bench) == {"p": "n1"}


def test_a_pod_starts_on_an_offer_that_is_out_of_time() -> None:
    bench = PoolBench(node("n1"), offer_timeout=10.0, timed_out_refuse=5.0)
    bench.subscribe()
    bench.settle()
    bench.create(POD, pod("p", "1"))
    bench.wait(11)
    assert nodes_of(bench) == {"p": "n1"}


def test_a_pod_that_ends_is_offered() -> None:
    bench = PoolBench(node("n1"))
    bench.create(POD, pod("p", "4", memory="4Gi"))
    bench.settle()
    bench.subscribe()
    bench.settle()
    assert bench.offers() == []
    bench.delete(POD, "p", "default")
    bench.wait(1)
    assert amounts(bench.offer())["cpus"] == 4


def test_a_tainted_node_is_not_offered() -> None:
    taint = {"key": "dedicated", "effect": "NoSchedule"}
    bench = PoolBench(node("n1", taints=[taint]))
    bench.subscribe()
    bench.settle()
    assert bench.offers() == []


def cordon(bench: PoolBench, is_cordoned: bool) -> None:
    bench.store.patch(NODE, [Patch("", "n1", {"spec": {"unschedulable": is_cordoned}})])
    bench.wait(1)


def test_a_cordon_is_maintenance() -> None:
    bench = PoolBench(node("n1"))
    framework = bench.subscribe()
    bench.settle()
    bench.start(framework, "t")
    cordon(bench, True)
    kinds = [event["type"] for event in bench.events]
    assert "INVERSE_OFFERS" in kinds
    bench.wait(10)
    assert len(bench.offers()) == 1


def test_the_end_of_a_cordon_offers_the_node_again() -> None:
    bench = PoolBench(node("n1"))
    bench.subscribe()
    bench.settle()
    cordon(bench, True)
    assert [e["type"] for e in bench.events][-1] == "RESCIND"
    cordon(bench, False)
    assert len(bench.offers()) == 2


def test_the_limit_of_a_queue_binds_its_role() -> None:
    bench = PoolBench(node("n1"), allocation=MESOS)
    bench.create(QUEUE, queue("web", limit={"cpu": "3"}))
    bench.create(POD, pod("p", "1", labels={"stretto.dev/queue": "web"}))
    bench.settle()
    bench.subscribe(roles=["web"], capabilities=[{"type": "MULTI_ROLE"}])
    bench.settle()
    assert amounts(bench.offer())["cpus"] == 2


def test_offers_count_for_the_limit_of_a_queue() -> None:
    bench = PoolBench(node("n1"), node("n2"))
    bench.create(QUEUE, queue("web", limit={"cpu": "3", "memory": "1Gi"}))
    bench.settle()
    bench.subscribe(roles=["web"], capabilities=[{"type": "MULTI_ROLE"}])
    bench.settle()
    bench.create(POD, pod("p", "1", labels={"stretto.dev/queue": "web"}), pod("q", "1"))
    bench.settle()
    assert nodes_of(bench)["p"] is None
    assert nodes_of(bench)["q"] is not None


def test_a_nested_queue_is_a_nested_role() -> None:
    bench = PoolBench(node("n1"))
    bench.create(QUEUE, queue("org"), queue("team", parent="org", limit={"cpu": "1"}))
    bench.settle()
    bench.subscribe(roles=["org/team"], capabilities=[{"type": "MULTI_ROLE"}])
    bench.settle()
    assert amounts(bench.offer())["cpus"] == 1


def test_reclaim_rescinds_offers_before_it_evicts() -> None:
    bench = PoolBench(node("n1"))
    bench.create(QUEUE, queue("sure", guarantee={"cpu": "4"}), queue("other"))
    bench.create(POD, pod("old", "1", labels={"stretto.dev/queue": "other"}))
    bench.settle()
    bench.subscribe(roles=["other"], capabilities=[{"type": "MULTI_ROLE"}])
    bench.settle()
    bench.create(POD, pod("new", "2", labels={"stretto.dev/queue": "sure"}))
    for _ in range(4):
        bench.wait(1)
    assert nodes_of(bench) == {"old": "n1", "new": "n1"}


def test_a_pod_of_higher_priority_takes_an_offer_before_a_pod() -> None:
    bench = PoolBench(node("n1"))
    bench.create(POD, pod("old", "1"))
    bench.settle()
    bench.subscribe()
    bench.settle()
    bench.create(POD, pod("new", "2", priority=100))
    for _ in range(4):
        bench.wait(1)
    assert nodes_of(bench) == {"old": "n1", "new": "n1"}
    assert "RESCIND" in [event["type"] for event in bench.events]


def test_tasks_are_preempted_like_pods() -> None:
    bench = PoolBench(node("n1"))
    framework = bench.subscribe()
    bench.settle()
    bench.start(framework, "t", cpus=4.0)
    bench.acknowledge(framework)
    bench.create(POD, pod("new", "2", priority=100))
    for _ in range(4):
        bench.wait(1)
    assert nodes_of(bench) == {"new": "n1"}
    assert bench.statuses()[-1] == ("t", "TASK_FAILED")


def test_only_the_offer_of_a_node_that_a_pod_may_use_is_rescinded() -> None:
    bench = PoolBench(node("n1"), node("n2", labels={"disk": "fast"}))
    bench.subscribe()
    bench.settle()
    bench.create(POD, pod("p", "2", priority=100, spec={"nodeSelector": {"disk": "fast"}}))
    for _ in range(4):
        bench.wait(1)
    assert nodes_of(bench) == {"p": "n2"}
    assert [event["type"] for event in bench.events].count("RESCIND") == 1


def reserve(bench: PoolBench, framework: str, cpus: float) -> None:
    """Reserve CPUs of the last offer, and decline the rest."""
    mine = {"type": "DYNAMIC", "role": bench.offer()["allocation_info"]["role"], "principal": "p"}
    item = scalar("cpus", cpus) | {"reservations": [mine]}
    operation = {"type": "RESERVE", "reserve": {"resources": [item]}}
    bench.call(framework, "ACCEPT", offer_ids=[bench.offer()["id"]], operations=[operation])
    bench.call(framework, "SUPPRESS")
    bench.settle()


def refined(role: str) -> dict[str, Any]:
    capabilities = [{"type": "MULTI_ROLE"}, {"type": "RESERVATION_REFINEMENT"}]
    return {"principal": "p", "roles": [role], "capabilities": capabilities}


def test_a_task_that_uses_a_reservation_is_not_preempted() -> None:
    bench = PoolBench(node("n1"))
    framework = bench.subscribe(**refined("a"))
    bench.settle()
    reserve(bench, framework, 3)
    bench.call(framework, "REVIVE")
    bench.settle()
    mine = {"type": "DYNAMIC", "role": "a", "principal": "p"}
    cpus = scalar("cpus", 3) | {"reservations": [mine]}
    bench.start(framework, "t", resources=[cpus, scalar("mem", 32)])
    bench.create(POD, pod("new", "2", priority=100))
    for _ in range(4):
        bench.wait(1)
    (task,) = [name for name in nodes_of(bench) if name != "new"]
    assert nodes_of(bench) == {task: "n1", "new": None}


def test_a_reservation_that_nothing_uses_counts_for_its_queue() -> None:
    bench = PoolBench(node("n1"))
    bench.create(QUEUE, queue("a", limit={"cpu": "4"}))
    framework = bench.subscribe(**refined("a"))
    bench.settle()
    reserve(bench, framework, 3)
    bench.create(NODE, node("n2"))
    bench.create(POD, pod("p", "2", labels={"stretto.dev/queue": "a"}))
    bench.wait(10)
    assert nodes_of(bench) == {"p": None}


def test_what_a_node_has_less_of_than_is_reserved_is_rescinded_once() -> None:
    bench = PoolBench(node("n1"))
    framework = bench.subscribe(**refined("a"))
    bench.settle()
    reserve(bench, framework, 3)
    bench.call(framework, "REVIVE")
    bench.resize("n1", cpu="2")
    bench.wait(10)
    assert bench.pool is not None
    assert not bench.master.is_cycle_due
    assert len([each for each in bench.events if each["type"] == "RESCIND"]) == 1


def test_what_was_reserved_of_a_deleted_node_counts_for_no_queue() -> None:
    bench = PoolBench(node("n1"))
    bench.create(QUEUE, queue("a", limit={"cpu": "4"}))
    framework = bench.subscribe(**refined("a"))
    bench.settle()
    reserve(bench, framework, 3)
    bench.create(NODE, node("n2"))
    bench.delete(NODE, "n1")
    bench.create(POD, pod("p", "2", labels={"stretto.dev/queue": "a"}))
    bench.wait(10)
    assert nodes_of(bench) == {"p": "n2"}


def test_an_offered_volume_takes_its_size_of_the_node() -> None:
    bench = PoolBench(node("n1", resources={"ephemeral-storage": "1Gi"}))
    framework = bench.subscribe(**refined("a"))
    bench.settle()
    mine = {"type": "DYNAMIC", "role": "a", "principal": "p"}
    disk = scalar("disk", 256) | {"reservations": [mine]}
    volume = disk | {
        "disk": {
            "persistence": {"id": "v", "principal": "p"},
            "volume": {"container_path": "d", "mode": "RW"},
        }
    }
    operations = [
        {"type": "RESERVE", "reserve": {"resources": [disk]}},
        {"type": "CREATE", "create": {"volumes": [volume]}},
    ]
    filters = {"refuse_seconds": 0.0}
    offers = [bench.offer()["id"]]
    bench.call(framework, "ACCEPT", offer_ids=offers, operations=operations, filters=filters)
    bench.wait(2)
    assert any("disk" in each for each in bench.offer()["resources"])
    assert bench.pool is not None
    ledger = bench.pool.plane.cluster.ledger
    column = ledger.resources.column("ephemeral-storage")
    assert ledger.used[0, column] == ledger.alloc[0, column]
