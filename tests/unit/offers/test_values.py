"""Sums of resources, constraints on agents."""

import pytest

from stretto.base.errors import InputError
from stretto.offers.allocator.subjects.agents import AgentAttribute, AgentInfo
from stretto.offers.allocator.subjects.constraints import (
    AttributeConstraint,
    AttributePredicate,
    AttributeSelector,
    ComparedPattern,
    ConstraintGroup,
    OfferConstraints,
    RoleConstraints,
    compile_constraints,
)
from stretto.offers.allocator.values.kinds import (
    DiskSource,
    DiskSourceType,
    ReservationType,
    ResourceIdentity,
    RoleReservation,
)
from stretto.offers.allocator.values.resources import NOTHING, Resources, resources_of, scalars
from stretto.offers.allocator.values.scalars import from_milli, to_milli

MOUNT = ResourceIdentity(
    "disk", source=DiskSource(DiskSourceType.MOUNT, root="/mnt/a"), whole=500_000
)


def reserved(role: str, cpus: int) -> Resources:
    stack = (RoleReservation(ReservationType.DYNAMIC, role),)
    return resources_of([(ResourceIdentity("cpus", reservations=stack), cpus)])


def ports(*pairs: tuple[int, int]) -> Resources:
    return resources_of([(ResourceIdentity("ports"), pairs)])


def test_scalars_are_exact_to_three_decimals() -> None:
    assert sum(to_milli(0.1) for _ in range(10)) == to_milli(1)
    assert from_milli(to_milli(0.333)) == 0.333


@pytest.mark.parametrize("value", [-1.0, float("nan"), float("inf"), 1e13])
def test_an_impossible_amount_is_rejected_with_its_field(value: float) -> None:
    with pytest.raises(InputError, match=r"limits\.cpus"):
        to_milli(value, "limits.cpus")


def test_the_rest_of_a_range_keeps_both_sides() -> None:
    assert ports((1, 9)) - ports((3, 4)) == ports((1, 2), (5, 9))
    assert ports((1, 2)) + ports((3, 9)) == ports((1, 9))


def test_a_mounted_disk_is_whole_or_absent() -> None:
    two = resources_of([(MOUNT, 2)])
    assert two.quantities == (("disk", 1_000_000),)
    assert two - resources_of([(MOUNT, 1)]) == resources_of([(MOUNT, 1)])


def test_a_reservation_reaches_its_role_and_the_roles_below_it() -> None:
    both = reserved("eng", 1000) + scalars(cpus=500)
    assert both.allocatable_to("eng/web") == both
    assert both.allocatable_to("ops") == scalars(cpus=500)
    assert both.allocatable_to("engine") == scalars(cpus=500)


def test_what_is_subtracted_but_not_there_is_ignored() -> None:
    assert scalars(cpus=1000) - scalars(cpus=2000, mem=1) == NOTHING


def constrained(regex: str) -> OfferConstraints:
    one = AttributeConstraint(
        AttributeSelector("rack"), AttributePredicate(text_matches=ComparedPattern(regex))
    )
    return OfferConstraints({"eng": RoleConstraints((ConstraintGroup((one,)),))})


@pytest.mark.parametrize(("rack", "accepted"), [("r12", True), ("xr12", False), (3.0, True)])
def test_an_expression_matches_the_whole_text_of_an_attribute(
    rack: str | float, accepted: bool
) -> None:
    test = compile_constraints(constrained("r[0-9]+"), ["eng"])["eng"]
    agent = AgentInfo("a", "host", NOTHING, (AgentAttribute("rack", rack),))
    assert test(agent) is accepted


@pytest.mark.parametrize("regex", ["(", "a{1000}", "[a-z]{90}|[0-9]{90}"])
def test_an_invalid_or_large_expression_is_rejected(regex: str) -> None:
    with pytest.raises(InputError, match="regex"):
        compile_constraints(constrained(regex), ["eng"])


def test_a_constraint_for_a_role_without_subscription_is_rejected() -> None:
    with pytest.raises(InputError, match="subscribe"):
        compile_constraints(constrained("r"), ["ops"])
