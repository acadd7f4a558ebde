"""Conservative backfill keeps starts between rounds: the starts are those of a fresh plan."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stretto.control.dispatcher import backfilling
from stretto.control.queues.kept_starts import KeptStarts, StartPlan
from stretto.control.queues.timetable import Timetable
from stretto.inputs.neutral.fleet import FleetNode
from stretto.inputs.traces.batch.jobs import BatchJob, BatchJobs
from stretto.sim.traces.batch import BatchReport, BatchStudy, simulate_batch

pytestmark = pytest.mark.timeout(240)

NODES = [FleetNode(f"node-{n}", 4_000, 1 << 20) for n in range(4)]
KEYS = BatchJobs(jobs="x")
JOBS = st.lists(
    st.tuples(
        st.integers(0, 40),
        st.integers(1, 10),
        st.integers(1, 30),
        st.sampled_from([0.5, 1.0, 1.0, 1.5, 3.0]),
    ),
    min_size=5,
    max_size=20,
)


class PlanCounter:
    """Makes plans and keeps them; without a memory each plan is fresh."""

    def __init__(self, *, remembers: bool) -> None:
        self.plans: list[StartPlan] = []
        self._remembers = remembers

    def __call__(self, table: Timetable, before: KeptStarts | None) -> StartPlan:
        self.plans.append(StartPlan(table, before if self._remembers else None))
        return self.plans[-1]

    @property
    def searches(self) -> int:
        return sum(each.searches for each in self.plans)


def played(
    rows: list[tuple[int, int, int, float]], monkeypatch: pytest.MonkeyPatch, **how: Any
) -> tuple[BatchReport, PlanCounter]:
    """Jobs of so many cores, run time and factor of the estimate, under conservative backfill."""
    jobs = [
        BatchJob(
            job_id=f"{i}",
            submit_s=submit,
            cpu_milli=1000 * cores,
            duration_s=run,
            estimate_s=run * factor,
        )
        for i, (submit, cores, run, factor) in enumerate(rows)
    ]
    counter = PlanCounter(**how)
    monkeypatch.setattr(backfilling, "StartPlan", counter)
    return simulate_batch(jobs, NODES, KEYS, BatchStudy(queue="conservative")).report, counter


@settings(max_examples=8)
@given(rows=JOBS)
def test_kept_starts_are_those_of_a_fresh_plan(rows: list[tuple[int, int, int, float]]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        kept, few = played(rows, patch, remembers=True)
        fresh, all_of_them = played(rows, patch, remembers=False)
    assert kept == fresh
    assert few.searches <= all_of_them.searches


def test_an_arrival_searches_for_itself_only(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [(0, 16, 1000, 1.0), *((n, 16, 100, 1.0) for n in range(1, 40))]
    _, counter = played(rows, monkeypatch, remembers=True)
    assert counter.searches <= 3 * len(rows)


def test_a_reserved_unit_that_starts_in_time_changes_no_other_start(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rows = [(0, 8, 10, 1.0), (0, 8, 20, 1.0), (1, 8, 1000, 1.0), *((2, 8, 5, 1.0),) * 30]
    _, counter = played(rows, monkeypatch, remembers=True)
    assert counter.searches <= len(rows)
