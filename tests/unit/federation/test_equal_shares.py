"""Equal shares under the settings of KubeAdmiral: a hash of cluster and workload decides."""

from itertools import accumulate

import pytest

from stretto.federation.planner.hashes import fnv1
from stretto.federation.settings import KUBEADMIRAL
from tests.support.federation_world import FederationWorld


def reference(text: str) -> int:
    """FNV-1 as its authors write it, one byte after the other."""
    steps = accumulate(
        text.encode(), lambda found, byte: found * 16777619 % 2**32 ^ byte, initial=2166136261
    )
    return list(steps)[-1]


@pytest.mark.parametrize(
    ("text", "value"), [("", 0x811C9DC5), ("a", 0x050C5D7E), ("foobar", 0x31F0B262)]
)
def test_the_hash_has_the_published_values(text: str, value: int) -> None:
    assert fnv1(text) == reference(text) == value


@pytest.mark.parametrize("name", ["web", "shop", "strategy", "api-2", "x.y"])
def test_the_rest_of_equal_shares_goes_to_the_smallest_hashes(name: str) -> None:
    world = FederationWorld(KUBEADMIRAL)
    world.policy()
    world.deployment(5, name=name)
    world.run(5.0)
    spec = world.federated(name)["spec"]["overrides"][0]["clusters"]
    found = {each["cluster"]: each["patches"][0]["value"] for each in spec}
    order = sorted(world.fleet.members, key=lambda cluster: reference(f"{cluster}default/{name}"))
    assert [found[cluster] for cluster in order] == [2, 2, 1]
