"""GPUs, host ports and ephemeral storage of nodes, offered and used."""

from typing import Any

import pytest

from stretto.api.wire.kinds import POD, QUEUE
from stretto.base.errors import InputError
from stretto.offers.nodes.amounts import read_ports
from stretto.offers.nodes.pods import PodSettings
from stretto.testing import make_pod
from tests.support.mesos import Body, scalar, task
from tests.support.offered_nodes import SCHEDULER, PoolBench, node
from tests.unit.offers.nodes.test_pool import nodes_of, pod, queue

GPU = "nvidia.com/gpu"
WITH_GPUS = {"capabilities": [{"type": "GPU_RESOURCES"}]}
PORTS = PodSettings(scheduler=SCHEDULER, ports=((20000, 20003),))


def offered(offer: Body) -> dict[str, Any]:
    """Amounts and ranges of an offer by name."""
    return {
        each["name"]: each["scalar"]["value"]
        if "scalar" in each
        else [(r["begin"], r["end"]) for r in each["ranges"]["range"]]
        for each in offer["resources"]
    }


def ports(first: int, last: int) -> Body:
    return {
        "name": "ports",
        "type": "RANGES",
        "ranges": {"range": [{"begin": first, "end": last}]},
    }


def started(bench: PoolBench, *more: Body, container: Body | None = None, **info: Any) -> str:
    """A framework that has started a task with these resources on the first offer."""
    framework = bench.subscribe(**info)
    bench.settle()
    resources = [scalar("cpus", 1), scalar("mem", 32), *more]
    extra = {} if container is None else {"container": container}
    bench.start(framework, "t", resources=resources, **extra)
    return framework


def container_of(bench: PoolBench) -> Body:
    (found,) = bench.pods()
    container: Body = found["spec"]["containers"][0]
    return container


# ------------------------------------------------------------ GPUs


def test_gpus_are_offered_to_frameworks_that_use_them() -> None:
    bench = PoolBench(node("n1", gpus=4))
    bench.subscribe(**WITH_GPUS)
    bench.settle()
    assert offered(bench.offer())["gpus"] == 4


def test_a_node_with_gpus_is_not_offered_to_others() -> None:
    bench = PoolBench(node("n1", gpus=4))
    bench.subscribe()
    bench.settle()
    assert bench.offers() == []


def test_a_gpu_of_which_a_pod_has_a_share_is_not_offered() -> None:
    bench = PoolBench(node("n1", gpus=2))
    bench.create(POD, pod("p", "1", gpus=1, gpu_milli=300))
    bench.settle()
    bench.subscribe(**WITH_GPUS)
    bench.settle()
    assert offered(bench.offer())["gpus"] == 1


def test_no_pod_takes_a_gpu_that_is_offered() -> None:
    bench = PoolBench(node("n1", gpus=1))
    bench.subscribe(**WITH_GPUS)
    bench.settle()
    bench.create(POD, pod("p", "0", gpus=1))
    bench.settle()
    assert nodes_of(bench) == {"p": None}


def test_a_task_with_gpus_is_a_pod_that_requests_them() -> None:
    bench = PoolBench(node("n1", gpus=4))
    started(bench, scalar("gpus", 3), **WITH_GPUS)
    assert container_of(bench)["resources"]["requests"][GPU] == "3"
    assert container_of(bench)["resources"]["limits"][GPU] == "3"
    bench.wait(10)
    assert offered(bench.offer())["gpus"] == 1


def test_tasks_that_start_together_have_gpus_of_their_own() -> None:
    bench = PoolBench(node("n1", gpus=4))
    framework = bench.subscribe(**WITH_GPUS)
    bench.settle()
    info = task("t1", bench.offer()["agent_id"]["value"])
    info["resources"] += [scalar("gpus", 2)]
    bench.launch(framework, info, info | {"task_id": {"value": "t2"}})
    bench.create(POD, pod("p", "0", gpus=1, gpu_milli=300, memory="0"))
    bench.settle()
    assert nodes_of(bench)["p"] is None


def test_the_gpus_of_a_task_are_free_after_its_end() -> None:
    bench = PoolBench(node("n1", gpus=4))
    framework = started(bench, scalar("gpus", 4), **WITH_GPUS)
    bench.call(framework, "SUPPRESS")
    bench.set_phase(bench.pods()[0]["metadata"]["name"], "Succeeded", terminated={"exitCode": 0})
    bench.create(POD, pod("p", "0", gpus=4, memory="0"))
    bench.settle()
    assert nodes_of(bench)["p"] == "n1"


def test_offered_gpus_are_taken_for_a_pod_of_higher_priority() -> None:
    bench = PoolBench(node("n1", gpus=2))
    bench.subscribe(**WITH_GPUS)
    bench.settle()
    bench.create(POD, pod("p", "0", gpus=2, priority=10))
    bench.settle()
    assert nodes_of(bench) == {"p": "n1"}


def test_the_limit_of_a_queue_binds_offered_gpus() -> None:
    bench = PoolBench(node("n1", gpus=4))
    bench.create(QUEUE, queue("ml", limit={GPU: "3"}))
    bench.subscribe(role="ml", **WITH_GPUS)
    bench.settle()
    assert offered(bench.offer())["gpus"] == 3


def test_gpus_that_a_node_loses_are_no_longer_offered() -> None:
    bench = PoolBench(node("n1", gpus=4))
    bench.subscribe(**WITH_GPUS)
    bench.settle()
    bench.resize("n1", **{GPU: "2"})
    assert [e["type"] for e in bench.events if e["type"] == "RESCIND"] == ["RESCIND"]
    assert offered(bench.offer())["gpus"] == 2


