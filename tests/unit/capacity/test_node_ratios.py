"""Overcommit in the engine: ratios of nodes, claims up to the cap, exclusive cores, shrinking."""

import json

import pytest

from stretto.api.wire.kinds import CUSTOM_NODE_RESOURCE, EVENT, NODE, NODE_OVERCOMMIT_CONFIG
from stretto.base.clock import timestamp
from stretto.capacity.overcommit.nodes import stepped
from stretto.control.reporting.reporter import ReportConfig
from stretto.framework.profile.capacity.overcommit import POOL_LABEL
from stretto.framework.profile.profile import load_profile
from stretto.state.rows.resources import CPU, MEMORY
from stretto.stores.store import Deletion
from stretto.testing import Harness, make_node, make_pod

HULK = {"caps": {"cpu": 3, "memory": 2}, "measured": False}
ENVIRONMENT = "stretto.dev/environment"
DEDICATED = {"katalyst.kubewharf.io/qos_level": "dedicated_cores"}


def harness(
    pool: dict[str, object] | None = None, *, reports: bool = False, **labels: str
) -> Harness:
    pools = {} if pool is None else {"online": pool}
    profile = load_profile(
        {
            "profiles": [
                {"schedulerName": "stretto", "stretto": {"overcommit": {"pools": pools}}},
            ]
        }
    )
    node = make_node("n", cpu="4", memory="8Gi", labels={POOL_LABEL: "online", **labels})
    config = {"report": ReportConfig()} if reports else {}
    return Harness([node], profile=profile, config={"tier": "numpy", **config})


def placed(at: Harness) -> int:
    at.settle()
    return sum(bool(each) for each in at.placements().values())


def config(cpu: str, name: str = "c") -> bytes:
    spec = {"nodeOvercommitSelectorVal": "online", "resourceOvercommitRatio": {"cpu": cpu}}
    return json.dumps({"metadata": {"name": name}, "spec": spec}).encode()


def report(at: Harness, cpu: str, age: float = 0.0) -> bytes:
    usage = {"cpu": cpu, "memory": "1Gi"}
    metric = {
        "updateTime": timestamp(at.clock.now() - age),
        "nodeMetric": {"genericUsage": usage},
    }
    status = {"nodeMetricStatus": metric}
    return json.dumps({"metadata": {"name": "n"}, "status": status}).encode()


def given(at: Harness, column: int = CPU) -> int:
    return int(at.plane.cluster.ledger.alloc[0, column])


def test_admission_stops_at_the_coefficient_of_the_scenario() -> None:
    at = harness(HULK | {"scenarios": [{"ratios": {"cpu": 2}}]})
    at.submit(*(make_pod(f"p{i}", cpu="1") for i in range(20)))
    assert placed(at) == 8


def test_a_coefficient_above_the_cap_stops_at_the_cap() -> None:
    at = harness(HULK | {"scenarios": [{"ratios": {"cpu": 5}}]})
    at.submit(*(make_pod(f"p{i}", cpu="1") for i in range(20)))
    assert placed(at) == 12


@pytest.mark.parametrize(("environment", "amount"), [("prod", 8 << 30), ("test", 16 << 30)])
def test_memory_is_overcommitted_only_in_the_environments_of_the_pool(
    environment: str, amount: int
) -> None:
    labels = {"stretto.dev/environment": environment}
    at = harness(HULK | {"memoryEnvironments": ["test"]}, **labels)
    at.settle()
    assert given(at, MEMORY) == amount


def test_the_configured_ratio_of_an_object_applies_until_it_is_deleted() -> None:
    at = harness()
    at.create(NODE_OVERCOMMIT_CONFIG, config("1.5"))
    at.settle()
    assert given(at) == 6000
    at.store.delete(NODE_OVERCOMMIT_CONFIG, [Deletion("", "c")])
    at.settle()
    assert given(at) == 4000


def test_of_several_configured_ratios_the_smallest_applies() -> None:
    at = harness(HULK | {"static": {"cpu": 2}})
    at.create(NODE_OVERCOMMIT_CONFIG, config("1.5"), config("1.75", "d"))
    at.settle()
    assert given(at) == 6000


def test_an_unreadable_ratio_is_reported_and_turns_overcommit_off() -> None:
    at = harness()
    at.create(NODE_OVERCOMMIT_CONFIG, config("much"))
    at.settle()
    assert given(at) == 4000
    assert "got 'much'" in at.plane.cluster.abnormal["nodeovercommitconfig c"]


def test_without_the_section_in_the_profile_an_object_has_no_effect_and_this_is_reported() -> None:
    nodes = [make_node("n", cpu="4", labels={POOL_LABEL: "online"})]
    at = Harness(nodes, config={"tier": "numpy"})
    at.create(NODE_OVERCOMMIT_CONFIG, config("1.5"))
    at.settle()
    assert given(at) == 4000
    assert "no section overcommit" in at.plane.cluster.abnormal["nodeovercommitconfig c"]


def test_measured_load_bounds_the_ratio_and_old_metrics_turn_it_off() -> None:
    at = harness({"caps": {"cpu": 3}})
    at.submit(make_pod("p", cpu="2"))
    at.settle()
    at.create(CUSTOM_NODE_RESOURCE, report(at, "1"))
    at.settle()
    assert given(at) == 4 * 1200  # ((4 * 0.6 - 1) / 0.5 + 2) / 4 = 1.2
    at.clock.advance(300)
    at.settle()
    assert given(at) == 4000


