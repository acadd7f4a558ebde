"""Memory of NUMA nodes and pods on trees of files, and the headroom that the agent publishes."""

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner

from stretto.agent.node import NodeAgent
from stretto.agent.report.pods import NodePod, node_pods
from stretto.agent.report.writer import ReportWriter
from stretto.agent.topology.gpus import RecordedGpus
from stretto.agent.usage.memory import read_memory
from stretto.api.types.cnr import RECLAIMED_CPU, RECLAIMED_MEMORY, CustomNodeResource
from stretto.api.wire.kinds import CUSTOM_NODE_RESOURCE, NODE, POD
from stretto.api.wire.meta import ObjectMeta
from stretto.base.clock import ManualClock
from stretto.base.rng import Rng
from stretto.cli.main import cli
from stretto.framework.profile.capacity.reclaim import (
    Estimator,
    ExtendedNames,
    MemoryEstimator,
    MemoryRules,
    ReclaimRules,
)
from stretto.state.numa.layout import read_layout
from stretto.stores.embedded.memory import MemoryStore
from stretto.testing import Harness, make_node, make_pod, numa_notes
from tests.support.machines import (
    INTEL,
    NumaAmounts,
    PodAmounts,
    pod_folder,
    write_files,
    write_machine,
    write_memory,
    write_use,
)

GIB = 1 << 30
WEB, BATCH = "aaaaaaaa-0000-4000-8000-000000000001", "aaaaaaaa-0000-4000-8000-000000000002"
NUMAS = {0: NumaAmounts(64, 24, 8), 1: NumaAmounts(64, 40, 8)}
MEMORY = {
    WEB: PodAmounts(16, 4, 2),
    BATCH: PodAmounts(8, mems="1", by_numa={0: 0, 1: 8}),
}
PODS = {
    WEB: NodePod("d/web", "shared_cores", (4000, 32 * GIB)),
    BATCH: NodePod("d/batch", "reclaimed_cores", (2000, 16 * GIB)),
}
#: Use outside pods in GiB: the machine uses 32, its pods 28.
OUTSIDE = 4


def rules(kind: MemoryEstimator, **more: Any) -> ReclaimRules:
    return ReclaimRules(Estimator.CANONICAL, memory=MemoryRules(kind, **more))


def tree(
    root: Path,
    numas: Mapping[int, NumaAmounts] = NUMAS,
    memory: Mapping[str, PodAmounts] = MEMORY,
) -> None:
    """A machine with 16 processors and 128 GiB in two NUMA nodes, and two pods."""
    write_machine(root, INTEL)
    write_use(root, 0, dict.fromkeys(memory, (0, 0)))
    write_memory(root, numas, 28 + OUTSIDE, memory)


def status(root: Path, made: ReclaimRules, pods: dict[str, NodePod] = PODS) -> Any:
    """The second report of an agent; its machine is idle."""
    clock = ManualClock()
    agent = NodeAgent(root, RecordedGpus(), clock, made)
    agent.status(pods)
    clock.advance(10)
    return agent.status(pods)


def gib(found: Any) -> dict[str, float]:
    """GiB of the headroom of each NUMA node, rounded."""
    numas = [numa for socket in found.topology_zone for numa in socket.children]
    amounts = {each.name: each.resources.allocatable for each in numas}
    return {name: round(int(each[RECLAIMED_MEMORY]) / GIB, 1) for name, each in amounts.items()}


def test_memory_is_read_by_numa_node_and_by_kind(tmp_path: Path) -> None:
    tree(tmp_path)
    write_files(tmp_path, {"sys/fs/cgroup/kubepods/besteffort/memory.max": 32 * GIB})
    found = read_memory(tmp_path, (0, 1))
    assert (found.free, found.watermark_scale, found.limit) == (64 * GIB, 10, 32 * GIB)
    assert [each.inactive_file for each in found.numas.values()] == [8 * GIB, 8 * GIB]


def test_the_memory_that_pods_and_the_system_do_not_need_is_published_by_numa_node(
    tmp_path: Path,
) -> None:
    tree(tmp_path)
    found = status(tmp_path, rules(MemoryEstimator.CANONICAL))
    whole = 128 - 1.1 * 20 - OUTSIDE
    parts = {"0": round(whole * 24 / 72, 1), "1": round(whole * 48 / 72, 1)}
    assert gib(found) == pytest.approx(parts, abs=0.1)
    assert int(found.resources.allocatable["memory"]) / GIB == pytest.approx(whole, abs=0.1)


