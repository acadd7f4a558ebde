"""Queues and gangs hold over all clusters of a fleet."""

import pytest

from stretto.api.wire.kinds import DEPLOYMENT, POD_GROUP, QUEUE
from stretto.federation.controllers.keys import everything
from stretto.federation.controllers.placing.decision import PlacementDecision
from stretto.federation.controllers.placing.policies import PolicyFinder
from stretto.federation.controllers.placing.profiles import ProfileFinder
from stretto.federation.controllers.supply.offers import FleetSupply
from stretto.federation.controllers.supply.promises import PromiseLedger
from stretto.federation.planner.supply.queues import QueueDemand, QueueShare, admitted
from stretto.stores.store import Deletion, Patch
from stretto.stores.webhooks import NO_WEBHOOKS
from tests.support.federation_world import FederationWorld

GROUP = "godel.bytedance.com/pod-group-name"


def demand(replicas: int, present: int = 0, **more: object) -> QueueDemand:
    """A workload of pods with one CPU."""
    fields = {"path": (), **more}
    return QueueDemand(replicas, present, {"cpu": 1000}, **fields)  # type: ignore[arg-type]


def test_a_limit_counts_what_the_subtree_uses() -> None:
    queue = QueueShare("team", limit={"cpu": 8000}, used={"cpu": 5000})
    found = admitted(demand(6, path=(queue,)))
    assert (found.replicas, found.reason) == (3, "queue team reaches its limit of cpu")


def test_a_limit_of_a_parent_counts_too() -> None:
    leaf, root = QueueShare("leaf", limit={"cpu": 9000}), QueueShare("root", limit={"cpu": 2000})
    assert admitted(demand(6, path=(leaf, root))).replicas == 2


def test_what_runs_stays_when_a_limit_falls() -> None:
    queue = QueueShare("team", limit={"cpu": 1000})
    assert admitted(demand(6, present=4, path=(queue,))).replicas == 4


def test_the_unused_guarantee_of_another_queue_stays_free() -> None:
    other = QueueShare("serving", guarantee={"cpu": 6000}, used={"cpu": 2000})
    found = admitted(demand(8, others=(other,), free={"cpu": 9000}))
    assert (found.replicas, found.reason) == (5, "the free cpu is guaranteed to serving")


def test_a_queue_takes_its_own_guarantee_first() -> None:
    own = QueueShare("own", guarantee={"cpu": 4000}, used={"cpu": 1000})
    other = QueueShare("other", guarantee={"cpu": 9000})
    assert admitted(demand(8, path=(own,), others=(other,), free={"cpu": 9000})).replicas == 3


@pytest.mark.parametrize("resource", ["memory", "nvidia.com/gpu"])
def test_a_guarantee_of_a_resource_that_is_not_requested_reserves_nothing(resource: str) -> None:
    other = QueueShare("other", guarantee={resource: 9000})
    assert admitted(demand(8, others=(other,), free={"cpu": 100})).replicas == 8


class QueueWorld(FederationWorld):
    """Three members of eight CPUs, and pods that name a queue or a PodGroup."""

    def __init__(self, **policy: object) -> None:
        super().__init__()
        self.policy(placement=[], **policy)

    def queue(self, name: str, **spec: object) -> None:
        self.create(QUEUE, name, spec=spec)

    def work(self, name: str, replicas: int, *, queue: str = "", group: str = "") -> None:
        self.deployment(replicas, cpu="1", name=name)
        notes = {"stretto.dev/queue": queue} if queue else {GROUP: group}
        body = {"spec": {"template": {"metadata": {"annotations": notes}}}}
        self.host.patch(DEPLOYMENT, [Patch("default", name, body)])

    def counts(self, name: str = "web") -> dict[str, int]:
        """Replicas by cluster, as they are planned."""
        spec = self.federated(name)["spec"]
        entries = [x for each in spec.get("overrides") or () for x in each["clusters"]]
        return {x["cluster"]: x["patches"][0]["value"] for x in entries}

    def total(self, name: str = "web") -> int:
        return sum(self.counts(name).values())


def test_a_limit_holds_over_all_clusters_and_workloads() -> None:
    world = QueueWorld()
    world.queue("team", limit={"cpu": "5"})
    world.work("web", 3, queue="team")
    world.run()
    world.work("api", 4, queue="team")
    world.run()
    assert (world.total("web"), world.total("api")) == (3, 2)


