"""Dispatch policies: select the shard for the next unit.

A policy measures the load of a shard; the least loaded shard is next, ties go to the lowest number.
A policy of an installed package is found under the entry point group ``stretto.dispatch``: a
function from ``ShardLoad`` to a number.
"""

from typing import Final, NamedTuple, Protocol, runtime_checkable

from stretto.base.errors import UnknownNameError
from stretto.base.extensions import OpenRegistry

GROUP: Final = "stretto.dispatch"
"""Entry point group of installed policies."""


class ShardLoad(NamedTuple):
    """A shard as input of a policy."""

    #: Number of the shard.
    number: int
    #: Number of pods that were sent to it and are not answered.
    pods: int
    #: Number of units of these pods.
    units: int
    #: Fraction of the cluster's capacity in its partition; 1 without partitions.
    share: float


@runtime_checkable
class LoadOf(Protocol):
    """A policy: a function from ``ShardLoad`` to a number."""

    def __call__(self, load: ShardLoad, /) -> float:
        """The load of a shard; the least loaded one is next."""
        ...


def by_share(load: ShardLoad) -> float:
    """Number of pods relative to the capacity of the partition."""
    return load.pods / load.share if load.share > 0 else float(load.pods)


def by_pods(load: ShardLoad) -> float:
    """Number of pods."""
    return float(load.pods)


def by_units(load: ShardLoad) -> float:
    """Number of units."""
    return float(load.units)


LEAST_LOADED: Final = "least-loaded"
POLICIES: Final[OpenRegistry[LoadOf]] = OpenRegistry(
    "dispatch policy",
    {LEAST_LOADED: by_share, "fewest-pods": by_pods, "fewest-units": by_units},
    GROUP,
    LoadOf,  # type: ignore[type-abstract]  # only used for isinstance
)
"""Policies by their names in a profile."""


def load_policy(name: str, where: str) -> LoadOf:
    """Return a policy by its name.

    Raises:
        UnknownNameError: there is no such policy; the error names the place and the known policies.
        InputError: the package of the policy cannot be loaded, or offers no function.
    """
    try:
        return POLICIES.get(name)
    except UnknownNameError as error:
        raise UnknownNameError(error.kind, name, error.known, where) from error
