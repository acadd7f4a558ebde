"""Why a pod is pending, why it is where it is, and why it is not there."""

from typing import Any

import pytest

from stretto.base.errors import NotFoundError
from stretto.explain.why.answers import Explanation
from stretto.explain.why.forbidden import HeldFacts
from stretto.explain.why.on_node import explain_pod_on
from stretto.explain.why.remedies.remedy import CureKind
from stretto.explain.why.scene import Scene
from stretto.explain.why.sources.live import live_scene
from stretto.explain.why.why import explain_pod
from stretto.explain.words.reasons import ReasonCode, ReasonTier
from stretto.testing import Harness, make_node, make_pod

GPU = "nvidia.com/gpu"
NUMPY = {"tier": "numpy"}


def nodes() -> list[bytes]:
    return [
        make_node("n0", cpu="4", gpus=2, model="T4"),
        make_node("n1", cpu="4", gpus=2, model="T4"),
        make_node("n2", cpu="8", taints=[{"key": "own", "value": "x", "effect": "NoSchedule"}]),
    ]


def scene_of(harness: Harness) -> Scene:
    harness.settle()
    plane = harness.plane
    return live_scene(plane.cluster, plane.config.profile, plane.units)


def requested(*pods: bytes, about: str, **more: Any) -> Explanation:
    harness = Harness(nodes=more.pop("nodes", nodes()), config=NUMPY, **more)
    harness.submit(*pods)
    return explain_pod(scene_of(harness), about)


@pytest.mark.parametrize(
    ("pod", "code", "words"),
    [
        (make_pod("p", cpu="64"), ReasonCode.TOO_BIG, "(cpu: requests 64, largest 4)"),
        (
            make_pod("p", spec={"nodeSelector": {"a": "b"}}),
            ReasonCode.NOT_ALLOWED,
            "None of the 3 nodes is eligible",
        ),
        (
            make_pod("p", resources={"x.io/y": "1"}),
            ReasonCode.UNKNOWN_RESOURCE,
            "x.io/y, which no node",
        ),
        (
            make_pod("p", gpus=1, gpu_models="A100"),
            ReasonCode.UNKNOWN_MODEL,
            "model A100; nodes have T4",
        ),
        (make_pod("p", gpus=9), ReasonCode.TOO_BIG, "(nvidia.com/gpu: requests 9, largest 2)"),
        (
            make_pod("p", cpu="6"),
            ReasonCode.NOT_ALLOWED,
            "The only node that is large enough is excluded by the taint own=x:NoSchedule",
        ),
        (
            make_pod("p", spec={"schedulingGates": [{"name": "g"}]}),
            ReasonCode.GATED,
            "gate must be removed first",
        ),
        (
            make_pod("p", group="absent"),
            ReasonCode.UNKNOWN_GROUP,
            "PodGroup default/absent does not",
        ),
    ],
)
def test_the_dominant_reason_is_one_sentence(pod: bytes, code: ReasonCode, words: str) -> None:
    said = requested(pod, about="p")
    assert said.dominant is not None
    assert said.dominant.code is code
    assert words in said.dominant.sentence
    assert said.reasons[0] == said.dominant


def test_an_empty_cluster_is_reported_plainly() -> None:
    said = requested(make_pod("p"), about="p", nodes=[])
    assert said.dominant is not None
    assert (said.dominant.code, said.dominant.tier) == (ReasonCode.NO_NODES, ReasonTier.WAITING)


def full() -> Explanation:
    big = [make_pod(f"full-{i}", cpu="3") for i in range(2)]
    return requested(*big, make_pod("p", cpu="2", gpus=1), about="p")


def test_full_nodes_wait_for_capacity() -> None:
    said = full()
    assert said.dominant is not None
    assert said.dominant.tier is ReasonTier.WAITING
    assert "2 of 3 nodes are large enough but full" in said.dominant.sentence


