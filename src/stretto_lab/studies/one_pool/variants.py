"""The configurations of the one-pool day with real use, from requests alone to all features."""

from typing import Any, Final, NamedTuple

from stretto.framework.profile.capacity.overcommit import POOL_LABEL
from stretto.framework.profile.profile import Profile, load_profile

NODE_POOL: Final = "shared"
"""The node pool of the machines that are overcommitted."""
CAP: Final = 3.0
"""Hard cap of the CPU ratio; the measured load sets a ratio below the cap."""
FRESH_S: Final = 900
"""Seconds for which a report is valid: three samples."""
LABELS: Final = {POOL_LABEL: NODE_POOL}
"""Labels of the machines that are overcommitted."""


class PoolVariant(NamedTuple):
    """A configuration of the day."""

    #: Name of the configuration.
    name: str
    #: True if online pods have their own machines.
    split: bool = False
    #: True if services keep the replicas of their peak all day.
    fixed: bool = False
    #: True if the measured load sets the overcommit of CPU and guides the placement.
    overcommits: bool = False
    #: True if batch runs on reclaimed capacity instead of requests.
    reclaims: bool = False


VARIANTS: Final = (
    PoolVariant("two pools", split=True),
    PoolVariant("one pool, fixed replicas", fixed=True),
    PoolVariant("one pool"),
    PoolVariant("one pool, overcommit", overcommits=True),
    PoolVariant("one pool, reclaimed batch", reclaims=True),
    PoolVariant("one pool, overcommit and reclaimed batch", overcommits=True, reclaims=True),
)
"""The configurations, from requests alone to all features."""


def variant_profile(variant: PoolVariant) -> Profile:
    """Return the profile that packs by requests; with overcommit it filters out busy nodes."""
    profile: dict[str, Any] = {
        "pluginConfig": [
            {"name": "NodeResourcesFit", "args": {"scoringStrategy": {"type": "MostAllocated"}}},
            {"name": "LoadAware", "args": {"nodeMetricExpirationSeconds": FRESH_S}},
        ]
    }
    if variant.overcommits:
        pools = {NODE_POOL: {"caps": {"cpu": CAP}}}
        profile["plugins"] = {"filter": {"enabled": [{"name": "LoadAware"}]}}
        profile["stretto"] = {"overcommit": {"pools": pools, "expirationSeconds": FRESH_S}}
    return load_profile({"profiles": [profile]})
