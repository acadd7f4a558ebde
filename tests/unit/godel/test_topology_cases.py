"""Gödel's cases about NUMA topology and job-level affinity, by their number in the inventory.

The figures are those of its own tests. Where Gödel is wrong the right answer stands here, and why.
"""

import numpy as np
import pytest

from stretto.api.wire.kinds import CUSTOM_NODE_RESOURCE, POD_GROUP
from stretto.framework.groups.places import SPLIT, DomainOrder, GangDemand, GangDomains
from stretto.state.classes.annotations import NumaBinding
from stretto.state.numa.choice import NumaMachine, choose
from stretto.testing import Harness, make_group, make_node, make_pod, make_report, numa_notes

#: The plain kernels: nothing has to be compiled for a handful of pods.
PLAIN = {"tier": "numpy"}
#: CPU, memory in GiB, GPUs and RDMA of four NUMA nodes on two sockets.
FOUR = [(24, 63, 2, 2), (24, 63, 2, 2), (23, 63, 2, 2), (23, 63, 2, 2)]
NONE = (0, 0, 0, 0)
CPU, MEMORY, BOTH = (1, 0, 0, 0), (0, 1, 0, 0), (1, 1, 0, 0)
GPU, GPUS = (0, 0, 1, 0), (0, 0, 2, 0)

EXCLUSIVE = [
    ("no memory on the second", [NONE, MEMORY, BOTH, BOTH], (15, 100, 0, 0), False, []),
    ("no CPU on the second", [NONE, CPU, BOTH, BOTH], (40, 50, 0, 0), False, []),
    ("the CPU would cross sockets", [CPU, NONE, NONE, CPU], (40, 50, 0, 0), False, []),
    ("the memory would cross sockets", [MEMORY, NONE, NONE, MEMORY], (20, 100, 0, 0), False, []),
    ("the GPUs need one NUMA node", [BOTH, GPUS, GPU, GPU], (40, 100, 2, 0), False, []),
    ("no NUMA node has two GPUs", [GPU, GPUS, GPUS, GPU], (90, 250, 2, 0), False, []),
    ("nor when GPUs are aligned", [GPU, GPUS, GPUS, GPU], (90, 250, 2, 0), True, []),
    ("too much beside the others", [GPU, NONE, BOTH, BOTH], (50, 100, 7, 0), False, []),
    ("GPUs around the CPU", [GPU, NONE, BOTH, BOTH], (40, 100, 7, 0), False, [0, 1]),
    ("aligned GPUs ask for all", [GPU, NONE, BOTH, BOTH], (40, 100, 7, 0), True, []),
    ("RDMA inside the CPU's", [NONE, NONE, BOTH, BOTH], (40, 100, 0, 2), False, [0, 1]),
]
SHARING = [
    ("the fullest that holds it", [(24, 63, 1, 0), (10, 20, 0, 0), (10, 20, 1, 0), NONE], 2),
    ("GPUs held by others do not matter", [GPU, GPU, GPU, GPU], 2),
]


def machine(
    taken: list, requested: tuple, *, aligned: bool = False, capacity: tuple = ()
) -> NumaMachine:
    """The four NUMA nodes with used amounts, and the requests of a pod."""
    free = [[a - t for a, t in zip(*pair, strict=True)] for pair in zip(FOUR, taken, strict=True)]
    share = [zone[:2] for zone in FOUR]
    flags = [False, False, aligned, False]
    return NumaMachine([0, 0, 1, 1], FOUR, free, requested, flags, (), share, capacity)


@pytest.mark.parametrize(
    ("taken", "requested", "aligned", "expected"),
    [case[1:] for case in EXCLUSIVE],
    ids=[case[0] for case in EXCLUSIVE],
)
def test_case_38_exclusive_pods(taken, requested, aligned, expected) -> None:
    chosen = choose(machine(taken, requested, aligned=aligned), NumaBinding.WHOLE)
    assert chosen == sum(1 << numa for numa in expected)


def test_case_38_shared_pods_must_keep_their_capacity() -> None:
    taken = [GPU, NONE, BOTH, BOTH]
    fits = machine(taken, (40, 100, 7, 0), capacity=(48, 126))
    crowded = machine(taken, (40, 100, 7, 0), capacity=(47, 126))
    assert (choose(fits, NumaBinding.WHOLE), choose(crowded, NumaBinding.WHOLE)) == (0b11, 0)


@pytest.mark.parametrize(
    ("taken", "numa"), [case[1:] for case in SHARING], ids=[case[0] for case in SHARING]
)
def test_case_38_pods_that_share_a_numa_node(taken, numa) -> None:
    assert choose(machine(taken, (1, 1, 0, 0)), NumaBinding.ONE) == 1 << numa


