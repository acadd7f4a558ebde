"""Generations of CPUs: slower CPUs do less work, so that equal work needs more replicas.

A matrix gives the work of one CPU of a model for a service, relative to a reference CPU, for
example 0.56 on an old model and 1.0 on the reference. A service may be unable to run on a model.
The division uses units of work, the replicas on reference CPUs; the result is converted to replicas
by cluster.
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
"""Work of one CPU by model; ``None`` if the service cannot run on it."""


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
        """Mean work of the CPUs on which the service can run; ``None`` if it can run on none.

        Args:
            service: The service. A service without a row runs everywhere as on the reference, and a
                row without a model as well.
            cpus: Free CPU in thousandths of a core, by model.
        """
        row = self.rows.get(service, {})
        usable = {model: row.get(model, Fraction(1)) for model in cpus}
        whole = sum(count for model, count in cpus.items() if usable[model] is not None)
        if not whole:
            return None
        work = (count * (usable[model] or Fraction(0)) for model, count in cpus.items())
        done: Fraction = sum(work, Fraction(0))
        return done / whole


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

    Minimums are rounded up and limits down, so that the replicas for any amount of work within them
    are within the cluster's own limits. A cluster where the service cannot run has a limit of 0.
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
    """A plan in units of work, converted to replicas of each cluster, rounded up."""

    def replicas(work: Mapping[str, int]) -> dict[str, int]:
        return {name: int(-(-count // (performance[name] or 1))) for name, count in work.items()}

    return DivisionPlan(
        replicas(plan.placed), replicas(plan.pending), replicas(plan.kept), plan.unplaced
    )