def gpus_held(bench: PoolBench) -> int:
    """GPUs that offers and tasks hold on the only node."""
    allocator = bench.master.state.allocator
    (agent,) = bench.master.state.agents
    held = allocator.holdings(agent.id).values()
    return sum(dict(each.quantities).get("gpus", 0) for each in held) // 1000


def test_a_task_keeps_gpus_that_its_node_has_lost_and_none_is_offered() -> None:
    bench = PoolBench(node("n1", gpus=4))
    started(bench, scalar("gpus", 3), **WITH_GPUS)
    bench.resize("n1", **{GPU: "2"})
    bench.wait(10)
    assert (len(bench.pods()), gpus_held(bench)) == (1, 3)


def test_the_gpus_that_are_left_are_offered_once_the_task_has_ended() -> None:
    bench = PoolBench(node("n1", gpus=4))
    framework = started(bench, scalar("gpus", 3), **WITH_GPUS)
    bench.resize("n1", **{GPU: "2"})
    bench.set_phase(bench.pods()[0]["metadata"]["name"], "Succeeded", terminated={"exitCode": 0})
    bench.acknowledge(framework)
    bench.wait(10)
    assert gpus_held(bench) == 2


def test_gpus_lost_beside_a_task_are_taken_from_the_offer() -> None:
    bench = PoolBench(node("n1", gpus=4))
    started(bench, scalar("gpus", 2), **WITH_GPUS)
    bench.wait(10)
    assert gpus_held(bench) == 4
    bench.resize("n1", **{GPU: "3"})
    bench.wait(10)
    assert gpus_held(bench) == 3


# ------------------------------------------------------------ ports


def test_the_free_ports_of_the_range_are_offered() -> None:
    bench = PoolBench(node("n1"), pods=PORTS)
    bench.create(POD, pod("p", "0", ports=[20001, 80]))
    bench.settle()
    bench.subscribe()
    bench.settle()
    assert offered(bench.offer())["ports"] == [(20000, 20000), (20002, 20003)]


def test_a_pod_waits_for_a_port_that_is_offered() -> None:
    bench = PoolBench(node("n1"), pods=PORTS)
    framework = bench.subscribe()
    bench.settle()
    bench.create(POD, make_pod("p", cpu="0", memory="0", ports=[20002], scheduler=SCHEDULER))
    bench.settle()
    assert nodes_of(bench) == {"p": None}
    bench.call(framework, "SUPPRESS")
    bench.call(framework, "DECLINE", offer_ids=[bench.offer()["id"]])
    bench.settle()
    assert nodes_of(bench) == {"p": "n1"}


def test_ports_of_a_task_are_host_ports_of_its_pod() -> None:
    bench = PoolBench(node("n1"), pods=PORTS)
    started(bench, ports(20001, 20002))
    listed = container_of(bench)["ports"]
    assert [(each["hostPort"], each["containerPort"]) for each in listed] == [
        (20001, 20001),
        (20002, 20002),
    ]
    bench.wait(10)
    assert offered(bench.offer())["ports"] == [(20000, 20000), (20003, 20003)]


def test_a_port_mapping_leads_to_a_port_of_the_container() -> None:
    bench = PoolBench(node("n1"), pods=PORTS)
    mapping = {"host_port": 20001, "container_port": 53, "protocol": "udp"}
    docker = {"image": "dns", "network": "BRIDGE", "port_mappings": [mapping]}
    started(bench, ports(20001, 20001), container={"type": "DOCKER", "docker": docker})
    expected = {"containerPort": 53, "hostPort": 20001, "protocol": "UDP"}
    assert container_of(bench)["ports"] == [expected]


def test_a_mapping_of_a_port_that_was_not_accepted_fails_the_task() -> None:
    bench = PoolBench(node("n1"), pods=PORTS)
    mapping = {"host_port": 8080, "container_port": 80}
    docker = {"image": "web", "network": "BRIDGE", "port_mappings": [mapping]}
    started(bench, ports(20001, 20001), container={"type": "DOCKER", "docker": docker})
    status = [e for e in bench.events if e["type"] == "UPDATE"][-1]["update"]["status"]
    assert status["state"] == "TASK_FAILED"
    assert "port_mappings" in status["message"]


def test_the_ports_of_a_task_return_after_its_end() -> None:
    bench = PoolBench(node("n1"), pods=PORTS)
    framework = started(bench, ports(20000, 20003))
    bench.set_phase(bench.pods()[0]["metadata"]["name"], "Succeeded", terminated={"exitCode": 0})
    bench.acknowledge(framework)
    bench.call(framework, "DECLINE", offer_ids=[bench.offer()["id"]])
    bench.wait(10)
    assert offered(bench.offer())["ports"] == [(20000, 20003)]


def test_ranges_of_ports_are_sorted_and_joined() -> None:
    assert read_ports("25000,20001-20009,20000", "--task-ports") == ((20000, 20009), (25000, 25000))
    assert read_ports("", "--task-ports") == ()


@pytest.mark.parametrize("text", ["a", "5-", "7-3", "0", "1-65536", "-5", "٣"])
def test_malformed_ranges_of_ports_are_named(text: str) -> None:
    with pytest.raises(InputError, match=r"--task-ports.*20000-20999"):
        read_ports(text, "--task-ports")


# ------------------------------------------------------------ storage


def test_ephemeral_storage_is_disk() -> None:
    bench = PoolBench(node("n1", resources={"ephemeral-storage": "2Gi"}))
    started(bench, scalar("disk", 512))
    requests = container_of(bench)["resources"]["requests"]
    assert requests["ephemeral-storage"] == str(512 << 20)
    bench.wait(10)
    assert offered(bench.offer())["disk"] == 1536
