"""Rules of plugin authors: called in NumPy, cached like built-in ones, harmless when they fail."""

from typing import ClassVar

import numpy as np
import pytest

from stretto.base.registry import Registry
from stretto.framework.contract.rule import (
    BoolArray,
    FilterRule,
    IntArray,
    Refusal,
    Scope,
    ScoreRule,
    SlotArray,
    View,
)
from stretto.framework.engine.runtime import Runtime
from stretto.framework.plugins.table import RULES
from stretto.framework.profile.profile import Profile, load_profile
from stretto.state.classes.table import PodClass
from stretto.state.rows.resources import CPU
from stretto.testing import Harness, make_node, make_pod

#: The first call of a kernel with a rule in Python compiles it where that was not done ahead.
pytestmark = pytest.mark.timeout(300)


class KeepCores(FilterRule):
    """Keeps three cores free on every node."""

    NAME: ClassVar[str] = "KeepCores"
    SCOPE: ClassVar[Scope] = Scope.SLOT

    def filter(self, pod: PodClass, view: View, slots: SlotArray) -> BoolArray:
        return view.columns.free[0, slots] >= 3000

    def refusals(self, pod: PodClass, view: View, slots: SlotArray) -> list[Refusal]:
        return [Refusal("node(s) keep their last cores", ~self.filter(pod, view, slots))]


class LastName(ScoreRule):
    """Prefers the last node."""

    NAME: ClassVar[str] = "LastName"
    SCOPE: ClassVar[Scope] = Scope.SLOT

    def score(self, pod: PodClass, view: View, slots: SlotArray) -> IntArray:
        return np.array([100 if view.nodes.names[s] == "n2" else 0 for s in slots], np.int32)


class Broken(KeepCores):
    """Raises."""

    NAME: ClassVar[str] = "Broken"

    def filter(self, pod: PodClass, view: View, slots: SlotArray) -> BoolArray:
        raise RuntimeError("no such tariff")


class WrongShape(LastName):
    """Answers for one slot too many."""

    NAME: ClassVar[str] = "WrongShape"

    def score(self, pod: PodClass, view: View, slots: SlotArray) -> IntArray:
        return np.zeros(len(slots) + 1, np.int32)


class AboveAverage(KeepCores):
    """Keeps pods to nodes that have at least as much CPU free as the average node."""

    NAME: ClassVar[str] = "AboveAverage"
    SCOPE: ClassVar[Scope] = Scope.DOMAIN

    def filter(self, pod: PodClass, view: View, slots: SlotArray) -> BoolArray:
        free, live = view.columns.free[CPU], view.columns.live > 0
        return np.asarray(free[slots] >= free[live].mean())


OWN = {rule.NAME: rule for rule in (KeepCores, LastName, Broken, WrongShape, AboveAverage)}
ALL = Registry("plugin", {**{name: RULES.get(name) for name in RULES.names()}, **OWN})


def profile_with(point: str, name: str) -> Profile:
    enabled = {"enabled": [{"name": name, **({"weight": 9} if point == "score" else {})}]}
    return load_profile({"profiles": [{"plugins": {point: enabled}}]}, ALL)


def harness_with(point: str, name: str) -> Harness:
    nodes = [make_node("n1", cpu="4"), make_node("n2", cpu="4")]
    return Harness(nodes, profile=profile_with(point, name))


def test_a_filter_of_an_author_is_called_again_when_a_slot_changes() -> None:
    harness = harness_with("filter", "KeepCores")
    harness.submit(*(make_pod(f"p{i}", cpu="1") for i in range(6)))
    harness.settle()
    assert sorted(harness.placements().values()) == ["", "", "n1", "n1", "n2", "n2"]


def test_a_built_in_rule_without_a_compiled_form_runs_in_python(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("stretto.framework.profile.profile.RULES", ALL)
    assert profile_with("filter", "KeepCores").outside == ()
    filtered, scored = harness_with("filter", "KeepCores"), harness_with("score", "LastName")
    filtered.submit(*(make_pod(f"p{i}", cpu="1") for i in range(6)))
    scored.submit(make_pod("p"))
    filtered.settle()
    scored.settle()
    assert sorted(filtered.placements().values()) == ["", "", "n1", "n1", "n2", "n2"]
    assert scored.node_of("p") == "n2"


def test_a_score_of_an_author_decides_by_its_weight() -> None:
    harness = harness_with("score", "LastName")
    harness.submit(make_pod("p"))
    harness.settle()
    assert harness.node_of("p") == "n2"


def test_rows_with_an_authors_rule_equal_the_rules_own_answers() -> None:
    harness = harness_with("filter", "KeepCores")
    harness.submit(*(make_pod(f"p{i}", cpu="1") for i in range(6)))
    harness.settle()
    runtime = harness.plane.shards[0].default.runtime
    assert isinstance(runtime, Runtime)
    runtime.sync()
    assert np.array_equal(runtime.row(0), runtime.reference_row(0))


def test_a_filter_that_raises_refuses_by_name_and_the_scheduler_goes_on() -> None:
    harness = harness_with("filter", "Broken")
    harness.submit(make_pod("p"))
    harness.settle()
    assert harness.node_of("p") == ""
    assert "no such tariff" in harness.plane.engine.python_rules.faults["Broken"]


def test_a_score_of_the_wrong_shape_counts_for_nothing_and_is_reported() -> None:
    harness = harness_with("score", "WrongShape")
    harness.submit(make_pod("p"))
    harness.settle()
    assert harness.node_of("p") != ""
    assert "expected int32[" in harness.plane.engine.python_rules.faults["WrongShape"]


def test_a_filter_of_an_author_over_domains_is_called_at_every_decision() -> None:
    nodes = [make_node("large", cpu="8"), make_node("small", cpu="4")]
    harness = Harness(nodes, profile=profile_with("filter", "AboveAverage"))
    harness.submit(*(make_pod(f"p{i}", cpu="1") for i in range(6)))
    harness.settle()
    placed = [harness.node_of(f"p{i}") for i in range(6)]
    assert (placed[:4], set(placed[4:])) == (["large"] * 4, {"large", "small"})
