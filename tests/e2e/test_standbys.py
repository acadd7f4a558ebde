"""Two processes of each role: when one is killed, the other takes over within the lease."""

import random
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from stretto_lab.control_plane.cluster import ControlPlane, ControlPlaneConfig
from stretto_lab.control_plane.credentials import CertificateUser
from tests.e2e.daemon import (
    LEASES,
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
)
from tests.e2e.site import broken_laws

pytestmark = pytest.mark.kube

ROLES = Path(__file__).resolve().parents[2] / "deploy" / "rbac-roles.yaml"
LEASE = 8
"""Seconds; the shortest that there is."""
VERBS = ("dispatcher", "shard", "binder", "controller")
WAVE = 60
GROUP = 4


class Pair:
    """Two processes of one role; the lease names the leader."""

    def __init__(self, plane: ControlPlane, verb: str, folder: Path) -> None:
        self.plane, self.verb = plane, verb
        self.lease = f"stretto-{verb}" + "-0" * (verb == "shard")
        words = [f"--lease-duration={LEASE}"]
        if verb == "shard":
            words = ["shard-0", "--renew-every=1", *words]
        config = plane.kubeconfig_of(f"stretto-{verb}")
        self.both = [Daemon(config, folder / f"{verb}-{n}", *words, verb=verb) for n in range(2)]

    def holder(self) -> str:
        """The holder of the lease."""
        return str(item(self.plane, f"{LEASES}/{self.lease}")["spec"]["holderIdentity"])

    def turns(self) -> int:
        """The number of transitions of the lease."""
        return int(item(self.plane, f"{LEASES}/{self.lease}")["spec"]["leaseTransitions"])

    def leader(self) -> Daemon:
        """The process that holds the lease."""
        until(lambda: self.holder() != "", self.said)
        pid = int(self.holder().split("_")[-2])
        return next(each for each in self.both if each.part.pid == pid)

    def stands(self) -> bool:
        """Return whether one of the two leads and the other is ready to."""
        leader = self.leader()
        return leader.is_ready() and all(e.stands_by() for e in self.both if e is not leader)

    def is_followed(self, turns: int) -> bool:
        """Return whether the lease has more transitions than this."""
        return self.turns() > turns

    def said(self) -> str:
        """Return the last log lines of both."""
        return "\n".join(f"{self.verb}: {each.part.log_tail()[-500:]}" for each in self.both)


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Pair]]:
    """A cluster with two of each role; one leads."""
    folder = tmp_path_factory.mktemp("pairs")
    users = tuple(CertificateUser(f"stretto-{verb}") for verb in VERBS)
    config = ControlPlaneConfig(parts=("kwok",), users=users, audited=True)
    with ControlPlane(config) as plane:
        plane.install()
        kubectl(plane, "apply", "-f", str(ROLES))
        rights_settle(plane)
        ready_nodes(plane, *(f"n{number}" for number in range(10)))  # a node takes 110 pods
        found = {verb: Pair(plane, verb, folder) for verb in VERBS}
        with ExitStack() as running:
            for pair in found.values():
                running.enter_context(pair.both[0])
            for pair in found.values():
                until(pair.both[0].is_ready, pair.said)
                running.enter_context(pair.both[1])
            for pair in found.values():
                until(pair.stands, pair.said)
            yield found


def wave(plane: ControlPlane, space: str, name: str) -> int:
    """Single pods and a gang; how many."""
    path = f"/api/v1/namespaces/{space}/pods"
    put(plane, groups(space), group(name, GROUP))
    members = [member(f"{name}-g{number}", name, "10m") for number in range(GROUP)]
    put(plane, path, *members, *(pod(f"{name}-{n}", "10m") for n in range(WAVE)))
    return WAVE + GROUP


class Ledger:
    """Nodes of the observed pods; a pod on two nodes is an error."""

    def __init__(self, plane: ControlPlane, space: str) -> None:
        self.plane, self.space, self.seen = plane, space, dict[str, str]()
        put(plane, "/api/v1/namespaces", {"metadata": {"name": space}})

    def look(self) -> int:
        """Return the number of pods with a node."""
        for name, where in bound(self.plane, self.space).items():
            assert self.seen.setdefault(name, where) == where
        return len(self.seen)

    def bound_once(self) -> None:
        """Exactly one binding of each pod was accepted; no law is violated."""
        calls = [c for c in self.plane.audit("stretto-binder") if c.what == "create pods/binding"]
        made = Counter(c.object_ref.name for c in calls if c.response_status.code == 201)
        assert {name: count for name, count in made.items() if count > 1} == {}
        assert broken_laws(self.plane) == []


def said(pairs: dict[str, Pair], ledger: Ledger) -> str:
    """The state of all parts, for a test that times out."""
    waiting = [
        (p["metadata"]["name"], p["metadata"].get("annotations"))
        for p in pods_of(ledger.plane, ledger.space)
        if "nodeName" not in p["spec"]
    ]
    return f"{waiting[:5]}\n" + "\n".join(pair.said() for pair in pairs.values())


def test_of_each_role_one_leads_and_one_is_ready_to(pairs: dict[str, Pair]) -> None:
    for pair in pairs.values():
        until(pair.stands, pair.said)


def test_all_leaders_killed_at_once_are_followed_and_nothing_is_lost_or_bound_twice(
    pairs: dict[str, Pair],
) -> None:
    plane = pairs["binder"].plane
    ledger = Ledger(plane, "all-at-once")
    total = wave(plane, ledger.space, "before")
    until(lambda: ledger.look() > 0, lambda: said(pairs, ledger))
    turns = {verb: pair.turns() for verb, pair in pairs.items()}
    killed = [pair.leader() for pair in pairs.values()]
    for daemon in killed:
        daemon.part.kill()
    total += wave(plane, ledger.space, "after")

    def taken() -> bool:
        ledger.look()
        return all(pair.is_followed(turns[verb]) for verb, pair in pairs.items())

    until(taken, lambda: said(pairs, ledger))
    until(lambda: ledger.look() == total, lambda: said(pairs, ledger))
    ledger.bound_once()
    for daemon in killed:
        daemon.part.start()
    for pair in pairs.values():
        until(pair.stands, pair.said)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_leaders_that_are_killed_one_after_another_under_load_are_followed(
    pairs: dict[str, Pair],
) -> None:
    plane, rng = pairs["binder"].plane, random.Random(3)
    ledger, total = Ledger(plane, "one-by-one"), 0
    order = [verb for _ in range(3) for verb in rng.sample(VERBS, len(VERBS))]
    for number, verb in enumerate(order):
        pair = pairs[verb]
        turns, killed = pair.turns(), pair.leader()
        total += wave(plane, ledger.space, f"w{number}")
        killed.part.kill()
        until(lambda p=pair, t=turns: p.is_followed(t), pair.said)
        killed.part.start()
        until(pair.stands, pair.said)
        ledger.look()
    until(lambda: ledger.look() == total, lambda: said(pairs, ledger))
    ledger.bound_once()
