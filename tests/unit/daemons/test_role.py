"""The role that is shipped lets the scheduler read every kind that its plane follows."""

from pathlib import Path

import pytest
import yaml

from stretto.base.clock import ManualClock
from stretto.base.rng import Rng
from stretto.daemons.scheduler import plane_config
from stretto.framework.profile import load_profile
from stretto.plane import Plane
from stretto.stores.memory import MemoryStore

ROLE = Path(__file__).resolve().parents[3] / "deploy" / "rbac-scheduler.yaml"


@pytest.mark.parametrize("profile", ["default", "kube-parity"])
@pytest.mark.parametrize("verb", ["list", "watch"])
def test_every_kind_that_is_followed_may_be_read(profile: str, verb: str) -> None:
    clock = ManualClock()
    config = plane_config(load_profile(profile), (), 1, "numpy", report=True)
    plane = Plane(config, MemoryStore(clock, Rng(1)), clock)
    followed = {feed.kind.resource for feed in plane.pump._feeds}
    assert followed - granted(verb) == set(), f"add them to {ROLE.name}"


def granted(verb: str) -> set[str]:
    """Resources with their groups on which the ClusterRole grants a verb."""
    documents = yaml.safe_load_all(ROLE.read_text(encoding="utf-8"))
    role = next(each for each in documents if each["kind"] == "ClusterRole")
    return {
        f"{resource}.{group}" if group else resource
        for rule in role["rules"]
        if verb in rule["verbs"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
    }
