"""Overcommit in the simulator: pools with a cap, changing ratios and reports, exclusive cores.

The cap of a seed never changes, so the law compares claims with it in plain numbers. Ratios below
it change: configured ones, coefficients by load, and measured ones from reports that may be wrong,
from other clocks, or without readable amounts.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final, Protocol

import msgspec

from stretto.api.wire.kinds import CUSTOM_NODE_RESOURCE, NODE_OVERCOMMIT_CONFIG
from stretto.base.rng import Rng
from stretto.framework.plugins.node_overcommitment import NodeOvercommitmentRule
from stretto.framework.profile.capacity.overcommit import (
    OvercommitPool,
    OvercommitRules,
    ScenarioRow,
)
from stretto.framework.profile.capacity.rules import CapacityRules
from stretto.framework.profile.profile import Profile
from stretto.plane.plane import Plane
from stretto.state.queries.invariants import InvariantBreach
from stretto.stores.store import Deletion, Store
from stretto_lab.chaos.draws.load import LoadDraw, metric_json
from stretto_lab.chaos.draws.pods import OVERCOMMITTED, NodeShapeDraw, PodRequest, report_json
from stretto_lab.chaos.draws.promises import PromiseLaw

SHARE: Final = 0.2
"""Share of seeds with overcommit, among those whose profile supports it."""
CHANGES: Final = ("set_ratio", "drop_ratio", "report_use")
"""Changes of the world that affect overcommit."""
USES: Final = ("0", "200m", "900m", "3", "64", "-1", "NaN", "much")
"""CPU use in reports; the last three make a report invalid or are impossible."""
LAGS: Final = (0.0, 0.0, -5.0, -400.0, 400.0)
"""Difference of an agent's clock, in seconds."""


class OvercommitDraw:
    """Draws of a seed for overcommit, and the changes of the world."""

    def __init__(self, seed: int) -> None:
        """Draw from a separate stream."""
        rng = Rng(seed).child("overcommit")
        #: True if the seed has overcommit.
        self.exists = rng.random() < SHARE
        #: Maximum ratio of CPU.
        self.cap = rng.choice((1.25, 2.0, 3.0)) if self.exists else 1.0
        #: Share of requests with exclusive cores.
        self.exclusive = rng.choice((0.0, 0.2, 0.5))
        self._measured = rng.random() < 0.5
        self._coefficients = rng.random() < 0.5
        #: Measured load as a filter.
        self.load = LoadDraw(seed)
        self._rng = rng
        self._law = PromiseLaw(self.cap)

    def weights(self) -> dict[str, float]:
        """Weight of each change; empty without overcommit, so that other draws do not change."""
        return dict.fromkeys(CHANGES, 4.0) if self.exists else {}

    def rules(self, profile: Profile) -> Profile:
        """Return the profile with the pool; exact profiles do not support it."""
        if not self.exists or profile.exact:
            return profile
        rows = (ScenarioRow({"cpu": 1.5}, below_load=0.3), ScenarioRow({"cpu": 1.1}))
        pool = OvercommitPool(
            caps={"cpu": self.cap},
            scenarios=rows if self._coefficients else (),
            measured=self._measured,
        )
        rule = NodeOvercommitmentRule({})
        return self.load.rules(
            msgspec.structs.replace(
                profile,
                capacity=CapacityRules(OvercommitRules({OVERCOMMITTED: pool})),
                filters=(*profile.filters, rule),
            )
        )

    def allows(self, plane: Plane, name: str, request: PodRequest, count: int) -> bool:
        """True if the measured load of a node allows that many more equal pods."""
        return not self.exists or self.load.allows(plane, name, request, count)

    def fleet(self, shapes: Sequence[NodeShapeDraw]) -> tuple[NodeShapeDraw, ...]:
        """The nodes with the cap."""
        return tuple(msgspec.structs.replace(shape, cap=self.cap) for shape in shapes)

    def add_extras(self, requests: Sequence[PodRequest]) -> tuple[PodRequest, ...]:
        """Give exclusive cores to some pods."""
        return tuple(
            msgspec.structs.replace(request, exclusive=True)
            if not request.best_effort and self._rng.random() < self.exclusive
            else request
            for request in requests
        )

    def breaches(
        self, plane: Plane, fresh: Sequence[tuple[str, int]], nodes: Mapping[str, NodeShapeDraw]
    ) -> list[InvariantBreach]:
        """Check new claims after a step of a seed with overcommit; see ``PromiseLaw.breaches``."""
        return self._law.breaches(plane, fresh, nodes) if self.exists else []

    def change(self, name: str, world: "OvercommittedWorld") -> Callable[[], object]:
        """The change with a name, as a function of a world."""
        return lambda: getattr(self, f"_{name}")(world)

    def _set_ratio(self, world: "OvercommittedWorld") -> None:
        """Configure a ratio, which may exceed the cap or be invalid."""
        ratio = self._rng.choice(("1", "1.25", "1.5", "2", "9", "much"))
        self._drop_ratio(world)
        spec = {
            "nodeOvercommitSelectorVal": OVERCOMMITTED,
            "resourceOvercommitRatio": {"cpu": ratio},
        }
        body = msgspec.json.encode({"metadata": {"name": "chaos"}, "spec": spec})
        world.store.create(NODE_OVERCOMMIT_CONFIG, [body])

    def _drop_ratio(self, world: "OvercommittedWorld") -> None:
        """Delete the configured ratio."""
        world.store.delete(NODE_OVERCOMMIT_CONFIG, [Deletion("", "chaos")])

    def _report_use(self, world: "OvercommittedWorld") -> None:
        """Report the usage of a node, with another clock and perhaps a wrong value."""
        if not world.nodes:
            return
        name = self._rng.choice(list(world.nodes))
        shape = world.nodes[name]
        use = self._rng.choice(USES[:5] if shape.reclaimed else USES)
        at_s = world.seconds + self._rng.choice(LAGS)
        pods = [each for each in sorted(world.pods) if self._rng.random() < 0.3]
        metric = metric_json(at_s, use, pods)
        world.store.delete(CUSTOM_NODE_RESOURCE, [Deletion("", name)])
        world.store.create(CUSTOM_NODE_RESOURCE, [report_json(name, shape, metric)])


class OvercommittedWorld(Protocol):
    """The parts of the world that the changes use."""

    #: The store without faults.
    store: Store
    #: Shapes of the existing nodes.
    nodes: dict[str, NodeShapeDraw]
    #: Existing pods: name to uid.
    pods: dict[str, str]
    #: Wall time in seconds since 1970, by the world's own clock.
    seconds: float
