"""The rules on node objects, and the messages, against what kube-scheduler itself decided."""

import gzip
import json
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

import msgspec
import numpy as np
import pytest

from stretto.api.types.core import Node
from stretto.api.types.pod import PodSpec
from stretto.framework.contract.rule import (
    BoolArray,
    Fail,
    FilterRule,
    Refusal,
    Restrict,
    Scope,
    SlotArray,
    View,
)
from stretto.framework.engine.diagnosis import diagnose
from stretto.framework.plugins.node_affinity import NodeAffinityRule
from stretto.framework.plugins.node_name import NodeNameRule
from stretto.framework.plugins.node_unschedulable import NodeUnschedulableRule
from stretto.framework.plugins.taints import TaintTolerationRule
from stretto.state.classes.table import PodClass
from stretto.state.nodes.table import NodeFacts
from tests.support.small_cluster import a_class, look, nodes_of

Case = dict[str, Any]
RULES = [NodeUnschedulableRule({}), NodeNameRule({}), TaintTolerationRule({}), NodeAffinityRule({})]
ORDER = (
    "NodeUnschedulable",
    "NodeName",
    "TaintToleration",
    "NodeAffinity",
    "NodePorts",
    "NodeResourcesFit",
    "VolumeRestrictions",
    "NodeVolumeLimits",
    "VolumeBinding",
    "VolumeZone",
    "PodTopologySpread",
    "InterPodAffinity",
    "DynamicResources",
    "NodeDeclaredFeatures",
)
"""The filters, in kube-scheduler's order."""


@cache
def cases(path: Path) -> list[Case]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        found = [json.loads(line) for line in lines]
    return [case for case in found if "preenqueue" not in case["expect"]]


@pytest.fixture(scope="module", params=[5, pytest.param(1, marks=pytest.mark.slow)])
def decided(shared_data: Path, request: pytest.FixtureRequest) -> list[Case]:
    """Every fifth case; all of them in slow tests."""
    path = shared_data / "kube_parity" / "cases.jsonl.gz"
    if not path.is_file():
        pytest.skip("kube-scheduler's decisions are not beside this clone")
    return cases(path)[:: request.param]


def world(case: Case) -> tuple[NodeFacts, PodClass]:
    nodes = nodes_of(*(msgspec.convert(node, Node) for node in case["nodes"]))
    spec = msgspec.convert(case["pod"]["spec"], PodSpec)
    return nodes, msgspec.structs.replace(a_class(), spec=spec)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: str(rule.NAME))
def test_each_node_is_refused_as_kube_scheduler_refuses_it(
    rule: FilterRule, decided: list[Case]
) -> None:
    for case in decided:
        if (
            case["expect"].get("prefilter", {}).get(rule.NAME, {}).get("code", "Success")
            != "Success"
        ):
            continue
        nodes, pod = world(case)
        slots = nodes.live_slots()
        said = rule.refusals(pod, look(nodes), slots)
        found = {nodes.names[s]: [r.reason for r in said if r.mask[s]] for s in slots.tolist()}
        refused = case["expect"].get("filter", {})
        wanted = {name: refused.get(name, {}).get(rule.NAME, {}) for name in found}
        assert found == {name: each.get("reasons", []) for name, each in wanted.items()}, case["id"]
        codes = {each["code"] for each in wanted.values() if each}
        assert codes <= {"UnschedulableAndUnresolvable"}


def test_names_in_an_affinity_narrow_the_search_as_they_do_there(decided: list[Case]) -> None:
    rule = NodeAffinityRule({})
    for case in decided:
        wanted = case["expect"].get("prefilter", {}).get(rule.NAME, {})
        nodes, pod = world(case)
        answer = rule.prepare(pod, look(nodes))
        if isinstance(answer, Fail):
            assert wanted["reasons"] == [answer.reason], case["id"]
        elif isinstance(answer, Restrict):
            there = [name for name in wanted["nodes"] if name in nodes.by_name]
            assert [nodes.names[s] for s in answer.slots] == there, case["id"]
        else:
            assert "nodes" not in wanted


def test_soft_scores_order_nodes_as_they_do_there(decided: list[Case]) -> None:
    """Scales differ; which of two nodes is better, and which are level, must not."""
    for case in decided:
        nodes, pod = world(case)
        for rule in (TaintTolerationRule({}), NodeAffinityRule({})):
            theirs = case["expect"].get("scores", {}).get(rule.NAME)
            if not theirs:
                continue
            slots = nodes.slots_named(list(theirs))
            mine = rule.score(pod, look(nodes), slots).tolist()
            pairs = [(theirs[nodes.names[s]], score) for s, score in zip(slots, mine, strict=True)]
            assert inversions(pairs) == [], (case["id"], rule.NAME)


def inversions(pairs: list[tuple[int, int]]) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    return [(a, b) for a in pairs for b in pairs if a[0] > b[0] and a[1] < b[1]]


# ---------------------------------------------------------------- messages


class Recorded(FilterRule):
    """A filter with kube-scheduler's recorded answers."""

    SCOPE: ClassVar[Scope] = Scope.DOMAIN

    def prepare(self, pod: PodClass, view: View) -> Restrict | Fail | None:
        said = self.args["case"]["expect"].get("prefilter", {}).get(self.NAME)
        if said is None:
            return None
        if said["code"] != "Success":
            return Fail(said["reasons"][0])
        return Restrict(view.nodes.slots_named(said["nodes"]))

    def filter(self, pod: PodClass, view: View, slots: SlotArray) -> BoolArray:
        raise NotImplementedError

    def refusals(self, pod: PodClass, view: View, slots: SlotArray) -> list[Refusal]:
        said = self.args["case"]["expect"].get("filter", {})
        by_reason: dict[str, list[str]] = {}
        for node, plugins in said.items():
            for reason in plugins.get(self.NAME, {}).get("reasons", ()):
                by_reason.setdefault(reason, []).append(node)
        return [
            Refusal(reason, np.isin(slots, view.nodes.slots_named(names)))
            for reason, names in by_reason.items()
        ]


def recorded(case: Case) -> list[FilterRule]:
    return [type(name, (Recorded,), {"NAME": name})({"case": case}) for name in ORDER]


def test_messages_are_kube_schedulers(decided: list[Case]) -> None:
    refused = [case for case in decided if case["expect"].get("message") is not None]
    for case in refused:
        wanted = case["expect"]["message"]
        nodes, pod = world(case)
        found = diagnose(recorded(case), pod, look(nodes), nodes.live_slots())
        assert f"{wanted} ".startswith(f"{found.message} "), case["id"]
    assert len(refused) > 150
