"""Scenes of a store or a cluster for ``explain``: a copy on which a plane retries pending pods."""

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from stretto.cli.cluster_source import ClusterOptions, named, state_in
from stretto.cli.options import CommandContext

if TYPE_CHECKING:
    from stretto.cli.console import Console
    from stretto.explain.why.scene import Scene
    from stretto.plane.copy import StoreState


class StoredScene(NamedTuple):
    """A scene of a store or a cluster."""

    #: The scene.
    scene: "Scene"
    #: The state it was built from.
    state: "StoreState"
    #: The pod, with its namespace if one is known.
    pod: str


class SceneChoice(NamedTuple):
    """What to build a scene from."""

    #: The pod, as ``name`` or ``namespace/name``.
    pod: str
    #: Namespace of the pod if it names none; empty for the default one.
    namespace: str
    #: The state (``sqlite:PATH``); unused for a cluster.
    state: str
    #: Files with rules that the profile may name.
    plugins: tuple[Path, ...]


def stored_scene(common: CommandContext, opts: ClusterOptions, choice: SceneChoice) -> StoredScene:
    """Build the scene of a store or a cluster.

    Raises:
        InputError: the store, the kubeconfig or the profile is invalid.
    """
    from stretto.explain.why.queues import with_implicit_queues
    from stretto.explain.why.sources.live import live_scene
    from stretto.explain.why.sources.unhandled import read_objects
    from stretto.plane.copy import PlaneCopy, SchedulingRules
    from stretto.sim.history.state_source import state_of

    namespace = choice.namespace
    if opts.reads_cluster:
        state, cluster_namespace = state_in(common, opts, plugins=choice.plugins)
        namespace = namespace or cluster_namespace
    else:
        state = state_of(choice.state)
    pod = named(choice.pod, namespace)
    copy = PlaneCopy(state, SchedulingRules(state.profile, "numpy", plugins=choice.plugins))
    copy.settle()
    copy.drop_backoff()
    plane = copy.plane
    views = plane.dispatcher.views
    scene = live_scene(plane.cluster, plane.config.profile, plane.units, views)
    scene.when = f"the {state.title} after retrying its pending pods"
    names = state.settings.scheduler_names
    scene.objects = read_objects(state.records, plane.cluster, names)
    scene.queues = tuple(with_implicit_queues(scene.queues, state.records))
    if opts.reads_cluster:
        _report_fit(common.console, scene, state, pod)
    return StoredScene(scene, state, pod)


def _report_fit(console: "Console", scene: "Scene", state: "StoreState", pod: str) -> None:
    """Report a pod that fits on the copy but is unbound in the cluster."""
    from stretto.api.wire.kinds import POD

    unbound = [
        each.uid
        for each in state.records
        if each.kind == POD and f"{each.namespace}/{each.name}" == pod and not each.node
    ]
    rows = [scene.cluster.pods.row(uid) for uid in unbound]
    if any(row is not None and scene.cluster.pods.slot[row] >= 0 for row in rows):
        console.note(
            "The pod fits but is unbound in the cluster: its scheduler has not processed it yet. "
            "Check that the scheduler runs and holds its lease: kubectl get leases -A"
        )


def run_state(run: str) -> "StoreState":
    """The final state of a recorded run; an empty name is the latest run.

    Raises:
        NotFoundError: no such record.
    """
    from stretto.sim.history.state_source import state_of

    return state_of(run)
