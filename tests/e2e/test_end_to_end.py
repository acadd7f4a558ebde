"""Whole stories with the real controllers: what users' objects do under Stretto."""

import json
import os
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest

from stretto.api.wire.kinds import POD, POD_DISRUPTION_BUDGET, QUEUE
from stretto.base.errors import UnreachableError
from stretto.stores.kube.paths import collection_path
from stretto.stores.store import WriteOutcome
from stretto_lab.control_plane.cluster import ControlPlane, ControlPlaneConfig
from tests.e2e.daemon import TIMEOUT, Daemon, named_space, put
from tests.e2e.plane import store_of
from tests.e2e.site import Yard

pytestmark = pytest.mark.kube

PARTS = ("kube-controller-manager", "kube-scheduler", "kwok")
BURST = int(os.environ.get("BURST_PODS", "400"))
ZONE = "topology.kubernetes.io/zone"


@pytest.fixture(scope="module")
def cluster() -> Iterator[ControlPlane]:
    """A cluster as users have one; nodes and their kubelets are simulated."""
    with ControlPlane(ControlPlaneConfig(parts=PARTS)) as plane:
        plane.install()
        yield plane


@pytest.fixture(scope="module")
def daemon(cluster: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    log = tmp_path_factory.mktemp("daemon") / "log"
    with Daemon(cluster.kubeconfig, log, "--no-leader-elect") as daemon:
        yield daemon.ready()


def test_deployments_go_up_and_down(yard: Yard) -> None:
    yard.nodes("a", "b", cpu="8")
    yard.owner("deployments", "web", yard.template("web"), replicas=3)
    yard.runs("web", 3)
    yard.kubectl("scale", "deployment/web", "--replicas=12")
    yard.runs("web", 12)
    yard.kubectl("scale", "deployment/web", "--replicas=2")
    yard.runs("web", 2)
    yard.kubectl("scale", "deployment/web", "--replicas=16")  # all that there is
    yard.runs("web", 16)


def test_a_daemon_set_is_on_every_node_and_on_those_that_come(yard: Yard) -> None:
    nodes = yard.nodes("a", "b", "c")
    yard.owner("daemonsets", "agent", yard.template("agent", "100m"))
    yard.until(lambda: yard.loads("agent") == Counter(nodes))
    nodes += yard.nodes("d")
    yard.until(lambda: yard.loads("agent") == Counter(nodes))


def test_a_stateful_set_keeps_its_order(yard: Yard) -> None:
    yard.nodes("a", "b")
    yard.owner("statefulsets", "db", yard.template("db"), replicas=4, serviceName="db")
    yard.runs("db", 4)
    pods = sorted(yard.pods("db"), key=lambda each: int(each["metadata"]["resourceVersion"]))
    begun = sorted(pods, key=lambda each: each["metadata"]["creationTimestamp"])
    assert {each["metadata"]["name"] for each in begun} == {f"db-{n}" for n in range(4)}
    yard.kubectl("scale", "statefulset/db", "--replicas=1")
    yard.runs("db", 1)
    assert set(yard.places("db")) == {"db-0"}


def test_priorities_preempt_the_lowest_and_as_few_as_needed(yard: Yard) -> None:
    ranks = {name: yard.rank(name, n) for name, n in (("low", 10), ("mid", 100), ("high", 1000))}
    yard.nodes("a", cpu="4")
    for name, of in (("l1", "low"), ("l2", "low"), ("m1", "mid"), ("m2", "mid")):
        yard.pod(name, yard.template(of, priorityClassName=ranks[of]))
    yard.until(lambda: len(yard.places()) == 4)
    yard.pod("h", yard.template("high", "2", priorityClassName=ranks["high"]))
    yard.until(lambda: set(yard.places()) == {"h", "m1", "m2"})


def test_a_budget_holds_in_a_drain(yard: Yard) -> None:
    first, second = yard.nodes("a", "b", cpu="4")
    yard.owner("deployments", "web", yard.template("web"), replicas=4)
    yard.runs("web", 4)
    keep = {"minAvailable": 3, "selector": {"matchLabels": {"app": "web"}}}
    put(
        yard.plane,
        collection_path(POD_DISRUPTION_BUDGET, yard.space),
        {"metadata": {"name": "keep"}, "spec": keep},
    )
    full = first if yard.loads("web")[first] else second
    fewest = Fewest(yard)
    with fewest:
        flags = ("--ignore-daemonsets", "--force", "--delete-emptydir-data", "--timeout=200s")
        yard.kubectl("drain", full, *flags)
    assert fewest.seen >= 3
    yard.runs("web", 4)
    assert full not in yard.loads("web")


class Fewest:
    """The minimum number of simultaneously running pods of a Deployment."""

    def __init__(self, yard: Yard) -> None:
        self.yard, self.seen = yard, 99
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._over.wait(0.05):
            with suppress(UnreachableError):
                self.seen = min(self.seen, len(self.yard.places("web")))


def test_a_taint_moves_pods_and_keeps_others_off(yard: Yard) -> None:
    first, second = yard.nodes("a", "b", cpu="8")
    yard.owner("deployments", "web", yard.template("web"), replicas=6)
    yard.runs("web", 6)
    yard.kubectl("taint", "node", first, "repair=now:NoExecute")
    yard.until(lambda: yard.loads("web") == Counter({second: 6}))


def test_a_lost_node_s_pods_go_elsewhere(yard: Yard) -> None:
    first, second = yard.nodes("a", "b", cpu="8")
    gone = [f"node.kubernetes.io/{word}" for word in ("unreachable", "not-ready")]
    soon = [
        {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 1}
        for key in gone
    ]
    yard.owner("deployments", "web", yard.template("web", tolerations=soon), replicas=4)
    yard.runs("web", 4)
    lost, left = (first, second) if yard.loads("web")[first] else (second, first)
    yard.kubectl("label", "node", lost, "lost=yes")
    silent = [{"type": "Ready", "status": "Unknown", "reason": "NodeStatusUnknown"}]
    said = json.dumps({"status": {"conditions": silent}})

    def gone() -> bool:  # repeated: the simulated kubelet may have written later
        yard.kubectl("patch", "node", lost, "--subresource=status", "--patch", said)
        return yard.loads("web") == Counter({left: 4})

    yard.until(gone)


@pytest.mark.slow  # the controller waits for a minute before it removes pods of nodes that went
def test_a_node_that_is_deleted_has_its_pods_replaced(yard: Yard) -> None:
    first, second = yard.nodes("a", "b", cpu="8")
    yard.owner("deployments", "web", yard.template("web"), replicas=4)
    yard.runs("web", 4)
    gone, left = (first, second) if yard.loads("web")[first] else (second, first)
    yard.kubectl("delete", "node", gone)
    yard.until(lambda: yard.loads("web") == Counter({left: 4}))


def test_spread_and_affinity_hold_after_rescheduling(yard: Yard) -> None:
    nodes = {zone: yard.nodes(f"{zone}0", f"{zone}1", **{ZONE: zone}) for zone in ("x", "y", "z")}
    even = {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule"}
    even["labelSelector"] = {"matchLabels": {"app": "web"}}
    apart = {"topologyKey": "kubernetes.io/hostname", "labelSelector": even["labelSelector"]}
    only = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [apart]}}
    near = {"topologyKey": "kubernetes.io/hostname"}
    near["labelSelector"] = {"matchLabels": {"app": "web"}}
    beside = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [near]}}
    web = yard.template("web", topologySpreadConstraints=[even], affinity=only)
    yard.owner("deployments", "web", web, replicas=3)
    yard.runs("web", 3)
    yard.owner("deployments", "cache", yard.template("cache", "100m", affinity=beside), replicas=3)
    yard.runs("cache", 3)
    moved = next(iter(yard.loads("web")))
    yard.kubectl("taint", "node", moved, "repair=now:NoExecute")
    yard.until(lambda: len(yard.places("web")) == 3 and moved not in yard.loads("web"))
    yard.until(lambda: len(yard.places("cache")) == 3 and moved not in yard.loads("cache"))
    zones = Counter(zone for zone, names in nodes.items() for n in names if yard.loads("web")[n])
    assert zones == Counter(nodes.keys())
    assert set(yard.loads("web").values()) == {1}
    assert set(yard.loads("cache")) <= set(yard.loads("web"))


