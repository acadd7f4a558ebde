"""The roles as daemons of their own, over a real API server, under the rights that are shipped."""

import random
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from stretto.api.wire.kinds import QUEUE
from stretto.stores.kube.paths import collection_path
from stretto_lab.control_plane.cluster import ControlPlane, ControlPlaneConfig
from stretto_lab.control_plane.credentials import CertificateUser
from tests.e2e.daemon import (
    PREFIX,
    Daemon,
    bound,
    group,
    groups,
    item,
    kubectl,
    member,
    pod,
    pods_of,
    put,
    ready_nodes,
    rights_settle,
    until,
    why,
)
from tests.e2e.site import broken_laws

pytestmark = pytest.mark.kube

ROLES = Path(__file__).resolve().parents[2] / "deploy" / "rbac-roles.yaml"
SHARD_TIMEOUT = 8
ROUNDS = 6
WAVE = 40


@pytest.fixture(scope="module")
def cluster() -> Iterator[ControlPlane]:
    """A cluster with simulated kubelets, and an account for each role."""
    users = tuple(
        CertificateUser(f"stretto-{r}") for r in ("dispatcher", "shard", "binder", "controller")
    )
    with ControlPlane(ControlPlaneConfig(parts=("kwok",), users=users, audited=True)) as plane:
        plane.install()
        kubectl(plane, "apply", "-f", str(ROLES))
        rights_settle(plane)
        ready_nodes(plane, *(f"n{number}" for number in range(4)))
        yield plane


@pytest.fixture(scope="module")
def daemons(
    cluster: ControlPlane, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, Daemon]]:
    """A dispatcher, two shards, a binder and a controller."""
    folder = tmp_path_factory.mktemp("roles")
    found = {}
    for name, verb, more in (
        ("dispatcher", "dispatcher", (f"--shard-timeout={SHARD_TIMEOUT}",)),
        ("shard-0", "shard", ("shard-0", "--renew-every=1")),
        ("shard-1", "shard", ("shard-1", "--renew-every=1")),
        ("binder", "binder", ()),
        ("controller", "controller", ()),
    ):
        config = cluster.kubeconfig_of(f"stretto-{verb}")
        found[name] = Daemon(config, folder / name, *more, verb=verb)
    with ExitStack() as running:
        for daemon in found.values():
            running.enter_context(daemon)
        for daemon in found.values():
            daemon.ready()
        until(lambda: shares(cluster) == {"shard-0", "shard-1"}, found["dispatcher"].part.log_tail)
        yield found


def test_services_and_a_gang_are_placed_by_two_shards(
    cluster: ControlPlane, daemons: dict[str, Daemon], space: str
) -> None:
    put(cluster, groups(space), group("ring", 4))
    path = f"/api/v1/namespaces/{space}/pods"
    daemons["dispatcher"].part.pause()  # it deals them in one round, however quick the shards
    put(cluster, path, *(pod(f"web-{n}", "10m") for n in range(20)))
    put(cluster, path, *(member(f"ring-{n}", "ring", "10m") for n in range(4)))
    daemons["dispatcher"].part.resume()
    until(lambda: len(bound(cluster, space)) == 24, lambda: state(cluster, daemons, space))
    notes = {p["metadata"]["name"]: p["metadata"]["annotations"] for p in pods_of(cluster, space)}
    chosen = {name: note[f"{PREFIX}selected-scheduler"] for name, note in notes.items()}
    assert set(chosen.values()) == {"shard-0", "shard-1"}
    assert len({chosen[f"ring-{n}"] for n in range(4)}) == 1
    assert all(note[f"{PREFIX}pod-state"] == "assumed" for note in notes.values())

    def phase() -> bool:
        found = item(cluster, f"{groups(space)}/ring")
        return found.get("status", {}).get("phase") == "Scheduled"

    until(phase, daemons["controller"].part.log_tail)


def test_the_binder_writes_the_scheduled_event(
    cluster: ControlPlane, daemons: dict[str, Daemon], space: str
) -> None:
    put(cluster, f"/api/v1/namespaces/{space}/pods", pod("web", "10m"))
    until(lambda: "web" in bound(cluster, space), lambda: state(cluster, daemons, space))
    message = f"Successfully assigned {space}/web to {bound(cluster, space)['web']}"
    until(
        lambda: message in kubectl(cluster, "describe", "pod", "web", "-n", space),
        daemons["binder"].part.log_tail,
    )


def test_a_gang_that_does_not_fit_waits_whole(
    cluster: ControlPlane, daemons: dict[str, Daemon], space: str
) -> None:
    put(cluster, groups(space), group("big", 3))
    here = {"only": space}
    ready_nodes(cluster, f"{space}-0", cpu="2", **here)
    path = f"/api/v1/namespaces/{space}/pods"
    members = [member(f"big-{n}", "big", nodeSelector=here) for n in range(3)]
    put(cluster, path, *members, pod("beside", "10m"))
    until(lambda: "beside" in bound(cluster, space), lambda: state(cluster, daemons, space))
    until(lambda: "available" in why(cluster, "big-0", space), daemons["shard-0"].part.log_tail)
    assert set(bound(cluster, space)) == {"beside"}
    ready_nodes(cluster, f"{space}-1", cpu="2", **here)
    until(lambda: len(bound(cluster, space)) == 4, lambda: state(cluster, daemons, space))


