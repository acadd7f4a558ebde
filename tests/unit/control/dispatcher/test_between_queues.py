"""Policies between queues: the table, the entry-point group, and measures that fail."""

import sys
from collections.abc import Callable
from importlib.metadata import EntryPoint
from types import SimpleNamespace

import pytest

from stretto.api.types.godel import Queue, QueueSpec
from stretto.api.wire.meta import ObjectMeta
from stretto.base import extensions
from stretto.base.errors import InputError, UnknownNameError
from stretto.control.queues.config import QueueConfig, queue_config
from stretto.control.queues.policies import FIRST_COME, order_policy
from stretto.state.queues.shape import SiblingPolicy
from stretto.state.queues.siblings import (
    GROUP,
    SIBLING_POLICIES,
    SiblingMeasure,
    SiblingUsage,
    dominant_share,
    measured,
    share_of_resource,
)
from tests.unit.control.dispatcher.fake_cluster import Desk

MOST = "example.com/Most"


@pytest.fixture
def install(monkeypatch: pytest.MonkeyPatch) -> Callable[[object], None]:
    """Installs one package with the policy ``MOST`` between queues."""

    def installed(offered: object) -> None:
        entry = EntryPoint(MOST, "most_package:OFFERED", GROUP)
        monkeypatch.setitem(sys.modules, "most_package", SimpleNamespace(OFFERED=offered))
        monkeypatch.setattr(
            extensions, "entry_points", lambda group: [entry] if group == GROUP else []
        )

    return installed


def measure_of(number: Callable[[SiblingUsage], float]) -> SiblingMeasure:
    return SiblingMeasure(number, uses_resource=False)


def desk_with(policy: str) -> Desk:
    top = QueueConfig("top", policy)
    children = [QueueConfig(name, "FIFO", parent="top") for name in "ab"]
    desk = Desk(top, *children, always_counts=True)
    desk.arrive("a1", "a2", "a3", queue="a")
    desk.arrive("b1", "b2", "b3", queue="b")
    return desk


def faults(desk: Desk) -> tuple[str, ...]:
    usage = desk.dispatcher._places.usage
    assert usage is not None
    return usage.tree.faults.get("top", ())


def usage_of(used: dict[int, int], **more: object) -> SiblingUsage:
    base = SiblingUsage(used, ((0, 10), (1, 4)), 1.0, {}, 1, lambda _: 1)
    return base._replace(**more)


def test_every_built_in_name_is_in_the_table() -> None:
    assert set(SIBLING_POLICIES.built_in()) == {each.value for each in SiblingPolicy}


def test_every_policy_has_a_sentence() -> None:
    assert all(policy.sentence for _, policy in SIBLING_POLICIES.items())


def test_the_measure_of_a_package_decides_the_turns(install: Callable[[object], None]) -> None:
    install(measure_of(lambda usage: -usage.share("cpu")))
    assert desk_with(MOST).sent() == ["a1", "a2", "a3", "b1", "b2", "b3"]


def test_equal_measures_go_to_the_older_queue(install: Callable[[object], None]) -> None:
    install(measure_of(lambda _: 0.0))
    assert desk_with(MOST).sent()[:3] == ["a1", "a2", "a3"]


def test_a_queue_object_names_the_policy(install: Callable[[object], None]) -> None:
    install(measure_of(dominant_share))
    queue = Queue(metadata=ObjectMeta(name="top"), spec=QueueSpec(policy=MOST))
    assert queue_config(queue).siblings == MOST
    assert order_policy(MOST) is FIRST_COME


def test_an_unknown_policy_is_refused_with_all_names(install: Callable[[object], None]) -> None:
    install(measure_of(dominant_share))
    with pytest.raises(UnknownNameError, match=MOST):
        order_policy("example.com/Mst")


@pytest.mark.parametrize("name", ["FIFO", "Easy", "example.com/Other", "Weighted"])
def test_other_policies_leave_the_turns_by_weight(name: str) -> None:
    assert QueueConfig("q", name).siblings == SiblingPolicy.WEIGHT


def test_by_weight_is_no_policy_of_a_queue_object() -> None:
    with pytest.raises(UnknownNameError):
        order_policy("Weighted")


def test_a_package_that_offers_another_type_is_refused(install: Callable[[object], None]) -> None:
    install(dominant_share)
    with pytest.raises(InputError, match=r"siblings\.SiblingMeasure"):
        queue_config(Queue(metadata=ObjectMeta(name="top"), spec=QueueSpec(policy=MOST)))


@pytest.mark.parametrize("number", [float("nan"), float("inf"), None, "x"])
def test_a_failed_measure_is_replaced_and_noted_once(
    install: Callable[[object], None], number: float
) -> None:
    install(measure_of(lambda _: number))
    desk = desk_with(MOST)
    assert desk.sent() == ["a1", "b1", "a2", "b2", "a3", "b3"]
    assert len(faults(desk)) == 1
    assert "policy between queues" in faults(desk)[0]


def test_an_error_of_a_measure_is_named() -> None:
    number, fault = measured(lambda usage: usage.share("cpu") / 0, usage_of({0: 5}))
    assert (number, "ZeroDivisionError" in fault) == (0.5, True)


def test_the_dominant_share_is_the_largest_for_the_weight() -> None:
    assert dominant_share(usage_of({0: 5, 1: 1})) == 0.5
    assert dominant_share(usage_of({0: 5, 1: 1}, weight=2.0)) == 0.25
    assert dominant_share(usage_of({0: 5, 1: 1}, weights={0: 10.0})) == 0.25


def test_the_share_of_a_resource_ignores_the_others() -> None:
    assert share_of_resource(usage_of({0: 5, 1: 1})) == 0.25
    assert share_of_resource(usage_of({0: 5, 1: 1}, weights={1: 0.5})) == 0.5
    assert share_of_resource(usage_of({7: 3}, resource=7)) == 3.0


def test_a_share_by_name_reads_the_column_of_that_name() -> None:
    assert (usage_of({1: 1}).share("memory"), usage_of({}).share("memory")) == (0.25, 0.0)
    assert usage_of({9: 1}, column=lambda _: 9).share("odd") == 0.0