def test_the_memory_that_numa_nodes_could_free_is_published(tmp_path: Path) -> None:
    tree(tmp_path)
    found = status(tmp_path, rules(MemoryEstimator.NUMA_AWARE, cache_share=0.5))
    free, kept = 72, 56 * min(32 - 20, 3.2) / 28
    stretch = (free - 0.128 - kept) / free * 2
    parts = {"0": round(28 * stretch, 1), "1": round(44 * stretch + 16, 1)}
    assert gib(found) == pytest.approx({each: min(n, 64) for each, n in parts.items()}, abs=0.1)


def test_cpu_is_published_where_memory_is(tmp_path: Path) -> None:
    tree(tmp_path, NUMAS | {1: NumaAmounts(64, 0)}, {WEB: MEMORY[WEB]})
    found = status(tmp_path, rules(MemoryEstimator.NUMA_AWARE), {WEB: PODS[WEB]})
    numas = [numa.resources.allocatable for each in found.topology_zone for numa in each.children]
    assert [each[RECLAIMED_CPU] for each in numas] == ["14990", "0"]
    assert numas[0]["cpu"] == "8"


def test_a_headroom_below_the_minimum_is_published_as_nothing(tmp_path: Path) -> None:
    tree(tmp_path)
    made = rules(MemoryEstimator.CANONICAL, least_gib=40.0)
    found = status(tmp_path, made)
    assert gib(found) == pytest.approx({"0": 0.0, "1": 68.0}, abs=0.1)
    assert int(found.resources.allocatable["memory"]) / GIB == pytest.approx(68, abs=0.1)


def test_numa_nodes_of_exclusive_pods_are_not_reclaimed(tmp_path: Path) -> None:
    tree(tmp_path, memory={WEB: PodAmounts(16, mems="0", by_numa={0: 16})})
    owner = NodePod("d/db", "dedicated_cores", (8000, 32 * GIB), has_exclusive_numas=True)
    found = status(tmp_path, rules(MemoryEstimator.CANONICAL), {WEB: owner})
    assert gib(found) == pytest.approx({"0": 0.0, "1": 48.0}, abs=0.1)


def test_an_estimator_without_numa_nodes_publishes_none(tmp_path: Path) -> None:
    tree(tmp_path)
    found = status(tmp_path, rules(MemoryEstimator.SAME))
    assert all(
        RECLAIMED_MEMORY not in numa.resources.allocatable
        for each in found.topology_zone
        for numa in each.children
    )


def messages(found: Any) -> list[str]:
    return [each.message for each in found.conditions if each.type == "MemoryConsistent"]


@pytest.mark.parametrize("kind", [MemoryEstimator.CANONICAL, MemoryEstimator.NUMA_AWARE])
def test_a_numa_node_that_vanished_is_named_and_the_others_are_published(
    tmp_path: Path, kind: MemoryEstimator
) -> None:
    tree(tmp_path)
    (tmp_path / "sys/devices/system/node/node0/meminfo").unlink()
    found = status(tmp_path, rules(kind))
    assert messages(found) == ["1 ignored: NUMA node 0: its memory cannot be read"]
    assert int(found.resources.allocatable["memory"]) > 0


def test_a_pod_on_a_numa_node_that_the_machine_lacks_is_named(tmp_path: Path) -> None:
    tree(tmp_path, memory=MEMORY | {BATCH: PodAmounts(8, mems="1,7", by_numa={1: 4, 7: 4})})
    pods = PODS | {BATCH: NodePod("d/batch", "reclaimed_cores", (2000, 16 * GIB), bound_to=9)}
    found = status(tmp_path, rules(MemoryEstimator.CANONICAL), pods)
    (said,) = messages(found)
    where = [f"pod d/batch: NUMA node {number} is not on this machine" for number in (7, 9)]
    assert said == f"2 ignored: {'; '.join(where)}"


@pytest.mark.parametrize("text", ["", "anon", "anon N0", "anon N0=x Nx=5 N=1", "anon -3 N0=-5"])
def test_files_of_the_kernel_that_cannot_be_read_stop_no_report(tmp_path: Path, text: str) -> None:
    tree(tmp_path)
    here = pod_folder(BATCH)
    files = dict.fromkeys(("memory.numa_stat", "memory.stat", "main.scope/cpuset.mems"), text)
    write_files(tmp_path, {f"{here}/{name}": each for name, each in files.items()})
    write_files(tmp_path, {"proc/sys/vm/watermark_scale_factor": text})
    found = status(tmp_path, rules(MemoryEstimator.CANONICAL))
    assert (messages(found), int(found.resources.allocatable["memory"]) > 0) == ([], True)


