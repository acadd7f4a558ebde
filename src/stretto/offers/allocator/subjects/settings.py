"""Settings of the allocator: Mesos' flags, and improvements that are enabled by default."""

from enum import Enum
from typing import Final

import msgspec

from stretto.offers.allocator.values.scalars import Quantities


class SorterKind(Enum):
    """Methods to choose the next client."""

    #: The client with the smallest dominant share, divided by its weight.
    DRF = "drf"
    #: A random client, with probability proportional to the weight.
    RANDOM = "random"


class AllocatorSettings(msgspec.Struct, frozen=True):
    """Settings of one allocator; `MESOS` disables all differences to Mesos."""

    #: Seconds between two batch cycles; also the shortest lifetime of a filter.
    interval: float = 1.0
    #: Order of the roles.
    role_sorter: SorterKind = SorterKind.DRF
    #: Order of the frameworks in a role.
    framework_sorter: SorterKind = SorterKind.DRF
    #: Smallest useful offers, in thousandths; one alternative suffices. Without alternatives any
    #: offer is useful.
    min_allocatable: tuple[Quantities, ...] = ({"cpus": 10}, {"mem": 32_000})
    #: True if agents with GPUs are offered only to frameworks that use GPUs.
    filter_gpu_agents: bool = True
    #: The master's region; agents of other regions need REGION_AWARE.
    region: str | None = None
    #: Resources that do not count for fairness.
    fairness_excluded: frozenset[str] = frozenset()
    #: Share of the registered agents that must return after a restart before a pool with quota
    #: makes offers.
    recovery_factor: float = 0.8
    #: Seconds after which a recovery ends without these agents.
    recovery_timeout: float = 600.0
    #: True if quota of roles below the top level is supported; Mesos answers "not supported yet".
    nested_quota: bool = True
    #: True if frameworks of one role have weights.
    framework_weights: bool = True
    #: Seconds after which the master rescinds an unanswered offer, with the effect of a decline
    #: with the default filter; ``None`` for never.
    offer_timeout: float | None = 60.0
    #: True if a decline or the end of a task starts a cycle for its agent.
    allocate_on_recover: bool = True
    #: True if REQUEST limits and orders offers by the demand of the framework.
    honor_requests: bool = True
    #: True if a framework that declined is sorted after its siblings until its filter ends.
    decliners_yield: bool = True
    #: Maximum number of frameworks that hold an offer of the same capacity at once; 1 is
    #: pessimistic.
    holders: int = 3


DEFAULTS: Final = AllocatorSettings()
"""The default settings; each difference improves on a weakness of Mesos."""

MESOS: Final = AllocatorSettings(
    nested_quota=False,
    framework_weights=False,
    offer_timeout=None,
    allocate_on_recover=False,
    honor_requests=False,
    decliners_yield=False,
    holders=1,
)
"""The behaviour of Mesos 1.11."""