def test_a_workload_that_cannot_be_read_does_not_hide_what_others_have() -> None:
    world = QueueWorld()
    world.work("broken", 1, queue="other")
    world.work("web", 3, queue="team")
    world.run()
    containers = [{"name": "main", "resources": {"requests": {"cpu": "many"}}}]
    body = {"spec": {"template": {"spec": {"containers": containers}}}}
    world.host.patch(DEPLOYMENT, [Patch("default", "broken", body)])
    world.run()
    ledger = PromiseLedger(world.fleet.federation.fleet)
    assert ledger.by_queue("") == {"team": {"cpu": 3000}}


def test_a_condition_states_why_replicas_wait() -> None:
    world = QueueWorld()
    world.queue("team", limit={"cpu": "2"})
    world.work("web", 3, queue="team")
    world.run()
    message = (
        "1 of 3 replicas wait: queue team reaches its limit of cpu: "
        "raise the queue, or wait until its other workloads end"
    )
    assert world.condition("Scheduled") == ("False", "QueueExceeded", message)


def test_replicas_that_wait_start_once_the_queue_grows() -> None:
    world = QueueWorld()
    world.queue("team", limit={"cpu": "2"})
    world.work("web", 5, queue="team")
    world.run()
    world.host.patch(QUEUE, [Patch("", "team", {"spec": {"limit": {"cpu": "9"}}})])
    world.run()
    assert world.total() == 5


def test_replicas_that_wait_start_once_another_workload_is_gone() -> None:
    world = QueueWorld()
    world.queue("team", limit={"cpu": "4"})
    world.work("api", 3, queue="team")
    world.run()
    world.work("web", 3, queue="team")
    world.run()
    world.host.delete(DEPLOYMENT, [Deletion("default", "api")])
    world.run(90)
    assert world.total() == 3


def test_a_gang_runs_in_one_cluster() -> None:
    world = QueueWorld()
    world.create(POD_GROUP, "train", spec={"minMember": 6})
    world.work("web", 6, group="train")
    world.run()
    assert list(world.counts().values()) == [6]


def test_a_gang_that_fits_nowhere_gets_nothing() -> None:
    world = QueueWorld()
    world.create(POD_GROUP, "train", spec={"minMember": 9})
    world.work("web", 9, group="train")
    world.run()
    assert world.counts() == {}
    found = world.condition("Scheduled")
    assert found is not None
    assert found[:2] == ("False", "GangDoesNotFit")


def test_a_gang_runs_in_several_clusters_if_its_policy_allows_them() -> None:
    world = QueueWorld(maxClusters=3)
    world.create(POD_GROUP, "train", spec={"minMember": 9})
    world.work("web", 9, group="train")
    world.run()
    assert world.total() == 9
    assert len(world.counts()) > 1


def test_a_gang_that_no_longer_fits_stays_where_it_is() -> None:
    world = QueueWorld()
    world.create(POD_GROUP, "train", spec={"minMember": 6})
    world.work("web", 6, group="train")
    world.run()
    before = world.counts()
    world.host.patch(POD_GROUP, [Patch("default", "train", {"spec": {"minMember": 9}})])
    world.host.patch(DEPLOYMENT, [Patch("default", "web", {"spec": {"replicas": 9}})])
    world.run()
    assert world.counts() == before


def test_a_gang_that_fits_no_longer_ends_the_promise_of_an_unwritten_decision() -> None:
    world = QueueWorld()
    world.create(POD_GROUP, "train", spec={"minMember": 9})
    world.work("web", 9, group="train")
    world.run()
    fleet = world.fleet.federation.fleet
    supply, profiles = FleetSupply(fleet, world.clock), ProfileFinder(fleet, NO_WEBHOOKS)
    item = next(each for each in everything(fleet) if each.type.kind == DEPLOYMENT)
    rules = PolicyFinder(fleet).policy_of(item.federated).rules
    supply.promises.planned(item, {"alpha": 9})
    assert rules is not None
    PlacementDecision(profiles, supply, keeps_last=True).decide(item, rules)
    assert supply.promises.running(item.key) is None
