"""Which shard is given work next: the policies, and the place where others plug in.

A policy says how loaded a shard is; the least loaded is next, the lowest number among equals. One
of an installed package is found by its name under the entry point group ``stretto.dispatch``: a
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
    #: Pods that it was given and has not answered.
    pods: int
    #: Units of these.
    units: int
    #: Its part of what all nodes give, where each shard has nodes that it tries first; else 1.
    share: float


LoadOf = Callable[[ShardLoad], float]
"""A policy."""


def by_share(load: ShardLoad) -> float:
    """The fewest pods for its part of the nodes."""
    return load.pods / load.share if load.share > 0 else float(load.pods)


def by_pods(load: ShardLoad) -> float:
    """The fewest pods, whatever nodes it has."""
    return float(load.pods)


def by_units(load: ShardLoad) -> float:
    """The fewest units, however large."""
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
        InputError: nobody offers one of that name, or it cannot be loaded.
    """
    if name in POLICIES:
        return POLICIES[name]
    installed = {entry.name: entry for entry in entry_points(group=GROUP)}
    if name not in installed:
        known = ", ".join([*POLICIES, *sorted(installed)])
        raise InputError(where, name, f"one of {known}", f"or install a package with a {GROUP}")
    try:
        found: LoadOf = installed[name].load()
    except Exception as error:  # whatever a stranger's package raises is about that package
        raise InputError(where, name, f"a policy that can be loaded ({error})") from error
    if not callable(found):
        raise InputError(where, name, "a function from ShardLoad to a number")
    return found
