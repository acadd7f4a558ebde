"""Registration, update and removal of frameworks: subscriptions, suppression and filters."""

from collections.abc import Collection, Mapping
from math import inf

from stretto.base.errors import InputError
from stretto.offers.allocator.pool.members import FrameworkState, Subscription
from stretto.offers.allocator.pool.pool import OfferPool
from stretto.offers.allocator.pool.roles import check_role
from stretto.offers.allocator.subjects.constraints import AgentTest, compile_constraints
from stretto.offers.allocator.subjects.frameworks import FrameworkInfo
from stretto.offers.allocator.subjects.quota import RoleQuota


def tests_of(info: FrameworkInfo) -> dict[str, AgentTest]:
    """Check the registration of a framework; return its compiled constraints by role.

    Raises:
        InputError: a role or a constraint is invalid, or the weight is not positive.
    """
    for role in sorted(info.roles):
        check_role(role, "framework_info.roles")
    if not 0 < info.weight < inf:
        raise InputError("framework weight", info.weight, "a positive number")
    return compile_constraints(info.constraints, info.roles) if info.constraints else {}


def join(pool: OfferPool, info: FrameworkInfo, suppressed: Collection[str], active: bool) -> None:
    """Add a framework, or replace the registration of an existing one.

    Raises:
        InputError: a role or a constraint is invalid; nothing is changed.
    """
    tests = tests_of(info)
    framework = pool.frameworks.get(info.id)
    if framework is None:
        framework = pool.frameworks[info.id] = FrameworkState(info)
        framework.set_active(active)
    framework.set_info(info)
    if pool.settings.framework_weights and info.weight != 1.0:
        pool.framework_weights[info.id] = info.weight
    else:
        pool.framework_weights.pop(info.id, None)
    for role in sorted(info.roles):
        subscription = pool.subscribe(framework, role)
        least = info.min_allocatable.get(role, pool.settings.min_allocatable)
        subscription.configure(least, tests.get(role), role in suppressed)
        pool.refresh(subscription)
    for subscription in list(framework.subscriptions.values()):
        if subscription.role.name not in info.roles:
            _leave(pool, subscription)
    _count_earlier_holdings(pool, framework)


def _count_earlier_holdings(pool: OfferPool, framework: FrameworkState) -> None:
    """Count the usage that agents reported before the framework registered."""
    name = framework.info.id
    for agent in pool.agents:
        for key in [each for each in agent.unknown if each[0] == name]:
            pool.count_known(agent, pool.subscribe_former(framework, key[1]))


def _leave(pool: OfferPool, subscription: Subscription) -> None:
    """End a subscription; its record stays while it has holdings."""
    subscription.end()
    pool.revives += 1
    pool.refresh(subscription)
    pool.untrack(subscription)


def leave(pool: OfferPool, framework: FrameworkState) -> None:
    """Remove a framework; its holdings stay charged until they are recovered."""
    framework.set_active(active=False)
    for subscription in list(framework.subscriptions.values()):
        _leave(pool, subscription)
    del pool.frameworks[framework.info.id]
    pool.framework_weights.pop(framework.info.id, None)


def set_active(pool: OfferPool, framework: FrameworkState, active: bool) -> None:
    """Connect or disconnect a framework; disconnection removes its filters."""
    framework.set_active(active)
    for subscription in framework.subscriptions.values():
        if not active:
            void_filters(pool, subscription)
        pool.refresh(subscription)
    if not active:
        framework.inverse_filters.clear()
        framework.inverse_offers.clear()


def void_filters(pool: OfferPool, subscription: Subscription) -> None:
    """Remove the filters of a subscription."""
    subscription.void_filters()
    pool.revives += 1
    pool.opened += 1


def check_quota(pool: OfferPool, role: str, quota: RoleQuota) -> None:
    """Check a quota.

    Raises:
        InputError: the role is invalid or is below the top level without support for nested quota,
            or a guarantee exceeds its limit.
    """
    check_role(role)
    if "/" in role and not pool.settings.nested_quota:
        expected = "a role at the top level (the mesos profile has no nested quota)"
        raise InputError("quota.role", role, expected, "use a profile with nested quota")
    for name, amount in quota.guarantees.items():
        limit = quota.limits.get(name, amount)
        if amount > limit:
            expected = f"at most the limit, {limit} thousandths"
            raise InputError(f"quota.guarantees[{name}]", amount, expected, "raise the limit")


def check_weights(weights: Mapping[str, float]) -> None:
    """Check weights of roles.

    Raises:
        InputError: a role is invalid or a weight is not positive.
    """
    for role, weight in weights.items():
        check_role(role, "weights")
        if not 0 < weight < inf:
            raise InputError(f"weights[{role}]", weight, "a positive number")
