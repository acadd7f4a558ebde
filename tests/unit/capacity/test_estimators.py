"""Estimators of the headroom of a node, and pools whose reports are too old."""

import json
from math import exp

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stretto.api.wire.kinds import CUSTOM_NODE_RESOURCE
from stretto.base.clock import timestamp
from stretto.base.errors import InputError
from stretto.capacity.reclaim.estimators import estimator
from stretto.capacity.reclaim.reading import HeadroomReading, OwnerPod, Pair
from stretto.capacity.reclaim.reservation import PodUseNow, ReservationRules, next_reservation
from stretto.framework.profile.capacity.reclaim import (
    Estimator,
    ExtendedNames,
    ReclaimRules,
    read_reclaim,
)
from stretto.framework.profile.profile import load_profile
from stretto.testing import Harness, make_node, make_pod

GIB = 1 << 30
NODE = (16_000, 64 * GIB)
RULES = ReservationRules()


def reading(use: Pair | None, at_s: float = 0.0, age_s: float = 9000.0) -> HeadroomReading:
    pod = OwnerPod("u", (8000, 32 * GIB), use, age_s)
    return HeadroomReading(NODE, use or (0, 0), (0, 0), (pod,), at_s)


def rules(kind: Estimator) -> ReclaimRules:
    return ReclaimRules(estimator=kind)


@pytest.mark.parametrize("kind", Estimator)
def test_a_pod_that_is_not_measured_lends_none_of_its_request(kind: Estimator) -> None:
    cpu = estimator(rules(kind)).estimate(reading(None)).cpu
    assert kind is Estimator.UTILISATION or cpu <= NODE[0] - 8000


@pytest.mark.parametrize(
    ("kind", "cpu"),
    [
        (Estimator.CANONICAL, 16_000 - 2500 - 1000),
        (Estimator.BATCH, 9600 - 2000 - 1000),
        (Estimator.UTILISATION, (1000 * (16 - 2 - 1))),
    ],
)
def test_the_headroom_of_each_estimator(kind: Estimator, cpu: int) -> None:
    assert estimator(rules(kind)).estimate(reading((2000, 8 * GIB)))[0] == cpu


@pytest.mark.parametrize("kind", [e for e in Estimator if e is not Estimator.UTILISATION])
@given(calm=st.integers(0, 8000), busy=st.integers(0, 8000), steps=st.integers(1, 6))
def test_lower_use_never_lowers_the_headroom(
    kind: Estimator, calm: int, busy: int, steps: int
) -> None:
    low, high = sorted((calm, busy))
    one, two = estimator(rules(kind)), estimator(rules(kind))
    for step in range(steps):
        less = one.estimate(reading((low, GIB), 60.0 * step))
        more = two.estimate(reading((high, GIB), 60.0 * step))
        assert less[0] >= more[0]


def test_a_new_pod_keeps_its_request_and_then_its_reservation_decays_to_the_use() -> None:
    young = PodUseNow(8.0, 1.0, 299.0)
    assert next_reservation(8.0, young, 60.0, RULES) == 8.0
    later = next_reservation(8.0, PodUseNow(8.0, 1.0, 600.0), 300.0, RULES)
    assert later == pytest.approx(1.15 + 6.85 * exp(-1))


def test_a_reservation_grows_at_once_and_beyond_the_request_only_with_the_use() -> None:
    assert next_reservation(1.0, PodUseNow(8.0, 4.0, 900.0), 0.0, RULES) == pytest.approx(4.6)
    assert next_reservation(1.0, PodUseNow(8.0, 7.9, 900.0), 0.0, RULES) == 8.0
    assert next_reservation(1.0, PodUseNow(8.0, 9.0, 900.0), 0.0, RULES) == 9.0


@pytest.mark.parametrize("use", [None, float("nan"), -1.0, float("inf")])
def test_use_that_cannot_be_keeps_the_request(use: float | None) -> None:
    assert next_reservation(2.0, PodUseNow(8.0, use, 900.0), 60.0, RULES) == 8.0


def test_time_that_goes_back_releases_nothing() -> None:
    assert next_reservation(8.0, PodUseNow(8.0, 1.0, 900.0), -3600.0, RULES) == 8.0


def test_exclusive_cores_are_never_loaned() -> None:
    pod = OwnerPod("u", (8000, GIB), (0, 0), 9000.0, exclusive=True)
    found = HeadroomReading(NODE, (0, 0), (0, 0), (pod,), 0.0)
    for kind in (Estimator.CANONICAL, Estimator.BATCH, Estimator.RESERVATION):
        assert estimator(rules(kind)).estimate(found)[0] <= 8000


@pytest.mark.parametrize(
    ("form", "said"),
    [
        ({"estimator": "borg"}, "reservation"),
        ({"margin": -1}, r"reclaim\.margin: got -1"),
        ({"degrade": 3}, "unknown field"),
    ],
)
def test_an_invalid_section_is_refused_with_its_path(form: object, said: str) -> None:
    with pytest.raises(InputError, match=said):
        read_reclaim(form, "reclaim")


def test_the_names_of_extended_resources_are_those_of_their_systems() -> None:
    assert ExtendedNames.BATCH.names == ("kubernetes.io/batch-cpu", "kubernetes.io/batch-memory")
    assert ExtendedNames.NONE.names is None


def lending(later: float = 0.0) -> Harness:
    """A node whose pool was measured so many seconds after now; a report is valid for 600 s."""
    profile = load_profile({"profiles": [{"stretto": {"reclaim": {"degradeSeconds": 600}}}]})
    at = Harness([make_node("n", cpu="4")], profile=profile, config={"tier": "numpy"})
    at.create(CUSTOM_NODE_RESOURCE, report(at, later))
    return at


def test_a_report_that_is_too_old_lends_nothing_until_the_next_one() -> None:
    at, best_effort = lending(), {"katalyst.kubewharf.io/qos_level": "reclaimed_cores"}
    at.submit(make_pod("first", cpu="1", annotations=best_effort))
    at.settle()
    at.clock.advance(3600)
    at.submit(make_pod("second", cpu="1", annotations=best_effort))
    at.settle()
    assert at.placements() == {"first": "n", "second": ""}
    at.replace(CUSTOM_NODE_RESOURCE, report(at))
    at.settle(60)
    assert at.node_of("second") == "n"


def report(at: Harness, later: float = 0.0) -> bytes:
    status = {
        "resources": {"allocatable": {"cpu": "3", "memory": "4Gi", "pods": "10"}},
        "nodeMetricStatus": {
            "updateTime": timestamp(at.clock.now() + later),
            "nodeMetric": {"genericUsage": {"cpu": "1", "memory": "1Gi"}},
        },
    }
    return json.dumps({"metadata": {"name": "n"}, "status": status}).encode()
