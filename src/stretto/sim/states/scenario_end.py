"""A scenario that runs in virtual time first: its final state, or its record."""

from collections.abc import Iterator
from pathlib import Path

from stretto.api.kinds.table import all_kinds
from stretto.base.clock import timestamp
from stretto.explain.records.record_file import RecordSources, RunFacts, write_record
from stretto.plane.copy import PlaneSettings, SchedulingRules, StoreState
from stretto.sim.history.virtual_run import run_scenario
from stretto.stores.store import Record, Store


def end_of_scenario(path: Path, rules: SchedulingRules) -> StoreState:
    """Run a scenario in virtual time until it is idle; returns the final state.

    Args:
        path: file of the scenario.
        rules: kernels and plugins; the profile is the scenario's own.

    Raises:
        InputError: the file cannot be used.
    """
    ended = run_scenario(path, rules)
    settings = PlaneSettings(
        ended.scenario.shards, ended.scenario.seed, ended.site.plane.cluster.config.scheduler_names
    )
    return StoreState(f"scenario {path}", list(_all(ended.site.store)), ended.source, settings)


def record_scenario(path: Path, rules: SchedulingRules, target: Path) -> None:
    """Run a scenario in virtual time until it is idle, and write its run record.

    Args:
        path: file of the scenario.
        rules: kernels and plugins; the profile is the scenario's own.
        target: file of the record.

    Raises:
        InputError: a file cannot be used.
    """
    scenario, source, (store, plane), live = run_scenario(path, rules)
    facts = RunFacts(
        name=str(path),
        source=str(path),
        started=timestamp(plane.clock.now() - live.seconds),
        seconds=live.seconds,
        seed=scenario.seed,
        shards=scenario.shards,
        profile=source,
        plugins=tuple(str(each.resolve()) for each in rules.plugins),
        scheduler_names=tuple(sorted(plane.cluster.config.scheduler_names)),
        steps_dropped=live.recorder.dropped,
        queues=tuple(plane.dispatcher.views.queues()),
        ended_at=live.elapsed,
    )
    parts = RecordSources(
        store, plane.cluster, plane.units, live.recorder, live.seconds_at, live.failures,
        plane.dispatcher.views,
    )  # fmt: skip
    write_record(target, facts, parts)


def _all(store: Store) -> Iterator[Record]:
    """Every object of a store."""
    for kind in all_kinds():
        yield from store.list(kind).records
