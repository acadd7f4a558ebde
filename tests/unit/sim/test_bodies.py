"""Pods as JSON: quick ones equal the plain ones."""

import msgspec
import pytest

from stretto.inputs.neutral.fleet import FleetPod
from stretto.inputs.objects.objects import pod_object
from stretto.sim import bodies
from stretto.sim.bodies import PodEncoder

PODS = [
    FleetPod("a", 1000, 512, 1, 300, ("T4", "G2"), "LS"),
    FleetPod("Odd_Name", 1000, 512),
    FleetPod("c", 1500, 512, 2, 1000, priority=7, group="Gang_1"),
]


@pytest.mark.parametrize("kept", [1, 10_000])
def test_a_body_is_that_of_the_object(monkeypatch: pytest.MonkeyPatch, kept: int) -> None:
    monkeypatch.setattr(bodies, "CACHED_SPECS", kept)
    made = PodEncoder()
    for pod in PODS * 2:
        assert msgspec.json.decode(made.body(pod)) == pod_object(pod)


def test_a_pod_may_come_under_another_name() -> None:
    body = msgspec.json.decode(PodEncoder().body(PODS[0], "a-again-1"))
    assert body["metadata"]["name"] == "a-again-1"
