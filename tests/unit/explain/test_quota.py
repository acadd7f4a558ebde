"""Limits of queues as reasons: which limit of which queue, in words, in metrics, in records."""

import msgspec

from stretto.api.types.godel import Queue, QueueSpec
from stretto.api.wire.kinds import POD_GROUP, QUEUE
from stretto.api.wire.meta import ObjectMeta
from stretto.control.queues.config import dispatcher_config, queue_config
from stretto.explain.metrics.census import Census
from stretto.explain.why.answers import Explanation
from stretto.explain.why.sources.live import live_scene
from stretto.explain.why.why import explain_pod
from stretto.explain.words.reasons import ReasonCode, ReasonTier
from stretto.framework.profile.profile import load_profile
from stretto.sim.pending import waiting_pods
from stretto.testing import Harness, make_group, make_node, make_pod

NOTES = {"stretto.dev/queue": "team"}


def harness(**spec: object) -> Harness:
    queue = Queue(ObjectMeta(name="team"), msgspec.convert(spec, QueueSpec))
    config = dispatcher_config(load_profile("default")).having([queue_config(queue)])
    nodes = [make_node("n", cpu="64")]
    made = Harness(nodes=nodes, config={"tier": "numpy", "dispatcher": config})
    body = msgspec.json.encode({"metadata": {"name": "team"}, "spec": spec})
    made.create(QUEUE, body)
    made.submit(*(make_pod(f"p{i}", cpu="2", annotations=NOTES) for i in range(3)))
    made.settle()
    return made


def reported(at: Harness, pod: str) -> Explanation:
    plane = at.plane
    views = plane.dispatcher.views
    return explain_pod(live_scene(plane.cluster, plane.config.profile, plane.units, views), pod)


def waiting(at: Harness) -> str:
    return next(name for name, node in at.placements().items() if not node)


def test_the_limit_that_keeps_a_pod_waiting_is_the_reason() -> None:
    at = harness(limit={"cpu": 5})
    said = reported(at, waiting(at))
    assert said.dominant is not None
    assert (said.dominant.code, said.dominant.tier) == (ReasonCode.QUEUE_LIMIT, ReasonTier.QUOTA)
    words = "queue team has reached its limit: cpu 4 of 5 used, 2 requested"
    assert words in said.dominant.sentence


def test_a_gang_under_a_limit_does_not_report_that_fewer_members_would_start() -> None:
    at = harness(limit={"cpu": 6})
    at.create(POD_GROUP, make_group("g", 3))
    at.submit(*(make_pod(f"g{i}", cpu="2", group="g", annotations=NOTES) for i in range(3)))
    at.settle()
    said = reported(at, "g0")
    (limit,) = said.cures
    assert (limit.queue, limit.resource, limit.amount) == ("team", "cpu", 12000)


def test_pods_that_finish_are_no_cure_of_a_unit_above_the_limit() -> None:
    at = harness(limit={"cpu": "8"})
    at.submit(make_pod("big", cpu="10", annotations=NOTES))
    at.settle()
    (cure,) = reported(at, "big").cures
    assert cure.sentence == (
        "Raising the limit of queue team to 16 cpu would let it start: it requests more than the "
        "limit."
    )


def test_units_that_may_run_are_a_limit_too() -> None:
    at = harness(maxRunningUnits=1)
    said = reported(at, waiting(at))
    assert said.dominant is not None
    assert "queue team has reached its limit: 1 of 1 units running" in said.dominant.sentence


def test_pods_under_a_limit_are_counted_under_its_code() -> None:
    at = harness(limit={"cpu": 5})
    plane = at.plane
    census = Census(plane.engine, plane.units, plane.dispatcher.views)
    assert census.counts(0.0) == {"queue-limit": 1}
    assert [(each.code, each.pods) for each in waiting_pods(plane)] == [("queue-limit", 1)]


def test_limits_with_capacity_are_not_reported() -> None:
    at = harness(limit={"cpu": 50})
    assert at.plane.dispatcher.views.has_limits
    assert Census(at.plane.engine, at.plane.units, at.plane.dispatcher.views).counts(0.0) == {}
