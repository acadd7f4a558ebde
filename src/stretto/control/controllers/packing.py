"""Plans moves with the ``packing`` profile, which is compiled once for each cluster."""

from collections.abc import Callable

from stretto.control.controllers.movable import MoveLimits
from stretto.control.controllers.move_plan import DefragPlan, MovePlanner
from stretto.control.controllers.owners import owner_of
from stretto.framework.engine.engine import CompiledProfile
from stretto.framework.profile.profile import load_profile
from stretto.state.cluster.cluster import Cluster
from stretto.state.victims.budgets import BudgetLedger
from stretto.state.work.rescheduling import ReschedulingGoal
from stretto.state.work.units import Units
from stretto.stores.store import Store


def packing_engine(cluster: Cluster) -> CompiledProfile:
    """The compiled ``packing`` profile; create it once, because the cluster registers it."""
    defaults, running_term_scoring = cluster.domains.defaults, cluster.domains.running_term_scoring
    engine = CompiledProfile(load_profile("packing"), cluster)
    cluster.domains.configure(
        defaults, running_term_scoring
    )  # compiling the packing profile replaced the cluster's tables
    return engine


class PackingPlanner:
    """Plans moves for one cluster, as often as needed."""

    def __init__(
        self,
        cluster: Cluster,
        units: Units,
        store: Store,
        budgets: BudgetLedger,
        is_protected: Callable[[int], bool],
    ) -> None:
        """Use a plane's cluster, units, store and budgets; the profile is compiled at first use.

        ``is_protected`` is true if a rule of the profile protects the pod of a row from evictions.
        """
        self._cluster = cluster
        self._units = units
        self._store = store
        self._budgets = budgets
        self._is_protected = is_protected
        self._engine: CompiledProfile | None = None

    def plan(self, goal: ReschedulingGoal, moves: int, tier: str = "auto") -> DefragPlan:
        """Plan up to ``moves`` moves for a goal; nothing is written."""
        limits = MoveLimits(moves, self._budgets, self._units, self._is_protected, self.owner_of)
        if self._engine is None:
            self._engine = packing_engine(self._cluster)
        return MovePlanner(self._engine, limits, tier).plan(goal)

    def owner_of(self, row: int) -> str:
        """``Kind/namespace/name`` of the controller that recreates a pod; empty without one."""
        return owner_of(self._store, self._cluster.pods, row)