@pytest.mark.parametrize("requested", [(25, 1, 0, 0), (15, 60, 3, 0), (1, 64, 0, 0)])
def test_case_38_one_numa_node_must_have_everything(requested) -> None:
    assert choose(machine([NONE] * 4, requested), NumaBinding.ONE) == 0


def test_case_38_the_decision_is_written_on_the_pod() -> None:
    """Gödel's never does: its state for the NUMA nodes is lost between scheduler and binder."""
    harness = Harness([make_node("n", cpu="16", memory="32Gi")], config=PLAIN)
    harness.create(CUSTOM_NODE_RESOURCE, make_report("n", [{"cpu": "8", "memory": "16Gi"}] * 2))
    harness.submit(make_pod("p", cpu="9", memory="1Gi", annotations=numa_notes(exclusive=True)))
    harness.settle()
    note = harness.notes_of("p")["godel.bytedance.com/micro-topology"]
    assert note == "0:cpu=8,memory=16Gi;1:cpu=8,memory=16Gi"


# ---------------------------------------------------------------- job-level affinity


def racks() -> Harness:
    """Three racks of 1, 2 and 3 nodes; the small one has the larger node's memory."""
    sizes = {"small": (1, "64Gi"), "middle": (2, "16Gi"), "large": (3, "16Gi")}
    return Harness(
        [
            make_node(f"{rack}-{i}", cpu="8", memory=memory, labels={"rack": rack, "row": "a"})
            for rack, (count, memory) in sizes.items()
            for i in range(count)
        ],
        config=PLAIN,
    )


def places(harness: Harness, required=(), preferred=(), rules=(), **more) -> DomainOrder:
    """Return the nodes that a group with this affinity can use."""
    terms = {
        "required": [{"topologyKey": key} for key in required],
        "preferred": [{"topologyKey": key} for key in preferred],
        "sortRules": [dict(zip(("resource", "dimension", "order"), r, strict=True)) for r in rules],
    }
    harness.create(POD_GROUP, make_group("g", 2, affinity={"podGroupAffinity": terms}))
    harness.settle()
    plane = harness.plane
    runtime = plane.shards[0].default.runtime
    runtime.sync()
    bound = plane.cluster.nodes.slots_named(more.get("bound", ()))
    wanted = GangDemand([(0, more.get("cpu", 0))])
    group = plane.cluster.groups["default/g"]
    return GangDomains(plane.cluster.nodes).places(group, bound, wanted, runtime.columns)


def names(harness: Harness, found: DomainOrder) -> list[str]:
    """The domains of an answer by the name of their rack, or how many nodes they have."""
    labels = harness.plane.cluster.nodes.labels
    parts = np.split(found.slots, found.start[1:-1])
    racks = [{labels.value(int(slot), "rack") for slot in part} for part in parts]
    return [each.pop() if len(each) == 1 else f"{len(each)} racks" for each in racks]


ORDERS = [
    ((), ["small", "middle", "large"]),
    ([("CPU", "Capacity", "Ascending")], ["small", "middle", "large"]),
    ([("CPU", "Capacity", "Descending")], ["large", "middle", "small"]),
    ([("Memory", "Capacity", "Ascending")], ["middle", "large", "small"]),
    ([("Memory", "Available", "Descending")], ["small", "large", "middle"]),
    (
        [("GPU", "Capacity", "Ascending"), ("CPU", "Available", "Descending")],
        ["large", "middle", "small"],
    ),
]


@pytest.mark.parametrize(("rules", "expected"), ORDERS)
def test_case_33_domains_are_tried_in_the_order_of_the_sort_rules(rules, expected) -> None:
    harness = racks()
    assert names(harness, places(harness, ["rack"], rules=rules)) == expected


def test_case_33_a_rule_that_names_a_resource_alone_means_the_least_capacity_first() -> None:
    harness = racks()
    terms = {"required": [{"topologyKey": "rack"}], "sortRules": [{"resource": "Memory"}]}
    affinity = {"podGroupAffinity": terms}
    harness.create(POD_GROUP, make_group("g", 2, affinity=affinity))
    harness.settle()
    (rule,) = harness.plane.cluster.groups["default/g"].spec.affinity.pod_group_affinity.sort_rules
    assert (rule.dimension, rule.order) == ("Capacity", "Ascending")


def test_case_33_domains_that_are_too_small_are_cut() -> None:
    harness = racks()
    assert names(harness, places(harness, ["rack"], cpu=9000)) == ["middle", "large"]


