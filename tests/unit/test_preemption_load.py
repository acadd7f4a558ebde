"""Preemption where a filter with a Python form decides: it is asked without the victims."""

import json
from typing import Any, ClassVar

import msgspec
import pytest

from stretto.api.wire.kinds import CUSTOM_NODE_RESOURCE
from stretto.base.clock import timestamp
from stretto.framework.contract.rule import BoolArray, FilterRule, Scope, SlotArray, View
from stretto.framework.preemption.explain import preemption_words
from stretto.framework.preemption.terms import PriorityTerms
from stretto.framework.profile.guard import guard
from stretto.framework.profile.profile import Profile, load_profile
from stretto.state.classes.table import PodClass
from stretto.state.rows.resources import CPU
from stretto.testing import Harness, make_node, make_pod

HOT = "node(s) cpu usage exceed threshold"


class KeepCores(FilterRule):
    """Keeps six cores free on every node."""

    NAME: ClassVar[str] = "KeepCores"
    SCOPE: ClassVar[Scope] = Scope.SLOT

    def filter(self, pod: PodClass, view: View, slots: SlotArray) -> BoolArray:
        return view.columns.free[CPU, slots] >= 6000


def by_load() -> Profile:
    plugins = {"filter": {"enabled": [{"name": "LoadAware"}]}}
    return load_profile({"profiles": [{"plugins": plugins}]})


def by_cores() -> Profile:
    profile = load_profile("default")
    return msgspec.structs.replace(profile, filters=(*profile.filters, guard(KeepCores({}))))


def report(cpu: str, levels: dict[str, str] | None = None) -> bytes:
    """A report of the node's use, and of that of pods that are levels of their own."""
    groups = [
        {"genericUsage": {"cpu": use}, "podList": [f"default/{pod}"]}
        for pod, use in (levels or {}).items()
    ]
    metric: dict[str, Any] = {"updateTime": timestamp(60.0), "groupMetric": groups}
    metric["nodeMetric"] = {"genericUsage": {"cpu": cpu, "memory": "1Gi"}}
    status = {"nodeMetricStatus": metric}
    return json.dumps({"metadata": {"name": "n"}, "status": status}).encode()


def full(profile: Profile, *bodies: bytes) -> Harness:
    """A node of ten cores with two pods of three cores, of low and of middle priority."""
    made = Harness([make_node("n", cpu="10")], profile=profile, config={"tier": "numpy"})
    made.submit(make_pod("low", cpu="3", priority=1), make_pod("middle", cpu="3", priority=5))
    made.settle()
    made.create(CUSTOM_NODE_RESOURCE, *bodies)
    return made


def after(made: Harness, *pods: bytes) -> set[str]:
    made.submit(*pods)
    made.settle(5.0)
    return {name for name, node in made.placements().items() if node}


@pytest.mark.parametrize("profile", [by_load(), by_cores()], ids=["load", "a user's rule"])
def test_pods_are_evicted_from_a_node_that_a_filter_refuses_with_them(profile: Profile) -> None:
    made = full(profile, report("6500m"))
    assert after(made, make_pod("high", cpu="1", priority=9)) == {"middle", "high"}


@pytest.mark.parametrize(("low", "stay"), [("3", {"middle", "high"}), ("100m", {"low", "high"})])
def test_a_victim_frees_the_use_that_was_measured_of_it(low: str, stay: set[str]) -> None:
    made = full(by_load(), report("7500m", {"low": low, "middle": "4"}))
    assert after(made, make_pod("high", cpu="1", priority=9)) == stay


def test_no_pod_is_evicted_where_the_load_stays_too_high() -> None:
    made = full(by_load(), report("9", {"low": "100m", "middle": "100m"}))
    assert after(made, make_pod("high", cpu="1", priority=9)) == {"low", "middle"}


def test_a_gang_evicts_the_pods_whose_load_is_in_its_way() -> None:
    made = full(by_load(), report("6500m"))
    made.group("g", 2)
    gang = [make_pod(f"g{i}", cpu="1", priority=9, group="g") for i in range(2)]
    assert after(made, *gang) == {"middle", "g0", "g1"}


def test_a_load_that_no_eviction_ends_is_named() -> None:
    made = full(by_load(), report("9", {"low": "100m", "middle": "100m"}))
    made.submit(make_pod("high", cpu="1", priority=9))
    made.settle()
    pods = made.plane.cluster.pods
    row = next(each for each in pods.rows().tolist() if pods.name[each] == "high")
    terms = PriorityTerms(made.plane.cluster, made.plane.config.profile.preemption)
    found = preemption_words(made.plane.engine, made.plane.budgets, row, 0.0, terms)
    assert found is not None
    assert found.nodes == ((HOT, 1),)
