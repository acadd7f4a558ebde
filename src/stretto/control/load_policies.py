"""Dispatch policies: which shard gets the next unit.

A policy measures the load of a shard; the least loaded shard is next, ties go to the lowest number.
A policy of an installed package is found under the entry point group ``stretto.dispatch``: a
function from ``ShardLoad`` to a number.
"""

from collections.abc import Callable, Mapping
from importlib.metadata import entry_points
from typing import Final, NamedTuple

from stretto.base.errors import InputError

GROUP: Final = "stretto.dispatch"
"""Entry point group of installed policies."""


class ShardLoad(NamedTuple):
    """A shard as a policy sees it."""

    #: Its number.
    number: int
    #: Pods that were sent to it and are not answered.
    pods: int
    #: Units of these.
    units: int
    #: Fraction of the cluster's capacity in its partition; 1 without partitions.
    share: float


LoadOf = Callable[[ShardLoad], float]
"""A policy."""


def by_share(load: ShardLoad) -> float:
    """Pods relative to the capacity of the partition."""
    return load.pods / load.share if load.share > 0 else float(load.pods)


def by_pods(load: ShardLoad) -> float:
    """Number of pods."""
    return float(load.pods)


def by_units(load: ShardLoad) -> float:
    """Number of units."""
    return float(load.units)


LEAST_LOADED: Final = "least-loaded"
POLICIES: Final[Mapping[str, LoadOf]] = {
    LEAST_LOADED: by_share,
    "fewest-pods": by_pods,
    "fewest-units": by_units,
}
"""Policies by their names in a profile."""


def load_policy(name: str, where: str) -> LoadOf:
    """A policy by its name.

    Raises:
        InputError: no package offers the name, or the policy cannot be loaded.
    """
    if name in POLICIES:
        return POLICIES[name]
    installed = {entry.name: entry for entry in entry_points(group=GROUP)}
    if name not in installed:
        known = ", ".join([*POLICIES, *sorted(installed)])
        raise InputError(where, name, f"one of {known}", f"or install a package with a {GROUP}")
    try:
        found: LoadOf = installed[name].load()
    except (
        Exception
    ) as error:  # any error of a foreign package is reported as a fault of that package
        raise InputError(where, name, f"a policy that can be loaded ({error})") from error
    if not callable(found):
        raise InputError(where, name, "a function from ShardLoad to a number")
    return found
