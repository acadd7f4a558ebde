"""Opens a state as a source of the dashboard: a run, a copy, or a live cluster."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from stretto.cli.options import CommandContext
from stretto.cli.sources.states import StateOptions, opened

if TYPE_CHECKING:
    from stretto.web.views.state import ViewSource


@contextmanager
def view_source(
    common: CommandContext, opts: StateOptions, plugins: tuple[Path, ...]
) -> "Iterator[ViewSource]":
    """Open the source of a state for the duration of the block."""
    if opts.reads_cluster:
        with opened(opts) as cluster:
            from stretto.base.clock import WallClock
            from stretto.plane.copy import PlaneSettings, SchedulingRules, build_plane
            from stretto.sim.options import chosen_source
            from stretto.web.views.follower import Follower
            from stretto.web.views.sources import PlaneSource

            profile = chosen_source("default", profile=opts.profile, plugins=plugins)
            rules = SchedulingRules(profile, "numpy", plugins=plugins)
            settings = PlaneSettings(counts_use=True)
            if opts.scheduler_name:
                settings = settings._replace(scheduler_names=frozenset(opts.scheduler_name))
            plane = build_plane(rules, settings, (), cluster.store, WallClock())
            source = PlaneSource(cluster.title, plane)
            with Follower(source, plane):
                yield source
        return
    yield from _fixed(common, opts, plugins)


def _fixed(
    common: CommandContext, opts: StateOptions, plugins: tuple[Path, ...]
) -> "Iterator[ViewSource]":
    """Open the source of a state that does not change."""
    from stretto.cli.sources.scenes import opened_scene
    from stretto.explain.metrics.shards import outcomes_of, shard_facts
    from stretto.explain.story import story_of_objects, story_of_run
    from stretto.web.views.sources import FixedSource
    from stretto.web.views.state import ViewedState

    with opened_scene(common, opts, plugins) as scene:
        run, records = scene.run, scene.records
        steps = list(run.file.all_steps()) if run is not None else []
        count = run.facts.shards if run is not None else 1
        shards = shard_facts(scene.scene.cluster, range(count), outcomes_of(steps))
        state = ViewedState(
            scene.scene,
            lambda kind: [each for each in records if each.kind == kind],
            scene.at,
            lambda: shards,
        )
        if run is not None:
            yield FixedSource(scene.title, state, lambda pod: story_of_run(run, pod))
        else:
            basis = f"events in the {scene.title}"
            yield FixedSource(scene.title, state, lambda pod: story_of_objects(records, pod, basis))
