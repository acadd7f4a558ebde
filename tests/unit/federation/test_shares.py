"""Processes share the work of a federation by controllers and by shards of objects."""

from stretto.federation.assembly import CONTROLLERS
from stretto.federation.controllers.keys import FederatedKey
from stretto.federation.shares import WHOLE, ControllerShare

KEYS = [FederatedKey("deployments.apps", f"team-{number}", "web") for number in range(300)]


def test_every_key_belongs_to_exactly_one_shard() -> None:
    shares = [ControllerShare(None, shard, 3) for shard in range(3)]
    owners = [[share.shard for share in shares if share.owns(key)] for key in KEYS]
    assert all(len(each) == 1 for each in owners)
    counts = [sum(each == [shard] for each in owners) for shard in range(3)]
    assert min(counts) > 60


def test_a_process_does_the_work_of_its_own_controllers_only() -> None:
    share = ControllerShare(frozenset({"sync"}))
    assert share.has("sync", KEYS[0])
    assert not share.has("schedule", KEYS[0])
    assert all(WHOLE.has(name, KEYS[0]) for name in CONTROLLERS)