def test_counts_are_in_kubernetes_form_and_overlaps_are_shown() -> None:
    said = full().nodes
    assert said is not None
    assert said.message.startswith("0/3 nodes are available: ")
    assert {each.reason: each.nodes for each in said.reasons}["Insufficient cpu"] == 2
    assert said.overlaps[0].reasons == ("node(s) had untolerated taint(s)", f"Insufficient {GPU}")


def test_the_nearest_nodes_state_what_they_lack_in_human_units() -> None:
    said = full().nodes
    assert said is not None
    nearest = said.nearest[0]
    assert nearest.node in {"n0", "n1"}
    assert [lack.text for lack in nearest.lacks] == ["1 core short (requests 2, 1 free)"]


def test_cures_are_capacity_a_smaller_request_and_events() -> None:
    kinds = {each.kind: each for each in full().cures}
    assert kinds[CureKind.CAPACITY].sentence.startswith("Freeing 1 core on n")
    assert (kinds[CureKind.SMALLER].resource, kinds[CureKind.SMALLER].amount) == ("cpu", 1000)
    assert "when a pod is removed from its node" in kinds[CureKind.EVENT].sentence


def test_a_smaller_request_that_is_named_fits() -> None:
    said = {each.kind: each for each in full().cures}[CureKind.SMALLER]
    again = make_pod("less", cpu=f"{said.amount}m", gpus=1)
    big = [make_pod(f"full-{i}", cpu="3") for i in range(2)]
    assert requested(*big, again, about="less").node != ""


def test_a_share_of_a_device_may_be_the_cure() -> None:
    taken = [make_pod(f"a{i}", gpus=1, gpu_milli=700) for i in range(4)]
    cures = requested(*taken, make_pod("z", gpus=1), about="z").cures
    shares = [each.amount for each in cures if each.resource == f"{GPU} milli"]
    assert shares == [300]


def test_a_share_without_a_device_states_the_largest_free_part() -> None:
    taken = [make_pod(f"a{i}", gpus=1, gpu_milli=700) for i in range(4)]
    said = requested(*taken, make_pod("z", gpus=1, gpu_milli=500), about="z").nodes
    assert said is not None
    assert said.nearest[0].lacks[0].text == f"no {GPU} has 500 thousandths free (at most 300)"


def test_a_rule_that_alone_stands_in_the_way_is_named() -> None:
    said = requested(make_pod("p", spec={"nodeSelector": {"a": "b"}}), about="p")
    selector = [each for each in said.cures if each.kind is CureKind.SELECTOR]
    assert ["would make 2 nodes fit" in each.sentence for each in selector] == [True]


def test_another_model_may_be_the_cure() -> None:
    said = requested(make_pod("p", gpus=1, gpu_models="A100"), about="p")
    models = next(each for each in said.cures if each.kind is CureKind.MODELS)
    assert models.models == ("T4",)


def test_a_placed_pod_shows_each_score_and_where_it_is() -> None:
    said = requested(make_pod("p"), about="p")
    assert said.choice is not None
    chosen = next(each for each in said.choice.top if each.chosen)
    assert chosen.node == said.node
    assert chosen.total == sum(part.score * part.weight for part in chosen.parts)


def test_scores_are_of_the_state_without_the_pod() -> None:
    said = requested(make_pod("p", cpu="3"), about="p")
    assert said.choice is not None
    assert said.choice.basis.endswith("without this pod")
    assert [each.rank for each in said.choice.top] == [1, 1]
    assert len({each.total for each in said.choice.top}) == 1


def test_explaining_changes_nothing() -> None:
    harness = Harness(nodes=nodes(), config=NUMPY)
    harness.submit(make_pod("p", cpu="3", gpus=1))
    scene = scene_of(harness)
    before = scene.cluster.ledger.used.copy(), scene.cluster.ledger.devices.free.copy()
    explain_pod(scene, "p")
    assert (scene.cluster.ledger.used == before[0]).all()
    assert (scene.cluster.ledger.devices.free == before[1]).all()


