"""By which measure the least loaded shard is next, and how others plug theirs in."""

from importlib.metadata import EntryPoint

import pytest

from stretto.base import extensions
from stretto.base.errors import InputError, StrettoError
from stretto.control import load_policies
from stretto.control.dispatcher.shards import DispatchRound, Shards
from stretto.control.load_policies import ShardLoad, load_policy
from stretto.framework.profile.profile import load_profile
from stretto.plane.plane import dispatcher_config
from stretto.testing import Harness, make_node, make_pod


def next_of(shards: Shards) -> int:
    return DispatchRound(shards, [100, 100]).choose(-1)[0]


def two(policy: str, pods: tuple[int, int], units: tuple[int, int] = (1, 1)) -> Shards:
    shards = Shards(load_policy(policy, "here"))
    for number in (0, 1):
        shards.add(number)
        shards.pods[number], shards.units[number] = pods[number], units[number]
    return shards


def largest_number(load: ShardLoad) -> float:
    """A stranger's policy."""
    return -load.number


def test_the_fewest_pods_for_its_part_of_the_nodes_is_least_loaded() -> None:
    shards = two("least-loaded", (30, 20))
    assert next_of(shards) == 1
    shards.shares.update({0: 0.75, 1: 0.25})
    assert next_of(shards) == 0


def test_other_measures_use_pods_or_units_alone() -> None:
    pods, units = two("fewest-pods", (30, 20)), two("fewest-units", (30, 20), (1, 2))
    for shards in (pods, units):
        shards.shares.update({0: 0.75, 1: 0.25})
    assert (next_of(pods), next_of(units)) == (1, 0)


def test_an_installed_policy_is_found_by_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    entry = EntryPoint("last", f"{__name__}:largest_number", load_policies.GROUP)
    monkeypatch.setattr(extensions, "entry_points", lambda group: [entry])
    assert next_of(two("last", (0, 0))) == 1


def test_an_installed_policy_that_cannot_be_loaded_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    entry = EntryPoint("lost", "no_such_module:policy", load_policies.GROUP)
    monkeypatch.setattr(extensions, "entry_points", lambda group: [entry])
    with pytest.raises(InputError, match=r"lost.*no_such_module"):
        load_policy("lost", "here")


def test_a_profile_names_the_policy_and_an_unknown_one_lists_the_known() -> None:
    named = load_profile({"profiles": [{"stretto": {"dispatch": "fewest-units"}}]})
    assert dispatcher_config(named).dispatch == "fewest-units"
    unknown = load_profile({"profiles": [{"stretto": {"dispatch": "best"}}]})
    with pytest.raises(StrettoError, match=r"unknown dispatch policy 'best' in profile: str"):
        Harness([make_node("n")], profile=unknown)


def test_a_plane_sends_its_dispatcher_the_division_of_the_nodes() -> None:
    nodes = [make_node(f"a{i}", cpu="30") for i in range(64)]
    nodes += [make_node(f"b{i}", cpu="10") for i in range(64)]
    config = {"tier": "numpy", "shards": 2, "batch": 1000}
    harness = Harness(nodes, config=config)
    harness.submit(*(make_pod(f"p{i}", cpu="1") for i in range(400)))
    harness.settle()
    assert sum(harness.plane.dispatcher.shares.values()) == pytest.approx(1)
    assert all(harness.placements().values())
