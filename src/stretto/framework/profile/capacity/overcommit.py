"""Overcommit of node pools: a hard cap, and ratios of which the smallest applies.

The hard cap is a property of the machines; HULK refuses creation above it. Below the cap, three
ratios apply: a configured one (NodeOvercommitConfig), a measured one, and HULK's dynamic
coefficient by scenario. HULK's scenarios are not published; the table of environment, time of day,
load and service class is Stretto's. Memory is overcommitted only in the environments that the pool
names.

    stretto:
      overcommit:
        pools:
          online: {caps: {cpu: 3}, scenarios: [{ratios: {cpu: 2}, hours: [22, 6]}]}
"""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from stretto.base.errors import InputError
from stretto.framework.profile.capacity.section import read_section
from stretto.state.rows.promises import NodeRatio, RatioBound

MEMORY: Final = "memory"
"""The resource that only some environments overcommit: a pod cannot be throttled in memory."""
HOURS: Final = 24
"""Hours of a day."""
HIGHEST: Final = 100.0
"""Highest allowed ratio: a higher one is a typing error."""
POOL_LABEL: Final = "katalyst.kubewharf.io/overcommit_node_pool"
"""Node label with the pool of a node; Katalyst's."""


class NodeScenario(msgspec.Struct, frozen=True):
    """The situation of a node, which determines a coefficient."""

    #: Environment, such as ``prod`` or ``test``.
    environment: str = ""
    #: Hour of the day in UTC, 0 to 23.
    hour: int = 0
    #: CPU in use, 0 to 1.
    load: float = 0.0
    #: Class of the services on the node.
    service_class: str = ""


class ScenarioRow(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """A row of the table; the first row that matches applies."""

    #: Ratio by resource.
    ratios: dict[str, float]
    #: Environments; empty for all.
    environments: tuple[str, ...] = ()
    #: First hour and the hour after the last; a range may pass midnight. Empty for all.
    hours: tuple[int, ...] = ()
    #: Load up to which the row applies, 0 to 1.
    below_load: float = 1.0
    #: Service classes; empty for all.
    service_classes: tuple[str, ...] = ()

    def matches(self, scenario: NodeScenario) -> bool:
        """Return whether the row applies to a situation."""
        if self.environments and scenario.environment not in self.environments:
            return False
        if self.service_classes and scenario.service_class not in self.service_classes:
            return False
        return scenario.load <= self.below_load and self._is_in_hours(scenario.hour)

    def _is_in_hours(self, hour: int) -> bool:
        if not self.hours:
            return True
        first, last = self.hours
        return first <= hour < last if first <= last else hour >= first or hour < last


class OvercommitPool(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """Overcommit of the nodes of a pool."""

    #: Highest ratio by resource; a resource without one is not overcommitted.
    caps: dict[str, float]
    #: Configured ratio by resource; a resource without one is bounded by the others.
    static: dict[str, float] = {}
    #: Dynamic coefficients; without a matching row there is no such bound.
    scenarios: tuple[ScenarioRow, ...] = ()
    #: Environments in which memory may be overcommitted.
    memory_environments: tuple[str, ...] = ()
    #: True if measured load bounds the ratio; old metrics then disable overcommit that is not
    #: configured.
    measured: bool = True

    def choose(
        self,
        resource: str,
        scenario: NodeScenario,
        measured: Mapping[str, float] | None = None,
        static: Mapping[str, float] | None = None,
    ) -> NodeRatio:
        """Ratio of promised to real capacity: the smallest of all, never below 1.

        Args:
            resource: the resource.
            scenario: the situation of the node.
            measured: measured ratios by resource; ``None`` if the metrics are too old: then only
                resources with a configured ratio are overcommitted.
            static: further configured ratios, from a NodeOvercommitConfig.
        """
        cap = max(self.caps.get(resource, 1.0), 1.0)
        if resource == MEMORY and scenario.environment not in self.memory_environments:
            return NodeRatio(1.0, 1.0, RatioBound.ENVIRONMENT)
        configured = [each[resource] for each in (self.static, static or {}) if resource in each]
        bounds = [(each, RatioBound.STATIC) for each in configured]
        row = next((each for each in self.scenarios if each.matches(scenario)), None)
        if row is not None and resource in row.ratios:
            bounds.append((row.ratios[resource], RatioBound.SCENARIO))
        if self.measured and measured is not None and resource in measured:
            bounds.append((measured[resource], RatioBound.MEASURED))
        if self.measured and measured is None and not configured:
            bounds.append((1.0, RatioBound.STALE))
        bounds.append((cap, RatioBound.CAP))
        ratio, bound = min(bounds, key=lambda each: each[0])
        return NodeRatio(max(ratio, 1.0), cap, bound)


class OvercommitRules(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """Overcommit of the nodes of a cluster."""

    #: Pools by the value of the node label ``katalyst.kubewharf.io/overcommit_node_pool``.
    pools: dict[str, OvercommitPool] = {}
    #: Node label with the environment.
    environment_label: str = "stretto.dev/environment"
    #: Node label with the class of the services.
    service_class_label: str = "stretto.dev/service-class"
    #: Seconds after which a measurement is old.
    expiration_seconds: float = 180.0


def read_overcommit(value: Any, where: str) -> OvercommitRules | None:
    """Read the section ``overcommit`` of a profile; ``None`` without one.

    Raises:
        InputError: a value has the wrong form; the message contains its path.
    """
    if value is None or value is False:
        return None
    rules = read_section(value, OvercommitRules, where)
    if not rules.expiration_seconds >= 1.0:
        raise InputError(
            f"{where}.expirationSeconds", rules.expiration_seconds, "at least 1 second"
        )
    for name, pool in rules.pools.items():
        _check(pool, f"{where}.pools.{name}")
    return rules


def _check(pool: OvercommitPool, where: str) -> None:
    """Refuse ratios and hours outside their range."""
    tables = {"caps": pool.caps, "static": pool.static}
    tables |= {f"scenarios[{i}].ratios": row.ratios for i, row in enumerate(pool.scenarios)}
    for field, ratios in tables.items():
        for resource, ratio in ratios.items():
            if not 1.0 <= ratio <= HIGHEST:
                path = f"{where}.{field}.{resource}"
                raise InputError(path, ratio, f"a ratio from 1 to {HIGHEST:g}")
    for number, row in enumerate(pool.scenarios):
        if row.hours and (len(row.hours) != 2 or not all(0 <= h <= HOURS for h in row.hours)):
            path = f"{where}.scenarios[{number}].hours"
            raise InputError(path, list(row.hours), "two hours from 0 to 24, such as [22, 6]")
