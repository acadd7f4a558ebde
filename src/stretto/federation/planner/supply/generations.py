"""Generations of CPUs: replicas on slower CPUs do less work, so that equal work needs more of them.

A matrix says how much of the work of a reference CPU one CPU of a model does for a service, for
example 0.56 on an old model and 1.0 on the reference; a service may not run on a model at all. A
division in units of work, the replicas on reference CPUs, becomes replicas by cluster.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, TypeAlias

from stretto.base.errors import InputError
from stretto.federation.planner.division.demand import DivisionCluster, DivisionPlan

NOT_RUNNABLE: Final = "N/A"
"""A model on which a service cannot run."""

ModelRow: TypeAlias = Mapping[str, Fraction | None]
"""Work of one CPU by model; None where the service cannot run."""


@dataclass(frozen=True, slots=True)
class PerformanceMatrix:
    """Work of one CPU by service and model."""

    #: Rows by service.
    rows: Mapping[str, ModelRow]

    @classmethod
    def read(cls, rows: Mapping[str, Mapping[str, object]]) -> "PerformanceMatrix":
        """A matrix from numbers, or texts of numbers, and ``N/A``.

        Raises:
            InputError: an entry is not a positive number; the message names service and model.
        """
        return cls(
            {
                service: {model: _work(service, model, each) for model, each in row.items()}
                for service, row in rows.items()
            }
        )

    def performance(self, service: str, cpus: Mapping[str, int]) -> Fraction | None:
        """Mean work of the CPUs on which the service can run; None if it can run on none.

        Args:
            service: The service; one that the matrix does not have runs everywhere as on the
                reference. The same holds for a model that its row does not have.
            cpus: Free CPU in thousandths, by model.
        """
        row = self.rows.get(service, {})
        usable = {model: row.get(model, Fraction(1)) for model in cpus}
        whole = sum(count for model, count in cpus.items() if usable[model] is not None)
        if not whole:
            return None
        work = (count * (usable[model] or Fraction(0)) for model, count in cpus.items())
        done: Fraction = sum(work, Fraction(0))
        return done / whole

    def usable(self, service: str, cpus: Mapping[str, int]) -> int:
        """Free CPU in thousandths on which the service can run."""
        row = self.rows.get(service, {})
        return sum(
            count for model, count in cpus.items() if row.get(model, Fraction(1)) is not None
        )


def _work(service: str, model: str, entry: object) -> Fraction | None:
    if entry == NOT_RUNNABLE:
        return None
    try:
        work = Fraction(str(entry))
    except (ValueError, ZeroDivisionError):
        work = Fraction(0)
    if work <= 0:
        expected = f"a number above 0, such as 0.56, or {NOT_RUNNABLE}"
        raise InputError(f"{service}.{model}", entry, expected)
    return work


def in_work(cluster: DivisionCluster, performance: Fraction | None) -> DivisionCluster:
    """``cluster`` with its limits in units of work instead of replicas.

    Minimums are rounded up and limits down, so that the replicas for any amount of work within
    them are within the cluster's own. Where the service cannot run, the cluster takes nothing.
    """
    if performance is None:
        return DivisionCluster(cluster.name, 0, 0, 0, 0)
    least = -(-cluster.minimum * performance // 1)
    most = None if cluster.maximum is None else int(cluster.maximum * performance // 1)
    fits = None if cluster.capacity is None else int(cluster.capacity * performance // 1)
    if most is not None:
        least = min(least, most)
    return DivisionCluster(cluster.name, cluster.weight, int(least), most, fits)


def in_replicas(plan: DivisionPlan, performance: Mapping[str, Fraction | None]) -> DivisionPlan:
    """A plan in units of work as replicas: enough of them in each cluster, rounded up."""

    def replicas(work: Mapping[str, int]) -> dict[str, int]:
        return {name: int(-(-count // (performance[name] or 1))) for name, count in work.items()}

    return DivisionPlan(
        replicas(plan.placed), replicas(plan.pending), replicas(plan.kept), plan.unplaced
    )
