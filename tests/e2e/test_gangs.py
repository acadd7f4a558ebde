"""Gangs on an API server, which binds pod by pod: a partially rejected gang is repaired."""

import pytest

from tests.e2e.daemon import PODS, group, member, pods_of, put
from tests.e2e.plane import GROUPS, Ground
from tests.e2e.test_cases_faults import once

pytestmark = pytest.mark.kube


def ring(ground: Ground, timeout: int = 300) -> None:
    """A group of three, whose time begins when its pods are known."""
    put(ground.site, PODS, *(member(f"m{number}", "ring") for number in range(3)))
    uids = [each["metadata"]["uid"] for each in pods_of(ground.site)]
    ground.go(lambda: all(ground.plane.cluster.pods.row(uid) is not None for uid in uids))
    body = group("ring", 3)
    body["spec"]["scheduleTimeoutSeconds"] = timeout
    put(ground.site, GROUPS, body)


def test_a_gang_that_lost_a_pod_between_claim_and_bind_is_completed(ground: Ground) -> None:
    ground.nodes("n0", cpu="4")
    ground.synced()
    ring(ground)
    seen = once(ground, "binder.before-write", lambda: ground.remove("m2"))
    ground.go(lambda: bool(seen) and "m0" in ground.bound())
    put(ground.site, PODS, member("again", "ring"))  # as its controller does
    ground.go(lambda: set(ground.bound()) == {"m0", "m1", "again"})
    ground.laws_hold()


def test_a_gang_that_is_not_whole_again_in_time_is_released(ground: Ground) -> None:
    ground.nodes("n0", cpu="4")
    ground.synced()
    ring(ground, timeout=4)
    seen = once(ground, "binder.before-write", lambda: ground.remove("m2"))
    ground.go(lambda: bool(seen) and ground.places.most(ground.site) == 1)
    ground.go(lambda: all_leaving(ground))


def all_leaving(ground: Ground) -> bool:
    """Whether all pods on nodes are terminating or deleted."""
    pods = [each for each in pods_of(ground.site) if each["spec"].get("nodeName")]
    return all("deletionTimestamp" in each["metadata"] for each in pods)
