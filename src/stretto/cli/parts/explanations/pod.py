"""Answers of ``stretto explain`` about one pod."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from stretto.cli.options import CommandContext

if TYPE_CHECKING:
    from stretto.cli.sources.scenes import OpenedScene
    from stretto.explain.why.scene import Scene
    from stretto.explain.why.sources.loaded import LoadedRun
    from stretto.plane.copy import StoreState


def report_fit(common: CommandContext, opened: "OpenedScene", pod: str) -> None:
    """Note that a pod fits on the copy although it is not bound in the cluster."""
    from stretto.api.wire.kinds import POD

    unbound = [
        each.uid
        for each in opened.records
        if each.kind == POD and f"{each.namespace}/{each.name}" == pod and not each.node
    ]
    pods = opened.scene.cluster.pods
    rows = [pods.row(uid) for uid in unbound]
    if any(row is not None and pods.slot[row] >= 0 for row in rows):
        common.console.note(
            "The pod fits but is unbound in the cluster: its scheduler has not processed it yet. "
            "Check that the scheduler runs and holds its lease: kubectl get leases -A"
        )


def refuse_deleted(run: "LoadedRun", pod: str) -> None:
    """Refuse a pod that ended during a run; the message contains the command for its history.

    Raises:
        NotFoundError: the pod ended or was deleted.
    """
    from stretto.base.errors import NotFoundError

    pods = run.scene.cluster.pods
    exists = any(pod in (pods.name[row], pods.key(row)) for row in pods.rows().tolist())
    if not exists and run.file.deleted(pod):
        hint = f"its life: stretto story {pod}"
        raise NotFoundError(f"pod {pod}", "it ended or was deleted during the run", hint)


def pod_answer(
    common: CommandContext, scene: "Scene", pod: str, node: str | None
) -> dict[str, Any]:
    """Explain a pod on a scene and write the answer; return its JSON form."""
    import msgspec

    from stretto.cli.views.explanation import show_explanation, show_node_explanation
    from stretto.explain.why.on_node import explain_pod_on
    from stretto.explain.why.why import explain_pod

    if node:
        compared = explain_pod_on(scene, pod, node)
        show_node_explanation(common.console, compared)
        return dict(msgspec.to_builtins(compared))
    answer = explain_pod(scene, pod)
    show_explanation(common.console, answer)
    return dict(msgspec.to_builtins(answer))


def expected_start(
    common: CommandContext, pod: str, state: "StoreState", plugins: tuple[Path, ...]
) -> dict[str, float | None]:
    """Estimate when a pending pod starts and write the result; return its JSON form."""
    from stretto.cli.views.expected_start import show_expected_start

    return show_expected_start(common.console, pod, state, plugins)
