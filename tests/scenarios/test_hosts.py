"""Hosts that decide, in a whole plane: several shards that pack the same nodes."""

import msgspec
import pytest

from stretto.api.wire.kinds import POD
from stretto.framework.profile.host_rules import HostRules
from stretto.framework.profile.profile import load_profile
from stretto.state.work.claims import ConflictMode
from stretto.testing import Harness, make_node, make_pod

SHARDS = {"shards": 4, "tier": "numpy", "batch": 4, "partition": False}


def refused(hosts: int | None) -> int:
    """Refused claims of 40 pods on 12 nodes, after the first decisions."""
    profile = msgspec.structs.replace(
        load_profile("packing"), conflicts=ConflictMode.HOSTS, hosts=HostRules(hosts)
    )
    nodes = [make_node(f"n{number}", cpu="4") for number in range(12)]
    plane = Harness(nodes, profile=profile, config=SHARDS)
    plane.create(POD, *[make_pod(f"p{number}", cpu="1") for number in range(40)])
    plane.plane.run_until_idle()
    counts = plane.plane.binder.counts
    return sum(n for cause, n in counts.items() if cause not in ("granted", "bound"))


@pytest.mark.parametrize("hosts", [4, None])
def test_shards_that_pack_the_same_nodes_conflict_less_with_more_hosts(hosts: int | None) -> None:
    assert refused(hosts) < refused(1)
