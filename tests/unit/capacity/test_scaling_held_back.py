"""Replicas that run end only when the others suffice."""

import pytest

from stretto.api.types.capacity.scaling import ScalingGroupSpec, ScalingSpec, ScalingTarget
from stretto.capacity.scaling.groups import GroupPlan, held_back

TARGET = ScalingTarget("Deployment", "web")
GROUPS = tuple(ScalingGroupSpec(name, TARGET, 99, priority=n) for n, name in enumerate("abc"))
SPEC = ScalingSpec(groups=GROUPS, replicas=0)


@pytest.mark.parametrize(
    ("plan", "placed", "expected"),
    [
        ((4, 0, 0), (0, 4, 0), (4, 4, 0)),  # nothing of the first group runs yet
        ((4, 0, 0), (3, 4, 0), (4, 1, 0)),  # three of them run
        ((4, 0, 0), (3, 2, 2), (4, 1, 0)),  # the last group ends first
        ((2, 0, 0), (0, 4, 0), (2, 2, 0)),  # less is wanted
        ((4, 1, 0), (4, 1, 0), (4, 1, 0)),
        ((0, 0, 0), (1, 1, 1), (0, 0, 0)),
    ],
)
def test_the_last_groups_give_what_runs_in_excess(
    plan: tuple[int, ...], placed: tuple[int, ...], expected: tuple[int, ...]
) -> None:
    found = held_back(SPEC, GroupPlan(dict(zip("abc", plan, strict=True)), 0),
                      dict(zip("abc", placed, strict=True)))  # fmt: skip
    assert tuple(found.values()) == expected