def test_a_machine_without_numa_nodes_is_one(tmp_path: Path) -> None:
    tree(tmp_path)
    shutil.rmtree(tmp_path / "sys/devices/system/node")
    found = status(tmp_path, rules(MemoryEstimator.CANONICAL))
    assert gib(found) == pytest.approx({"0": 102.0}, abs=0.1)


@pytest.mark.parametrize(
    ("annotation", "bound"), [("1", 1), ("-1", None), ("", None), ("x", -1), ("9" * 99, -1)]
)
def test_the_binding_of_a_pod_is_read_from_the_annotation_of_katalyst(
    annotation: str, bound: int | None
) -> None:
    store = MemoryStore(ManualClock(), Rng(0))
    made = make_pod("p", annotations={"katalyst.kubewharf.io/numa_bind_result": annotation})
    record = store.create(POD, [made])[0].record
    assert record is not None
    assert next(iter(node_pods([record]).values())).bound_to == bound


def test_a_pod_that_has_ended_keeps_no_memory() -> None:
    store = MemoryStore(ManualClock(), Rng(0))
    body = json.loads(make_pod("p")) | {"status": {"phase": "Succeeded"}}
    record = store.create(POD, [json.dumps(body).encode()])[0].record
    assert record is not None
    assert node_pods([record]) == {}


def test_the_profile_selects_the_memory_of_a_printed_report(tmp_path: Path) -> None:
    tree(tmp_path)
    memory = {"estimator": "canonical", "freeShare": 0.5}
    profile = tmp_path / "profile.json"
    stretto = {"reclaim": {"estimator": "utilisation", "memory": memory}}
    profile.write_text(json.dumps({"profiles": [{"stretto": stretto}]}))
    words = ["agent", "--once", "-o", "json", "--root", str(tmp_path), "--profile", str(profile)]
    printed = json.loads(CliRunner().invoke(cli, words).stdout)["status"]["topologyZone"]
    numas = [each["children"][0]["resources"]["allocatable"] for each in printed]
    assert [int(each[RECLAIMED_MEMORY]) > 0 for each in numas] == [True, True]


def test_the_headroom_is_published_in_zones_and_as_extended_resources(tmp_path: Path) -> None:
    tree(tmp_path)
    clock = ManualClock()
    store = MemoryStore(clock, Rng(0))
    store.create(NODE, [make_node("n", cpu="16")])
    agent = NodeAgent(tmp_path, RecordedGpus(), clock, rules(MemoryEstimator.CANONICAL))
    writer = ReportWriter(store, "n", ExtendedNames.KATALYST)
    for _ in range(2):
        clock.advance(10)
        agent.step(store, "n", writer)
    found = [store.get(kind, "", "n") for kind in (NODE, CUSTOM_NODE_RESOURCE)]
    node, report = (json.loads(each.body)["status"] for each in found if each is not None)
    assert node["allocatable"][RECLAIMED_MEMORY] == report["resources"]["allocatable"]["memory"]
    assert RECLAIMED_MEMORY in report["topologyZone"][0]["children"][0]["resources"]["capacity"]


def test_the_headroom_of_numa_nodes_is_no_amount_to_align_pods_with(tmp_path: Path) -> None:
    tree(tmp_path)
    found = status(tmp_path, rules(MemoryEstimator.CANONICAL))
    layout = read_layout(CustomNodeResource(ObjectMeta("n"), status=found))
    assert [set(each) for each in layout.amounts] == [{"cpu", "memory"}] * 2


def test_the_scheduler_aligns_pods_with_numa_nodes_that_have_a_headroom(tmp_path: Path) -> None:
    tree(tmp_path)
    made = msgspec.to_builtins(status(tmp_path, rules(MemoryEstimator.CANONICAL)))
    at = Harness([make_node("n", cpu="16", memory="128Gi")])
    at.create(
        CUSTOM_NODE_RESOURCE, json.dumps({"metadata": {"name": "n"}, "status": made}).encode()
    )
    at.submit(make_pod("p", cpu="8", memory="32Gi", annotations=numa_notes()))
    at.settle()
    assert at.node_of("p") == "n"
