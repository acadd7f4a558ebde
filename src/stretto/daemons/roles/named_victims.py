"""The victim finder of the binder role: it reads nominations instead of searching for victims."""

from collections.abc import Collection, Sequence
from math import inf

from stretto.control.scheduler.preemption import Domain
from stretto.daemons.roles.decided_engine import DecidedEngine
from stretto.framework.compiled.one_node import VictimCandidate
from stretto.framework.preemption.tiers import VictimSearchResult
from stretto.state.cluster.cluster import Cluster
from stretto.state.victims.rules import PreemptionRules
from stretto.state.work.claims import Plan
from stretto.state.work.units import Unit


class NamedVictimFinder:
    """Victim finder that reads the victims from annotations."""

    def __init__(self, rules: PreemptionRules, decided: DecidedEngine, cluster: Cluster) -> None:
        """Read nominations from the decisions."""
        #: The profile's rules.
        self.rules = rules
        self._decided = decided
        self._cluster = cluster

    def begin(self, plan: Plan) -> None:
        """Do nothing: there is no state between plans."""

    def expect(self, rows: Sequence[int]) -> None:
        """Do nothing: there is nothing to prepare."""

    def domains(self, unit: Unit, rows: Sequence[int], needed: int) -> Sequence[Domain]:
        """No restriction: the shard checked the domains when it decided."""
        del unit, rows, needed
        return (None,)

    def restrict_to(self, unit: Unit, row: int, domain: Domain, promised: Sequence[int]) -> None:
        """Do nothing: every pod has one node."""

    def find(self, row: int) -> VictimSearchResult:
        """The decided node and its victims."""
        found = self._decided.decision(row)
        if found is None:
            return VictimSearchResult(None)
        standing, slot = found
        rows = [self._cluster.pods.row(victim.uid) for victim in standing.victims]
        victims = tuple(each for each in rows if each is not None)
        mask = self._decided.mask(row, slot)
        return VictimSearchResult(VictimCandidate(slot, victims, frozenset(), (), mask))

    def take(self, row: int, candidate: VictimCandidate) -> None:
        """Do nothing: the judge counts the victims."""

    def may_evict(self, row: int, victims: Sequence[int]) -> bool:
        """True: the judge checks guards, guarantees and budgets."""
        del row, victims
        return True

    def allows(self, row: int, candidate: VictimCandidate) -> bool:
        """True: the judge checks the rules."""
        return True

    def stand(self, mark: int) -> bool:
        """True: the judge checks the rules."""
        return True

    def spare(self, rows: Collection[int]) -> None:
        """Do nothing: there are no alternative victims."""

    def end_sparing(self) -> None:
        """Do nothing: no pods are excluded."""

    def chance(self, class_id: int, priority: int) -> int:
        """0: only new decisions wake units."""
        del class_id, priority
        return 0

    def is_guarding(self) -> bool:
        """Return whether guarantees of queues may protect pods."""
        return False

    def protection_ends(self) -> float:
        """Infinity: only new decisions wake units."""
        return inf

    def mark(self) -> int:
        """A constant: there are no promises to revoke."""
        return 0

    def back_to(self, mark: int) -> None:
        """Do nothing: there are no promises to revoke."""
