"""A taint, cordon or selector that excludes the only suitable nodes is the dominant reason."""

from typing import Any

import pytest

from stretto.explain.why.answers import Explanation
from stretto.explain.why.remedies.remedy import CureKind
from stretto.explain.words.reasons import ReasonCode, ReasonTier
from stretto.testing import Harness, make_node, make_pod
from tests.support.explained import cure_sentences, explained

PROFILES = pytest.mark.parametrize("profile", ["default", "kube-parity"])
GPU_TAINT = {"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}


def gpu_node(name: str, *taints: dict[str, str], **more: Any) -> bytes:
    return make_node(name, cpu="16", gpus=4, taints=list(taints or [GPU_TAINT]), **more)


def explanation_of(*nodes: bytes, profile: str = "default", **pod: Any) -> Explanation:
    harness = Harness(list(nodes), profile=profile, config={"tier": "numpy"})
    harness.submit(make_pod("p", **pod))
    harness.settle(5)
    said = explained(harness, "p")
    assert said.dominant is not None
    return said


def reason_of(said: Explanation) -> tuple[ReasonCode, str]:
    assert said.dominant is not None
    return said.dominant.code, said.dominant.sentence


@PROFILES
def test_a_taint_on_the_only_nodes_with_gpus_is_the_reason(profile: str) -> None:
    nodes = gpu_node("g0"), gpu_node("g1"), make_node("c0", cpu="16")
    said = explanation_of(*nodes, profile=profile, gpus=1)
    assert reason_of(said) == (
        ReasonCode.NOT_ALLOWED,
        (
            "The 2 nodes that are large enough are excluded by the taint "
            "nvidia.com/gpu=present:NoSchedule, which the pod does not tolerate."
        ),
    )
    assert said.dominant is not None
    assert said.dominant.tier is ReasonTier.NOT_ALLOWED


@PROFILES
def test_the_toleration_is_the_cure_and_no_capacity_is(profile: str) -> None:
    nodes = gpu_node("g0"), gpu_node("g1"), make_node("c0", cpu="16")
    said = explanation_of(*nodes, profile=profile, gpus=1)
    toleration = "Tolerating nvidia.com/gpu=present:NoSchedule would make 2 nodes fit (g0)."
    assert cure_sentences(said, CureKind.TOLERATION) == [toleration]
    assert cure_sentences(said, CureKind.CAPACITY) == []


@PROFILES
def test_a_taint_on_the_selected_nodes_is_the_reason(profile: str) -> None:
    arm = make_node("arm", labels={"arch": "arm64"}, taints=[GPU_TAINT])
    spec = {"nodeSelector": {"arch": "arm64"}}
    said = explanation_of(arm, make_node("amd"), profile=profile, spec=spec)
    assert reason_of(said)[1] == (
        "The only node that the pod selects is excluded by the taint "
        "nvidia.com/gpu=present:NoSchedule, which the pod does not tolerate."
    )
    assert {each.kind for each in said.cures} == {CureKind.TOLERATION, CureKind.SELECTOR}


def test_several_exclusions_are_counted() -> None:
    other = {"key": "team", "value": "a", "effect": "NoExecute"}
    nodes = gpu_node("g0"), gpu_node("g1"), gpu_node("g2", other)
    said = explanation_of(*nodes, gpu_node("g3", unschedulable=True), gpus=1)
    assert reason_of(said)[1] == (
        "All 4 nodes are excluded: 3 by the taint nvidia.com/gpu=present:NoSchedule, which the "
        "pod does not tolerate; 1 by a cordon; 1 by the taint team=a:NoExecute, which the pod "
        "does not tolerate."
    )


def test_a_cordon_is_cured_by_uncordoning() -> None:
    said = explanation_of(make_node("n0", unschedulable=True))
    assert reason_of(said)[1] == "The only node is excluded by a cordon."
    assert cure_sentences(said, CureKind.UNCORDON) == ["Uncordoning n0 would make it fit."]


def test_a_full_node_with_a_taint_needs_both_cures() -> None:
    harness = Harness([gpu_node("g0")], config={"tier": "numpy"})
    harness.submit(make_pod("busy", gpus=4, node="g0"), make_pod("p", gpus=1))
    harness.settle()
    cures = [each for each in explained(harness, "p").cures if each.kind is not CureKind.EVENT]
    assert [each.kind for each in cures] == [CureKind.TOLERATION, CureKind.CAPACITY]
    assert not any(each.alone for each in cures)


def test_larger_nodes_that_the_pod_does_not_select_are_mentioned() -> None:
    nodes = make_node("small", labels={"pool": "a"}), make_node("large", cpu="64")
    said = explanation_of(*nodes, cpu="32", spec={"nodeSelector": {"pool": "a"}})
    assert reason_of(said) == (
        ReasonCode.TOO_BIG,
        (
            "The only eligible node is not large enough, even empty (cpu: requests 32, largest 8). "
            "1 other node is large enough, but the pod does not select it."
        ),
    )


def test_labels_that_no_node_has_together_are_named_together() -> None:
    nodes = make_node("a", labels={"x": "1"}), make_node("b", labels={"y": "1"})
    said = explanation_of(*nodes, spec={"nodeSelector": {"x": "1", "y": "1"}})
    assert reason_of(said)[1].endswith("no node matches all of x=1 and y=1.")
