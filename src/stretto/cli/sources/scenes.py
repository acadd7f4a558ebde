"""Scenes of states for ``explain`` and ``get``.

The record of a run shows the decisions of the run. For a store, a recording or a cluster, a plane
retries the pending pods on a copy.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from stretto.cli.options import CommandContext
from stretto.cli.sources.states import StateOptions, read_state

if TYPE_CHECKING:
    from stretto.explain.why.scene import Scene
    from stretto.explain.why.sources.loaded import LoadedRun
    from stretto.plane.copy import StoreState
    from stretto.stores.store import Record


@dataclass(frozen=True)
class OpenedScene:
    """An open scene."""

    #: The scene.
    scene: "Scene"
    #: Name of the state, for display.
    title: str
    #: Objects of the state that a question needs.
    records: "Sequence[Record]"
    #: Default namespace of names; empty for ``default``.
    namespace: str = ""
    #: The loaded run record; ``None`` for a copy.
    run: "LoadedRun | None" = None
    #: The copied state; ``None`` for a run record.
    state: "StoreState | None" = None
    #: True if the state is a live cluster.
    is_cluster: bool = False
    #: Time of the state: seconds since the start of the run, or wall time; ``None`` if unknown.
    at: float | None = None


@contextmanager
def opened_scene(
    common: CommandContext, opts: StateOptions, plugins: tuple[Path, ...] = ()
) -> Iterator[OpenedScene]:
    """Open the scene of a state for the duration of the block.

    Raises:
        InputError: the state, the kubeconfig or the profile is invalid.
        NotFoundError: no run has the name.
    """
    from stretto.sim.states.source import StateKind, referenced

    opts.check()
    if not opts.reads_cluster and not opts.profile:
        kind, path = referenced(opts.named)
        if kind is StateKind.RUN or kind is StateKind.SCENARIO:
            is_scenario = kind is StateKind.SCENARIO
            with _run_record(path, is_scenario, plugins) as record, _loaded(record, plugins) as run:
                yield _recorded(common, run, "scenario" if is_scenario else "run")
            return
    yield _copied(common, opts, plugins)


@contextmanager
def _run_record(path: Path, is_scenario: bool, plugins: tuple[Path, ...]) -> Iterator[Path]:
    """The record of a run; a scenario first runs in virtual time."""
    if not is_scenario:
        yield path
        return
    from stretto.plane.copy import SchedulingRules
    from stretto.sim.states.scenario_end import record_scenario

    with TemporaryDirectory(prefix="stretto-") as folder:
        target = Path(folder) / "scenario.sqlite"
        record_scenario(path, SchedulingRules("", plugins=plugins), target)
        yield target


@contextmanager
def _loaded(path: Path, plugins: tuple[Path, ...]) -> Iterator["LoadedRun"]:
    """A run record, open for the duration of the block."""
    from stretto.explain.why.sources.loaded import LoadedRun

    run = LoadedRun(path, plugins)
    try:
        yield run
    finally:
        run.close()


def _recorded(common: CommandContext, run: "LoadedRun", word: str) -> OpenedScene:
    """Return the scene of a run record."""
    from stretto.api.kinds.table import all_kinds

    facts = run.facts
    common.console.detail(f"record {facts.name}: {facts.source}, {facts.started}")
    records = [each for kind in all_kinds() for each in run.file.objects(kind)]
    return OpenedScene(run.scene, f"{word} {facts.name}", records, run=run, at=facts.end)


def _copied(common: CommandContext, opts: StateOptions, plugins: tuple[Path, ...]) -> OpenedScene:
    """Return the scene of a copy on which a plane retries the pending pods."""
    from stretto.plane.copy import SchedulingRules

    state, namespace = read_state(common, opts, SchedulingRules("", "numpy", plugins=plugins))
    return OpenedScene(
        scene_of(state, plugins),
        state.title,
        state.records,
        namespace=namespace,
        state=state,
        is_cluster=opts.reads_cluster,
        at=state.at,
    )


def scene_of(state: "StoreState", plugins: tuple[Path, ...] = ()) -> "Scene":
    """Return the scene of a state after a plane retried its pending pods on a copy.

    Raises:
        InputError: the profile of the state is invalid.
    """
    from stretto.explain.why.queues import with_implicit_queues
    from stretto.explain.why.sources.live import live_scene
    from stretto.explain.why.sources.unhandled import read_objects
    from stretto.plane.copy import PlaneCopy, SchedulingRules

    copy = PlaneCopy(state, SchedulingRules(state.profile, "numpy", plugins=plugins))
    copy.settle()
    copy.drop_backoff()
    plane = copy.plane
    views = plane.dispatcher.views
    scene = live_scene(plane.cluster, plane.config.profile, plane.units, views)
    scene.when = f"the {state.title} after retrying its pending pods"
    names = state.settings.scheduler_names
    scene.objects = read_objects(state.records, plane.cluster, names)
    scene.queues = tuple(with_implicit_queues(scene.queues, state.records))
    return scene