def test_case_33_domains_in_parts_are_all_domains_in_their_order() -> None:
    harness = Harness([make_node(f"n{i}", labels={"rack": f"r{i // 2}"}) for i in range(50)])
    found = places(harness, ["rack"])
    parts = list(found.parts(4))
    assert [len(part.start) - 1 for part in parts] == [4, 21]
    assert np.concatenate([part.slots for part in parts]).tolist() == found.slots.tolist()


def test_case_33_a_gang_goes_to_the_first_domain_that_holds_it_however_many_do_not() -> None:
    nodes = [make_node(f"s{i}", cpu="1", labels={"rack": f"s{i // 4}"}) for i in range(80)]
    nodes += [make_node(f"l{i}", cpu="4", labels={"rack": f"l{i // 2}"}) for i in range(4)]
    harness = Harness(nodes)
    terms = {"required": [{"topologyKey": "rack"}]}
    harness.create(POD_GROUP, make_group("g", 2, affinity={"podGroupAffinity": terms}))
    harness.submit(*(make_pod(f"g-{i}", cpu="2", group="g") for i in range(2)))
    harness.settle()
    assert {harness.node_of(f"g-{i}") for i in range(2)} <= {"l0", "l1"}


def test_case_34_running_pods_bind_the_others_to_their_domain() -> None:
    harness = racks()
    assert names(harness, places(harness, ["rack"], bound=["middle-0"])) == ["middle"]


def test_case_34_pods_in_two_domains_are_an_error() -> None:
    harness = racks()
    found = places(harness, ["rack"], bound=["middle-0", "large-0"])
    assert (len(found.slots), found.fault) == (0, SPLIT)


def test_case_35_preferred_domains_are_tried_before_what_holds_them() -> None:
    harness = racks()
    found = names(harness, places(harness, ["row"], preferred=["rack"]))
    assert found == ["small", "middle", "large", "3 racks"]


def test_case_35_without_anything_required_every_node_comes_last() -> None:
    harness = racks()
    found = names(harness, places(harness, preferred=["row", "rack"]))
    assert found == ["small", "middle", "large", "3 racks", "3 racks"]


# ---------------------------------------------------------------- with rules between pods


def apart(app: str) -> dict:
    """A spec whose pods keep away from each other, host by host."""
    term = {
        "labelSelector": {"matchLabels": {"app": app}},
        "topologyKey": "kubernetes.io/hostname",
    }
    wanted = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
    return {"affinity": {"podAntiAffinity": wanted}}


def test_a_gang_for_one_rack_keeps_its_pods_apart_too() -> None:
    harness = racks()
    required = {"podGroupAffinity": {"required": [{"topologyKey": "rack"}]}}
    harness.create(POD_GROUP, make_group("g", 3, affinity=required))
    members = {"labels": {"app": "a"}, "group": "g", "spec": apart("a")}
    harness.submit(*(make_pod(f"p{i}", cpu="1", **members) for i in range(3)))
    harness.settle()
    assert sorted(harness.placements().values()) == ["large-0", "large-1", "large-2"]


def test_a_gang_that_cannot_be_apart_in_one_rack_leaves_no_trace() -> None:
    harness = racks()
    required = {"podGroupAffinity": {"required": [{"topologyKey": "rack"}]}}
    harness.create(POD_GROUP, make_group("g", 4, affinity=required))
    members = {"labels": {"app": "a"}, "group": "g", "spec": apart("a")}
    harness.submit(*(make_pod(f"p{i}", cpu="1", **members) for i in range(4)))
    harness.settle()
    harness.submit(*(make_pod(f"q{i}", cpu="8") for i in range(6)))
    harness.settle()
    nodes = harness.placements()
    assert [nodes[f"p{i}"] for i in range(4)] == [""] * 4
    assert (all(nodes[f"q{i}"] for i in range(6)), harness.breaches()) == (True, [])


def test_pods_on_numa_nodes_keep_apart_too() -> None:
    nodes = [make_node(name, cpu="16", memory="32Gi") for name in ("a", "b")]
    harness = Harness(nodes, config=PLAIN)
    zone = {"cpu": "8", "memory": "16Gi"}
    harness.create(CUSTOM_NODE_RESOURCE, *(make_report(n, [zone, zone]) for n in ("a", "b")))
    members = {"labels": {"app": "a"}, "spec": apart("a"), "annotations": numa_notes()}
    harness.submit(*(make_pod(f"p{i}", cpu="2", **members) for i in range(3)))
    harness.settle()
    assert (sorted(harness.placements().values()), harness.breaches()) == (["", "a", "b"], [])