# ---------------------------------------------------------------- queues


def queue(yard: Yard, name: str, **spec: Any) -> str:
    """A queue of the yard's; its name."""
    whole = {"apiVersion": QUEUE.api_version, "kind": "Queue", "spec": spec}
    put(yard.plane, collection_path(QUEUE), {**whole, "metadata": {"name": f"{yard.space}-{name}"}})
    return f"{yard.space}-{name}"


def of_queue(yard: Yard, app: str, name: str) -> dict[str, Any]:
    template = yard.template(app)
    template["metadata"]["annotations"]["stretto.dev/queue"] = name
    return template


def test_what_a_queue_has_borrowed_is_given_back(yard: Yard) -> None:
    yard.nodes("a", "b", cpu="4")
    lender = queue(yard, "lender", guarantee={"cpu": "4"})
    borrower = queue(yard, "borrower", guarantee={"cpu": "4"})
    yard.owner("deployments", "guest", of_queue(yard, "guest", borrower), replicas=8)
    yard.until(lambda: len(yard.places("guest")) == 8)
    yard.owner("deployments", "host", of_queue(yard, "host", lender), replicas=4)
    yard.until(lambda: len(yard.places("host")) == len(yard.places("guest")) == 4)


def test_a_quota_survives_a_scheduler_that_is_killed(yard: Yard) -> None:
    yard.nodes("a", cpu="8")
    narrow = queue(yard, "narrow", limit={"cpu": "2"})
    yard.owner("deployments", "web", of_queue(yard, "web", narrow), replicas=5)
    yard.until(lambda: len(yard.places("web")) == 2)
    yard.daemon.part.kill()
    yard.daemon.part.start()
    yard.daemon.ready()
    before = set(yard.places("web"))
    yard.kubectl("delete", "pod", min(before), "--wait=true")
    yard.until(lambda: len(yard.places("web")) == 2 and set(yard.places("web")) != before)