def test_a_queue_gets_its_borrowed_quota_back(
    cluster: ControlPlane, daemons: dict[str, Daemon], space: str
) -> None:
    """More guests wait at the shards than run: none of them takes what the hosts get back."""
    here = {"only": space}
    ready_nodes(cluster, *(f"{space}-{number}" for number in range(2)), cpu="2", **here)
    for name in ("host", "guest"):
        queue(cluster, f"{space}-{name}", guarantee={"cpu": "2"})
    path = f"/api/v1/namespaces/{space}/pods"
    put(cluster, path, *(lodger(space, f"guest-{n}") for n in range(7)))

    def placed(app: str) -> int:
        return sum(name.startswith(app) for name in bound(cluster, space))

    until(lambda: placed("guest") == 4, lambda: state(cluster, daemons, space))
    put(cluster, path, *(lodger(space, f"host-{n}") for n in range(3)))
    until(
        lambda: (placed("host"), placed("guest")) == (2, 2),
        lambda: state(cluster, daemons, space),
    )
    calls = cluster.audit("stretto-dispatcher")
    requested = {c.object_ref.name for c in calls if c.what == "create pods/eviction"}
    assert len(requested) == 2  # an unanswered request may be repeated
    assert broken_laws(cluster) == []
    kubectl(cluster, "delete", "queue", f"{space}-host", f"{space}-guest")


def test_nodes_are_shared_out(cluster: ControlPlane, daemons: dict[str, Daemon]) -> None:
    until(lambda: shares(cluster) == {"shard-0", "shard-1"}, daemons["dispatcher"].part.log_tail)


def test_any_daemon_may_be_killed_at_any_instant(
    cluster: ControlPlane, daemons: dict[str, Daemon], space: str
) -> None:
    """Nothing is lost, nothing is bound twice: a node that a pod has is the node that it keeps."""
    rng = random.Random(11)
    path, seen = f"/api/v1/namespaces/{space}/pods", dict[str, str]()

    def look() -> dict[str, str]:
        for name, where in bound(cluster, space).items():
            assert seen.setdefault(name, where) == where
        return seen

    total = 0
    for number in range(ROUNDS):
        put(cluster, groups(space), group(f"g{number}", 4))
        put(cluster, path, *(member(f"g{number}-{n}", f"g{number}", "10m") for n in range(4)))
        half = WAVE // 2
        put(cluster, path, *(pod(f"p{number}-{n}", "10m") for n in range(half)))
        victim = daemons[rng.choice(["dispatcher", "shard-0", "shard-1", "binder"])]
        victim.part.kill()
        put(cluster, path, *(pod(f"p{number}-{n}", "10m") for n in range(half, WAVE)))
        victim.part.start()
        total += WAVE + 4
        look()
    until(lambda: len(look()) == total, lambda: state(cluster, daemons, space))
    bindings = [c for c in cluster.audit("stretto-binder") if c.what == "create pods/binding"]
    made = [c.object_ref.name for c in bindings if c.response_status.code == 201]
    mine = [name for name in made if name in seen]
    assert len(mine) == len(set(mine))
    assert broken_laws(cluster) == []


def test_the_pods_of_a_dead_shard_are_placed_by_the_other_within_its_time(
    cluster: ControlPlane, daemons: dict[str, Daemon], space: str
) -> None:
    daemons["shard-1"].part.kill()
    path = f"/api/v1/namespaces/{space}/pods"
    put(cluster, path, *(pod(f"late-{n}", "10m") for n in range(20)))
    until(lambda: len(bound(cluster, space)) == 20, lambda: state(cluster, daemons, space))
    notes = [p["metadata"]["annotations"] for p in pods_of(cluster, space)]
    assert {note[f"{PREFIX}selected-scheduler"] for note in notes} == {"shard-0"}
    daemons["shard-1"].part.start()


def test_the_roles_may_do_all_that_they_try(
    cluster: ControlPlane, daemons: dict[str, Daemon]
) -> None:
    for role in ("dispatcher", "shard", "binder", "controller"):
        calls = cluster.audit(f"stretto-{role}")
        assert calls
        assert {call.what for call in calls if call.response_status.code == 403} == set()


def shares(plane: ControlPlane) -> set[str]:
    """Whose the nodes are."""
    items = item(plane, "/api/v1/nodes")["items"]
    notes = [each["metadata"].get("annotations", {}) for each in items]
    return {note.get(f"{PREFIX}scheduler-name", "") for note in notes}


def queue(plane: ControlPlane, name: str, **spec: Any) -> None:
    """A Queue."""
    whole = {"apiVersion": QUEUE.api_version, "kind": "Queue", "metadata": {"name": name}}
    put(plane, collection_path(QUEUE), {**whole, "spec": spec})


def lodger(space: str, name: str) -> dict[str, Any]:
    """A pod of one core on the nodes of a space, in the queue of the first part of its name."""
    found = pod(name, "1", nodeSelector={"only": space})
    queue_name = f"{space}-{name.partition('-')[0]}"
    found["metadata"]["annotations"] = {"stretto.dev/queue": queue_name}
    return found


def state(plane: ControlPlane, daemons: dict[str, Daemon], space: str) -> str:
    """The state of all parts, for a test that times out."""
    waiting = [
        (p["metadata"]["name"], p["metadata"].get("annotations"))
        for p in pods_of(plane, space)
        if "nodeName" not in p["spec"]
    ]
    said = "\n".join(f"{name}: {d.part.log_tail()[-600:]}" for name, d in daemons.items())
    return f"{waiting[:6]}\n{said}"
