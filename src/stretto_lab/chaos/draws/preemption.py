"""Preemption in the simulator: rules, budgets, annotations and finalizers, drawn from the seed.

Moves and reservations are drawn in ``reservations``; they evict pods, too.
"""

from collections.abc import Callable
from typing import Any, Final

import msgspec

from stretto.api.wire.kinds import POD, POD_DISRUPTION_BUDGET
from stretto.base.rng import Rng
from stretto.state.victims.rules import OFF, UNPROTECTED, CandidateSelection, PreemptionRules
from stretto.stores.store import Deletion, Patch, Store, WriteOutcome
from stretto_lab.chaos.draws.pods import PodRole
from stretto_lab.chaos.draws.reservations import CHANGES as MOVES
from stretto_lab.chaos.draws.reservations import ReservationDraw

APPS: Final = ("red", "green", "blue")
RECREATE_SHARE: Final = 0.5
"""Share of seeds with controllers that recreate evicted pods."""
CHANGES: Final = ("set_budget", "drop_budget", "finish_eviction", *MOVES)
"""Changes of the world that affect preemption."""


class PreemptionDraw:
    """Draws of a seed for preemption, and the changes of the world."""

    def __init__(self, seed: int) -> None:
        """Draw from a separate stream."""
        rng = Rng(seed).child("pushing")
        #: Preemption rules of the profile.
        first = Rng(seed).child("across queues").random() < 0.75
        drawn = OFF if rng.random() < 0.1 else _draw_rules(rng)
        self.rules = msgspec.structs.replace(drawn, guarantees_first=first)
        #: Share of pods with a finalizer.
        self.holding_share = rng.choice((0.0, 0.2, 0.6))
        #: True if the seed has PodDisruptionBudgets.
        self.with_budgets = rng.random() < 0.6
        #: True if controllers recreate evicted pods.
        self.recreates = Rng(seed).child("controllers").random() < RECREATE_SHARE
        #: Seconds after which pods are evicted from over-committed nodes; ``None`` for never.
        self.overcommit_delay = Rng(seed).child("relief").choice((None, 1.0, 8.0))
        #: Draws of reservations and moves.
        self.moving = ReservationDraw(seed)
        #: Uids of pods with finalizers, by name.
        self.held: dict[str, str] = {}
        self._rng = rng
        self._seed = seed

    def weights(self) -> dict[str, float]:
        """Weight of each change."""
        budgets = 2.0 if self.with_budgets else 0.0
        held = 8.0 if self.holding_share else 0.0
        own = {"set_budget": budgets, "drop_budget": budgets / 4, "finish_eviction": held}
        return {**own, **self.moving.weights()}

    def change(self, name: str, store: Callable[[], Store]) -> Callable[[], object]:
        """The change with a name, as a function of a store."""
        if name in MOVES:
            return lambda: getattr(self.moving, name)(store())
        return lambda: getattr(self, f"_{name}")(store())

    def priority_of_gang(self, name: str) -> int:
        """Priority of the pods of a gang."""
        return Rng(self._seed).child("gang", name).choice((0, 0, 5))

    def add_extras(self, role: PodRole) -> PodRole:
        """Add an app label, and perhaps an annotation and a finalizer."""
        rng = self._rng
        annotation = rng.choice(("", "", "", "true", "false"))
        held = not role.group and rng.random() < self.holding_share
        role = msgspec.structs.replace(role, app=rng.choice(APPS), agrees=annotation, held=held)
        return self.moving.add_extras(role)

    def made(self, name: str, uid: str, role: PodRole) -> None:
        """Record a new pod."""
        if role.held:
            self.held[name] = uid

    def release_all(self, store: Store) -> None:
        """Remove all finalizers."""
        for name in list(self.held):
            self._release(store, name)

    def _finish_eviction(self, store: Store) -> None:
        terminating = [name for name in self.held if self._is_terminating(store, name)]
        if terminating:
            self._release(store, self._rng.choice(terminating))

    def _is_terminating(self, store: Store, name: str) -> bool:
        record = store.get(POD, "default", name)
        if record is None or record.uid != self.held[name]:
            del self.held[name]
            return False
        return bool(record.deleting)

    def _release(self, store: Store, name: str) -> None:
        uid = self.held.pop(name)
        store.patch(POD, [Patch("default", name, {"metadata": {"finalizers": None}}, uid=uid)])

    def _set_budget(self, store: Store) -> None:
        app = self._rng.choice(APPS)
        store.delete(POD_DISRUPTION_BUDGET, [Deletion("default", app)])
        key = self._rng.choice(("minAvailable", "maxUnavailable"))
        spec = {"selector": {"matchLabels": {"app": app}}, key: self._rng.randint(0, 3)}
        body: dict[str, Any] = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget"}
        body |= {"metadata": {"name": app, "namespace": "default"}, "spec": spec}
        (reply,) = store.create(POD_DISRUPTION_BUDGET, [msgspec.json.encode(body)])
        if reply.outcome is not WriteOutcome.OK:
            raise AssertionError(f"the store refused a budget: {reply.message}")

    def _drop_budget(self, store: Store) -> None:
        store.delete(POD_DISRUPTION_BUDGET, [Deletion("default", self._rng.choice(APPS))])


def _draw_rules(rng: Rng) -> PreemptionRules:
    return PreemptionRules(
        hard_budgets=rng.random() < 0.5,
        opt_in=rng.random() < 0.15,
        protected_from=10 if rng.random() < 0.1 else UNPROTECTED,
        protected_for=rng.choice((0.0, 0.0, 5.0)),
        wait_timeout=rng.choice((5.0, 20.0)),
        select=rng.choice(list(CandidateSelection)),
        candidates=rng.choice((1, 3, 100)),
    )