# ---------------------------------------------------------------- storms


def burst(yard: Yard, names: list[str]) -> set[str]:
    """Create pods with the maximum concurrency; names of those that were acknowledged."""
    made = yard.template("burst", "1m")
    bodies = [
        json.dumps(
            {
                "metadata": {**made["metadata"], "name": name, "namespace": yard.space},
                "spec": made["spec"],
            }
        ).encode()
        for name in names
    ]
    with closing(store_of(yard.plane)) as store:
        replies = store.create(POD, bodies)
    return {r.record.name for r in replies if r.outcome is WriteOutcome.OK and r.record is not None}


@pytest.mark.parametrize("count", [BURST, pytest.param(5000, marks=pytest.mark.slow)])
def test_a_burst_while_the_api_server_restarts_loses_nothing(yard: Yard, count: int) -> None:
    yard.nodes(*(f"n{number}" for number in range(1 + count // 100)), cpu="64")
    names = [f"p{number}" for number in range(count)]
    acknowledged = burst(yard, names[: count // 2])
    rest = names[count // 2 :]
    loader = threading.Thread(target=lambda: acknowledged.update(burst(yard, rest)))
    loader.start()
    yard.plane.restart("kube-apiserver", kill=True)
    loader.join()
    acknowledged |= burst(yard, [name for name in names if name not in acknowledged])
    yard.until(lambda: acknowledged <= set(yard.places("burst")), TIMEOUT + count / 20)
    assert len(acknowledged) >= count // 2


# ---------------------------------------------------------------- beside kube-scheduler


def both(yard: Yard, of_ours: dict[str, str], of_theirs: dict[str, str], count: int) -> None:
    """Pods for both schedulers, more than the capacity allows."""
    ours = yard.template("ours", nodeSelector=of_ours)
    theirs = yard.template("theirs", nodeSelector=of_theirs, schedulerName="default-scheduler")
    for app, template in (("ours", ours), ("theirs", theirs)):
        yard.owner("deployments", app, template, replicas=count)


def test_on_pools_of_their_own_no_node_is_overcommitted(yard: Yard) -> None:
    mine = yard.nodes("a", "b", cpu="4", pool="ours")
    other = yard.nodes("c", "d", cpu="4", pool="theirs")
    both(yard, {**yard.here, "pool": "ours"}, {**yard.here, "pool": "theirs"}, 12)
    yard.until(lambda: len(yard.places("ours")) == len(yard.places("theirs")) == 8)
    assert yard.loads("ours") == Counter(dict.fromkeys(mine, 4))
    assert yard.loads("theirs") == Counter(dict.fromkeys(other, 4))


def test_a_high_priority_evicts_no_pod_of_the_other_scheduler(yard: Yard) -> None:
    top = yard.rank("top", 1000)
    yard.nodes("a", cpu="4")
    yard.pod("theirs", yard.template("theirs", "3", schedulerName="default-scheduler"))
    yard.until(lambda: set(yard.places()) == {"theirs"})
    yard.pod("high", yard.template("high", "2", priorityClassName=top))
    yard.until(lambda: "pods of other schedulers, which are never evicted" in yard.why("high"))
    assert set(yard.places()) == {"theirs"}
    yard.pod("low", yard.template("low", "1"))
    yard.until(lambda: set(yard.places()) == {"theirs", "low"})
    yard.pod("mid", yard.template("mid", "1", priorityClassName=top))
    yard.until(lambda: set(yard.places()) == {"theirs", "mid"})  # one of its own pods is evicted


def test_the_race_on_shared_nodes_is_seen_by_doctor(
    cluster: ControlPlane, daemon: Daemon, record_property: Any, tmp_path: Path
) -> None:
    yard = Yard(cluster, daemon, named_space(cluster, "shared"))
    nodes = yard.nodes(*(f"s{number}" for number in range(10)), cpu="4")
    both(yard, yard.here, yard.here, 40)
    yard.until(lambda: yard.held().total() >= 40)
    before = crowded(yard)
    said = " ".join(each.sentence for each in yard.broken())
    over = crowded(yard)  # both go on binding while the doctor looks
    record_property("overcommitted", len(over))
    print(f"{len(over)} of {len(nodes)} nodes hold more than they have: {dict(yard.held())}")
    assert before <= {name for name in nodes if f"{name} " in f"{said} "} <= over

    def is_repaired() -> bool:  # as documented: excess pods are evicted and find another node
        places = yard.places()
        for name in crowded(yard):
            surplus = [pod for pod, place in places.items() if place == name][4:]
            for pod in surplus:
                yard.kubectl("delete", "pod", pod, "--wait=false", "--ignore-not-found")
        return not crowded(yard)

    yard.until(is_repaired)
    cluster.send("DELETE", f"/api/v1/namespaces/{yard.space}")
    cluster.send("DELETE", f"/api/v1/nodes?labelSelector=yard%3D{yard.space}")


def crowded(yard: Yard) -> set[str]:
    """Nodes that more is bound to than the four pods that fit."""
    return {name for name, count in yard.held().items() if count > 4}
