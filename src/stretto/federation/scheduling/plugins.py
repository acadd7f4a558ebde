"""The plugins of the stages by name, and the profiles that choose among them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from stretto.base.errors import UnknownNameError
from stretto.federation.scheduling.filters import FILTERS, ClusterFilter
from stretto.federation.scheduling.replicas.contract import ReplicaDivider
from stretto.federation.scheduling.replicas.kubeadmiral import DIVIDERS
from stretto.federation.scheduling.scores import SCORES, ClusterScore
from stretto.federation.scheduling.selectors import (
    MAX_CLUSTER,
    PRIORITY_SORT,
    SELECTORS,
    ClusterSelector,
)


@dataclass(frozen=True, slots=True)
class ClusterPlugins:
    """Plugins by name, for each stage."""

    #: Filters.
    filters: Mapping[str, ClusterFilter] = field(default_factory=lambda: FILTERS)
    #: Scores.
    scores: Mapping[str, ClusterScore] = field(default_factory=lambda: SCORES)
    #: Selectors.
    selectors: Mapping[str, ClusterSelector] = field(default_factory=lambda: SELECTORS)
    #: Divisions of the replicas.
    dividers: Mapping[str, ReplicaDivider] = field(default_factory=lambda: DIVIDERS)

    def extended(self, other: "ClusterPlugins") -> "ClusterPlugins":
        """These plugins and further ones; a further one replaces a plugin of the same name."""
        return ClusterPlugins(
            {**self.filters, **other.filters},
            {**self.scores, **other.scores},
            {**self.selectors, **other.selectors},
            {**self.dividers, **other.dividers},
        )


BUILT_IN: Final = ClusterPlugins()
"""The plugins of this package."""


@dataclass(frozen=True, slots=True)
class ClusterProfile:
    """The plugins that a workload is scheduled with, by name."""

    #: Filters, in order.
    filters: tuple[str, ...]
    #: Scores.
    scores: tuple[str, ...]
    #: Selectors, in order.
    selectors: tuple[str, ...] = (PRIORITY_SORT, MAX_CLUSTER)
    #: Weights of scores; absent scores have weight 1.
    weights: Mapping[str, int] = field(default_factory=dict)
    #: Plugin that divides the replicas; empty for the default of the federation's settings.
    replicas: str = ""
    #: The plugins that the names refer to.
    plugins: ClusterPlugins = BUILT_IN

    def __post_init__(self) -> None:
        plugins = self.plugins
        stages: tuple[tuple[str, tuple[str, ...], Mapping[str, object]], ...] = (
            ("filter", self.filters, plugins.filters),
            ("score", self.scores, plugins.scores),
            ("select", self.selectors, plugins.selectors),
            ("replicas", (self.replicas,) if self.replicas else (), plugins.dividers),
        )
        for stage, names, known in stages:
            for name in names:
                if name not in known:
                    raise UnknownNameError(f"{stage} plugin", name, sorted(known))

    @property
    def divider(self) -> ReplicaDivider | None:
        """The division of the replicas; ``None`` for the default of the federation's settings."""
        return self.plugins.dividers[self.replicas] if self.replicas else None

    @property
    def is_built_in(self) -> bool:
        """True if all plugins belong to this package and judge each cluster independently."""
        return (
            FILTERS.keys() >= set(self.filters)
            and SCORES.keys() >= set(self.scores)
            and SELECTORS.keys() >= set(self.selectors)
            and self.replicas in ("", *DIVIDERS)
        )


DEFAULT: Final = ClusterProfile(
    (
        "APIResources",
        "TaintToleration",
        "PlacementFilter",
        "ClusterAffinity",
        "ClusterReady",
        "ClusterTerminating",
        "ClusterEvicted",
    ),
    (
        "TaintToleration",
        "ClusterResourcesBalancedAllocation",
        "ClusterResourcesLeastAllocated",
        "ClusterAffinity",
    ),
)
"""KubeAdmiral's default profile."""
