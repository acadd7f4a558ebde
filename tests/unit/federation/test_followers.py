"""Objects that cannot follow a workload: the workload reports them until they can."""

from stretto.api.wire.kinds import CONFIG_MAP
from stretto.federation import names
from stretto.stores.store import Deletion
from tests.support.federation_world import FederationWorld


def following(*volumes: str, followers: str = "[]") -> FederationWorld:
    """A Deployment whose pods mount ConfigMaps, in a federation that carries these."""
    world = FederationWorld()
    world.type("configmaps", CONFIG_MAP, [[names.SCHEDULER], [names.OVERRIDES]])
    world.policy(schedulingMode="Duplicate")
    world.deployment(1, volumes=volumes, followers=followers)
    world.run()
    return world


def said(world: FederationWorld) -> str:
    """Return the condition of the Deployment about its followers."""
    condition = world.condition("Followed")
    return "" if condition is None or condition[0] == "True" else ": ".join(condition[1:])


def test_a_missing_follower_is_reported_until_it_exists() -> None:
    world = following("settings", "other")
    assert "FollowerMissing: missing on the host" in said(world)
    assert "ConfigMap other, ConfigMap settings" in said(world)
    for name in ("settings", "other"):
        world.create(CONFIG_MAP, name, metadata={"namespace": "default"})
    world.run()
    assert said(world) == ""


def test_a_follower_that_is_deleted_is_missing() -> None:
    world = following("settings")
    world.create(CONFIG_MAP, "settings", metadata={"namespace": "default"})
    world.run()
    world.host.delete(CONFIG_MAP, [Deletion("default", "settings")])
    world.run()
    assert "ConfigMap settings" in said(world)


def test_an_object_that_every_cluster_has_is_not_missing() -> None:
    world = following("settings")
    body = b'{"metadata":{"name":"settings","namespace":"default"}}'
    for member in world.fleet.members.values():
        member.store.create(CONFIG_MAP, [body])
    world.run()
    assert said(world) == ""


def test_a_follower_of_an_unknown_kind_is_reported() -> None:
    world = following(followers='[{"kind":"ConfigMop","name":"settings"}]')
    assert "names the kind ConfigMop, which no FederatedTypeConfig configures" in said(world)


def test_objects_that_follow_one_another_are_reported_and_placed() -> None:
    world = following(followers='[{"group":"apps","kind":"Deployment","name":"web"}]')
    assert said(world).startswith("FollowersCyclic: it follows itself")
    assert set(world.placed()) == {"alpha", "beta", "gamma"}