def test_why_not_there_names_every_rule_and_amount() -> None:
    harness = Harness(nodes=nodes(), config=NUMPY)
    harness.submit(make_pod("p", cpu="16"))
    said = explain_pod_on(scene_of(harness), "p", "n2")
    assert not said.fits
    assert said.refusal is not None
    assert said.refusal.reasons == ("node(s) had untolerated taint(s)", "Insufficient cpu")
    assert "8 cores short (requests 16, 8 free)" in said.sentence


def test_a_node_that_fits_is_compared_with_the_chosen_one() -> None:
    harness = Harness(nodes=nodes(), config=NUMPY)
    harness.submit(make_pod("p"))
    scene = scene_of(harness)
    other = {"n0": "n1", "n1": "n0"}[harness.node_of("p")]
    said = explain_pod_on(scene, "p", other)
    assert said.fits
    assert said.chosen is not None
    assert f"equal to its current node {said.chosen.node}" in said.sentence


@pytest.mark.parametrize(("pod", "node", "near"), [("wbe", "", "web"), ("web", "n9", "n0")])
def test_an_unknown_pod_or_node_names_the_nearest(pod: str, node: str, near: str) -> None:
    harness = Harness(nodes=nodes(), config=NUMPY)
    harness.submit(make_pod("web"))
    scene = scene_of(harness)
    with pytest.raises(NotFoundError, match="did you mean") as caught:
        explain_pod_on(scene, pod, node) if node else explain_pod(scene, pod)
    assert near in str(caught.value)


def test_names_of_the_same_namespace_come_first_and_the_namespace_does_not_match() -> None:
    harness = Harness(nodes=nodes(), config=NUMPY)
    harness.submit(
        make_pod("web-1", namespace="own"), make_pod("web-2"), make_pod("x", namespace="own")
    )
    scene = scene_of(harness)
    for requested, hint in (
        ("own/web-3", "did you mean own/web-1?"),
        ("other/web-2", "did you mean default/web-2 or own/web-1?"),
        ("own/batch", "3 pods are known"),
    ):
        with pytest.raises(NotFoundError) as caught:
            explain_pod(scene, requested)
        assert str(caught.value).endswith(hint)


def test_a_pod_is_found_by_namespace_too() -> None:
    harness = Harness(nodes=nodes(), config=NUMPY)
    harness.submit(make_pod("p"), make_pod("p", namespace="own"))
    scene = scene_of(harness)
    assert explain_pod(scene, "own/p").pod == "own/p"
    assert explain_pod(scene, "p").pod == "default/p"


def test_a_forbidden_preemption_names_a_node_and_the_pods_that_stay() -> None:
    term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"a": "b"}}}
    apart = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    harness = Harness([make_node("n1", cpu="4")], config={"tier": "numpy"})
    harness.submit(make_pod("top", labels={"a": "b"}, priority=99), make_pod("low", priority=1))
    harness.settle()
    harness.submit(make_pod("x", priority=10, spec={"affinity": apart}))
    harness.settle()
    said = explain_pod(scene_of(harness), "x").preemption
    assert said is not None
    reason = "node(s) didn't match pod anti-affinity rules"
    assert said.held == (HeldFacts(reason, "n1", ("default/top",), 1),)


def test_a_pod_on_a_node_that_does_not_exist_is_no_queued_pod() -> None:
    said = requested(make_pod("p", node="gone"), about="p")
    assert said.dominant is not None
    assert said.dominant.code is ReasonCode.NO_SUCH_NODE
    assert said.dominant.sentence.startswith("It is bound to node gone, which does not exist")
    assert (said.state, said.node, said.choice, said.cures) == ("bound", "gone", None, ())


def test_a_node_that_is_too_small_for_its_pod_is_no_best_choice() -> None:
    said = requested(make_pod("p", cpu="5", node="n1"), about="p")
    assert said.choice is not None
    assert said.choice.sentence == "n1 would refuse the pod now: 1 core short (requests 5, 4 free)."
