"""The budget or queue that protects pods from an eviction is named, also in a record."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from stretto.explain.why.forbidden import HeldFacts
from stretto.explain.why.sources.loaded import LoadedRun
from stretto.explain.why.why import explain_pod
from stretto.plane.copy import SchedulingRules
from stretto.sim.states.scenario_end import record_scenario
from tests.support.explained import explained
from tests.support.preemption_plane import budget, high, low, running

SCENARIO = """
name: owned
seed: 1
fleet:
  shapes:
    - {name: node, count: 1, cpu: 2, memory: 8Gi}
queues:
  - {name: a, policy: FifoSkip, guarantee: {cpu: "2"}}
workloads:
  - name: own
    pods: {count: 2, cpu: 1, memory: 1Gi, annotations: {stretto.dev/queue: a}}
  - name: urgent
    pods: {count: 1, cpu: 1, memory: 1Gi, priority: 9}
    arrival: {at: 10}
"""


@pytest.fixture
def recorded(tmp_path: Path) -> Iterator[LoadedRun]:
    scenario = tmp_path / "owned.yaml"
    scenario.write_text(SCENARIO, encoding="utf-8")
    record_scenario(scenario, SchedulingRules("", "numpy"), tmp_path / "run.sqlite")
    with closing(LoadedRun(tmp_path / "run.sqlite")) as run:
        yield run


def test_a_budget_is_named_with_the_pods_that_it_covers() -> None:
    harness = running(low(labels={"app": "web"}), budgets="hard")
    budget(harness, minAvailable=1)
    harness.submit(high())
    harness.settle(30)
    found = explained(harness, "high").preemption
    assert found is not None
    reason = "node(s) had pods that a disruption budget protects"
    assert found.held == (HeldFacts(reason, "n", ("default/low",), 1, ("budget default/pdb",)),)


def test_the_queue_whose_guarantee_protects_pods_is_named_in_a_record(recorded: LoadedRun) -> None:
    found = explain_pod(recorded.scene, "urgent-0").preemption
    assert found is not None
    assert found.held[0].pods == ("default/own-0", "default/own-1")
    assert found.held[0].by == ("queue a",)
