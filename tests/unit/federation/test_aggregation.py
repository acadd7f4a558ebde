"""The status of a source from the status of its members."""

from typing import Any

import msgspec

from stretto.api.wire.kinds import POD
from stretto.federation.objects.aggregation.builtin import aggregate_of
from stretto.reconcile.cache import StoredObject
from stretto.stores.store import Record


def pod(cluster: str, **status: Any) -> StoredObject:
    body = msgspec.json.encode({"metadata": {"name": "one"}, "spec": {}, "status": status})
    return StoredObject(Record(POD, "default", "one", "uid", 1, body), cluster)


def status_of(*pods: StoredObject) -> dict[str, Any]:
    rule = aggregate_of("Pod")
    assert rule is not None
    return rule(pods)


def test_the_worst_phase_counts_and_names_its_clusters() -> None:
    found = status_of(
        pod("beta", phase="Failed"), pod("alpha", phase="Failed"), pod("c", phase="Running")
    )
    assert (found["phase"], found["message"]) == ("Failed", "Pod failed in clusters [alpha,beta]")


def test_containers_carry_the_name_of_their_cluster() -> None:
    containers = [{"name": "main", "ready": True}]
    found = status_of(pod("alpha", phase="Running", containerStatuses=containers))
    assert found["containerStatuses"] == [{"name": "main (alpha)", "ready": True}]


def test_the_earliest_start_counts() -> None:
    early, late = "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"
    found = status_of(
        pod("a", phase="Running", startTime=late), pod("b", phase="Running", startTime=early)
    )
    assert found["startTime"] == early
