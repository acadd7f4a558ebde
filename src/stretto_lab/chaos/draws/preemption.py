"""Preemption in the simulator: rules, budgets, notes and pods that do not go at once, by seed.

Moves and kept places (``moving``) are drawn beside it: they push pods about, too.
"""

from collections.abc import Callable
from typing import Any, Final

import msgspec

from stretto.api.wire.kinds import POD, POD_DISRUPTION_BUDGET
from stretto.base.rng import Rng
from stretto.state.victims.rules import OFF, UNPROTECTED, CandidateSelection, PreemptionRules
from stretto.stores.store import Deletion, EmbeddedStore, Patch, WriteOutcome
from stretto_lab.chaos.draws.pods import PodRole
from stretto_lab.chaos.draws.reservations import CHANGES as MOVES
from stretto_lab.chaos.draws.reservations import ReservationDraw

APPS: Final = ("red", "green", "blue")
CHANGES: Final = ("set_budget", "drop_budget", "let_go", *MOVES)
"""What the world may do about it."""


class PreemptionDraw:
    """What a seed draws about preemption, and what the world does about it."""

    def __init__(self, seed: int) -> None:
        """Draw from a stream of its own."""
        rng = Rng(seed).child("pushing")
        #: The profile's rules.
        self.rules = OFF if rng.random() < 0.1 else _draw_rules(rng)
        #: How often a pod does not go at once.
        self.holding_share = rng.choice((0.0, 0.2, 0.6))
        #: Whether there are budgets.
        self.with_budgets = rng.random() < 0.6
        #: Kept places and moves.
        self.moving = ReservationDraw(seed)
        #: Pods with finalizers, by name, that may have to be let go.
        self.held: dict[str, str] = {}
        self._rng = rng

    def weights(self) -> dict[str, float]:
        """Weights of its changes."""
        budgets = 2.0 if self.with_budgets else 0.0
        held = 8.0 if self.holding_share else 0.0
        own = {"set_budget": budgets, "drop_budget": budgets / 4, "let_go": held}
        return {**own, **self.moving.weights()}

    def change(self, name: str, store: Callable[[], EmbeddedStore]) -> Callable[[], object]:
        """One of ``CHANGES`` on a store."""
        if name in MOVES:
            return lambda: getattr(self.moving, name)(store())
        return lambda: getattr(self, f"_{name}")(store())

    def add_extras(self, role: PodRole) -> PodRole:
        """Give a pod an app, perhaps a note, perhaps a finalizer."""
        rng = self._rng
        note = rng.choice(("", "", "", "true", "false"))
        held = not role.group and rng.random() < self.holding_share
        role = msgspec.structs.replace(role, app=rng.choice(APPS), agrees=note, held=held)
        return self.moving.add_extras(role)

    def made(self, name: str, uid: str, role: PodRole) -> None:
        """A pod was made."""
        if role.held:
            self.held[name] = uid

    def release_all(self, store: EmbeddedStore) -> None:
        """Nothing holds a pod any more that is to leave."""
        for name in list(self.held):
            self._release(store, name)

    def _let_go(self, store: EmbeddedStore) -> None:
        leaving = [name for name in self.held if self._is_leaving(store, name)]
        if leaving:
            self._release(store, self._rng.choice(leaving))

    def _is_leaving(self, store: EmbeddedStore, name: str) -> bool:
        record = store.get(POD, "default", name)
        if record is None or record.uid != self.held[name]:
            del self.held[name]
            return False
        return bool(record.deleting)

    def _release(self, store: EmbeddedStore, name: str) -> None:
        uid = self.held.pop(name)
        store.patch(POD, [Patch("default", name, {"metadata": {"finalizers": None}}, uid=uid)])

    def _set_budget(self, store: EmbeddedStore) -> None:
        app = self._rng.choice(APPS)
        store.delete(POD_DISRUPTION_BUDGET, [Deletion("default", app)])
        key = self._rng.choice(("minAvailable", "maxUnavailable"))
        spec = {"selector": {"matchLabels": {"app": app}}, key: self._rng.randint(0, 3)}
        body: dict[str, Any] = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget"}
        body |= {"metadata": {"name": app, "namespace": "default"}, "spec": spec}
        (reply,) = store.create(POD_DISRUPTION_BUDGET, [msgspec.json.encode(body)])
        if reply.outcome is not WriteOutcome.OK:
            raise AssertionError(f"the store refused a budget: {reply.message}")

    def _drop_budget(self, store: EmbeddedStore) -> None:
        store.delete(POD_DISRUPTION_BUDGET, [Deletion("default", self._rng.choice(APPS))])


def _draw_rules(rng: Rng) -> PreemptionRules:
    return PreemptionRules(
        hard_budgets=rng.random() < 0.5,
        opt_in=rng.random() < 0.15,
        protected_from=10 if rng.random() < 0.1 else UNPROTECTED,
        protected_for=rng.choice((0.0, 0.0, 5.0)),
        patience=rng.choice((5.0, 20.0)),
        select=rng.choice(list(CandidateSelection)),
        candidates=rng.choice((1, 3, 100)),
    )