def test_a_smaller_ratio_revokes_nothing_admits_nothing_and_is_reported() -> None:
    at = harness()
    at.create(NODE_OVERCOMMIT_CONFIG, config("2"))
    at.submit(*(make_pod(f"p{i}", cpu="1") for i in range(6)))
    at.settle()
    at.replace(NODE_OVERCOMMIT_CONFIG, config("1.25"))
    at.submit(make_pod("late", cpu="1"))
    assert placed(at) == 6
    assert at.plane.controllers.ratios.counts["closed"] == 1


def test_exclusive_cores_are_promised_once() -> None:
    at = harness(HULK)
    at.submit(*(make_pod(f"d{i}", cpu="2", annotations=DEDICATED) for i in range(3)))
    assert placed(at) == 2
    assert given(at) == 4000


@pytest.mark.parametrize("overcommits", [True, False])
def test_exclusive_cores_leave_the_compiled_paths_only_with_overcommit(overcommits: bool) -> None:
    at = harness(HULK) if overcommits else Harness([make_node("n")], config={"tier": "numpy"})
    at.submit(make_pod("d", annotations=DEDICATED))
    at.settle()
    assert at.plane.cluster.classes.special.any() == overcommits


def test_shared_pods_get_what_exclusive_cores_leave_times_the_ratio() -> None:
    at = harness(HULK)
    at.submit(make_pod("d", cpu="2", annotations=DEDICATED))
    at.settle()
    at.submit(*(make_pod(f"p{i}", cpu="1") for i in range(9)))
    assert placed(at) == 7


def test_a_pod_with_exclusive_cores_needs_its_ratio_of_what_is_promised() -> None:
    at = harness(HULK)
    at.submit(*(make_pod(f"p{i}", cpu="1") for i in range(9)))
    at.settle()
    at.submit(make_pod("d", cpu="2", annotations=DEDICATED))
    assert placed(at) == 9
    verdict = at.plane.verdicts.of(int(at.plane.cluster.pods.class_id[9]), 0.0)
    assert "NodeOvercommitment" in (verdict.plugins if verdict is not None else ())
    at.submit(make_pod("e", cpu="1", annotations=DEDICATED))
    assert placed(at) == 10
    assert given(at) == int(at.plane.cluster.ledger.used[0, CPU])


def test_a_recreated_node_gets_its_ratio_and_a_resized_one_keeps_it() -> None:
    at = harness(HULK)
    at.settle()
    at.store.delete(NODE, [Deletion("", "n")])
    at.settle()
    at.create_nodes(make_node("n", cpu="8", labels={POOL_LABEL: "online"}))
    at.settle()
    assert given(at) == 24_000


def test_a_claim_beyond_the_ratio_of_now_is_refused_although_the_snapshot_had_more() -> None:
    at = harness(HULK)
    at.submit(*(make_pod(f"p{i}", cpu="1") for i in range(12)))
    at.settle()
    ledger = at.plane.cluster.ledger
    assert ledger.used[0, CPU] <= 3 * 4000
    assert not ledger.fits(0, [(CPU, 1)])


def test_a_warning_is_written_on_a_node_that_closes() -> None:
    at = harness(reports=True)
    at.create(NODE_OVERCOMMIT_CONFIG, config("2"))
    at.submit(*(make_pod(f"p{i}", cpu="1") for i in range(6)))
    at.settle()
    at.replace(NODE_OVERCOMMIT_CONFIG, config("1.25"))
    at.settle()
    (event,) = [e for e in at.store.list(EVENT).records if b"OvercommitShrunk" in e.body]
    assert b"from 2 to 1.25 (the configured ratio); pods request 120 %" in event.body


def after_reports(first: str, *more: str) -> int:
    """Promised milli-CPU of a node after these reports of its use."""
    at = harness({"caps": {"cpu": 3}})
    at.submit(make_pod("p", cpu="2"))
    at.settle()
    at.create(CUSTOM_NODE_RESOURCE, report(at, first))
    at.settle()
    for cpu in more:
        at.replace(CUSTOM_NODE_RESOURCE, report(at, cpu))
        at.settle()
    return given(at)


def test_a_process_that_saw_only_the_last_report_finds_the_same_ratio() -> None:
    assert after_reports("1", "990m", "980m", "970m") == after_reports("970m")


@pytest.mark.parametrize(("ratio", "step"), [(1.0, 1.0), (1.2, 1.2), (1.249, 1.2), (2.15, 2.15)])
def test_a_measured_ratio_is_rounded_down_to_a_step(ratio: float, step: float) -> None:
    assert stepped(ratio) == step


def test_a_node_that_closes_for_several_resources_gets_one_warning() -> None:
    at = harness({**HULK, "memoryEnvironments": ["test"]}, reports=True, **{ENVIRONMENT: "test"})
    at.submit(*(make_pod(f"p{i}", cpu="1", memory="2Gi") for i in range(7)))
    at.settle()
    at.create(NODE_OVERCOMMIT_CONFIG, config("1.25"))
    low = {"cpu": "1.25", "memory": "1.25"}
    spec = {"nodeOvercommitSelectorVal": "online", "resourceOvercommitRatio": low}
    at.replace(
        NODE_OVERCOMMIT_CONFIG, json.dumps({"metadata": {"name": "c"}, "spec": spec}).encode()
    )
    at.settle()
    (event,) = [e for e in at.store.list(EVENT).records if b"OvercommitShrunk" in e.body]
    assert b"cpu: the ratio falls" in event.body
    assert b"memory: the ratio falls" in event.body
