"""``stretto federation explain``: why an object or a pod is, or is not, in a cluster."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from stretto.base.errors import InputError, NotFoundError, UnknownNameError
from stretto.cli import options
from stretto.cli.commands.federation.source import (
    FleetOptions,
    OpenedFleet,
    fleet_options,
    opened_fleet,
)
from stretto.cli.options import CommandContext
from stretto.cli.output.formats import ListColumn, ListedRows, check_format, write_list

if TYPE_CHECKING:
    from stretto.cli.sources.members import FoundPod, PodSearch
    from stretto.federation.answers.records import ClusterVerdict
    from stretto.federation.answers.subjects import FleetReader

_SCHEMA = "stretto.federation.explain/v1"


@dataclass(frozen=True, kw_only=True)
class FleetExplainOptions(FleetOptions):
    """Options of ``federation explain``."""

    #: The object or the pod: NAME, NAMESPACE/NAME or KIND/NAMESPACE/NAME.
    name: str
    #: The only cluster to explain; empty for all.
    cluster: str


@options.command(
    "explain",
    FleetExplainOptions,
    example="""
        stretto federation explain web
        stretto federation explain deployment/default/web east --on federation
        stretto federation explain pod/default/web-5d9c7b-x2x1k
    """,
)
@click.argument("name")
@click.argument("cluster", required=False, default="")
@fleet_options
def explain(common: CommandContext, opts: FleetExplainOptions) -> None:
    """Explain why an object is, or is not, in each cluster, and what would change that.

    NAME is NAME, NAMESPACE/NAME or KIND/NAMESPACE/NAME; CLUSTER limits the answer to one cluster.
    The name of a pod of a member explains its workload in each cluster, and then the pod in its
    own: why it is on its node, or why it is pending.
    """
    check_format(opts.output)
    with opened_fleet(opts) as fleet:
        reader = fleet.reader()
        kind, _, rest = opts.name.partition("/")
        if kind.lower() not in ("pod", "pods"):
            try:
                item = reader.find(opts.name)
            except NotFoundError as error:
                _explain_pod(common, opts, fleet, (reader, opts.name, error.hint))
                return
            _write(common, opts, _verdicts(reader, item, opts.cluster), {})
            return
        _explain_pod(common, opts, fleet, (reader, rest, ""))


def _explain_pod(
    common: CommandContext,
    opts: FleetExplainOptions,
    fleet: OpenedFleet,
    wanted: "tuple[FleetReader, str, str]",
) -> None:
    """Explain the workload of a pod in each cluster, and the pod in its own.

    Raises:
        NotFoundError: no member that can be read has the pod.
        InputError: several members have it.
    """
    from stretto.cli.sources.members import searched_pods
    from stretto.federation.answers.pods import owner_of
    from stretto.federation.answers.subjects import kind_of, title

    reader, name, hint = wanted
    with searched_pods(fleet, name, opts.cluster) as search:
        found = _only(opts, search, hint)
        item = owner_of(reader, found.store, found.pod)
        of = f"{kind_of(item)} {title(item)}" if item is not None else "no federated object"
        where = f"pod {found.pod.namespace}/{found.pod.name} of {of} is in {found.cluster}"
        common.console.note(where)
        verdicts = _verdicts(reader, item, "") if item is not None else []
        answer, show = _answer(common, found)
        more = {"pod": answer, "pod_cluster": found.cluster, "object": of}
        _write(common, opts, verdicts, more)
        if opts.output in ("table", "wide"):
            show()


def _only(opts: FleetExplainOptions, search: "PodSearch", hint: str) -> "FoundPod":
    unread = "; ".join(f"{name}: {why}" for name, why in search.unread.items())
    if not search.found:
        why = "no federated object and no pod of a member has this name"
        text = f"{why}; not read: {unread}" if unread else why
        raise NotFoundError(opts.name, text, hint)
    if len(search.found) > 1:
        clusters = ", ".join(each.cluster for each in search.found)
        raise InputError("NAME", opts.name, "a pod of one cluster", f"add CLUSTER: {clusters}")
    return search.found[0]


def _answer(common: CommandContext, found: "FoundPod") -> tuple[dict[str, Any], Any]:
    """The explanation of a pod by its own cluster, and what shows it."""
    import msgspec

    from stretto.cli.sources.scenes import scene_of
    from stretto.cli.views.explanation import show_explanation
    from stretto.explain.why.why import explain_pod
    from stretto.plane.copy import PlaneSettings, StoreState
    from stretto.reconcile.cache import StoredObject
    from stretto.sim.history.clusters import listed

    scheduler = str(StoredObject(found.pod).spec.get("schedulerName") or "")
    names = frozenset({"", "default-scheduler", scheduler})
    settings = PlaneSettings(1, common.seed, names)
    state = StoreState(f"cluster {found.cluster}", listed(found.store).records, settings=settings)
    answer = explain_pod(scene_of(state), f"{found.pod.namespace}/{found.pod.name}")
    return dict(msgspec.to_builtins(answer)), lambda: show_explanation(common.console, answer)


def _verdicts(reader: "FleetReader", item: Any, cluster: str) -> "list[ClusterVerdict]":
    """What each cluster means for an object; of one cluster unless that is empty.

    Raises:
        UnknownNameError: there is no such cluster.
    """
    from stretto.federation.answers.verdicts import verdicts

    found = verdicts(reader, reader.decision(item))
    known = [each.cluster for each in found]
    if cluster and cluster not in known:
        raise UnknownNameError("cluster", cluster, known)
    return [each for each in found if cluster in ("", each.cluster)]


def _write(
    common: CommandContext,
    opts: FleetExplainOptions,
    found: "list[ClusterVerdict]",
    more: dict[str, Any],
) -> None:
    """Write the verdicts, with what is known of a pod."""
    import msgspec

    columns = [
        ListColumn("cluster", [each.cluster for each in found]),
        ListColumn("chosen", ["yes" if each.chosen else "no" for each in found]),
        ListColumn("replicas", [_replicas(each) for each in found]),
        ListColumn("score", [each.score for each in found], 2),
        ListColumn("why", [each.why for each in found]),
        ListColumn("cure", [each.cure for each in found], 1),
    ]
    fields = {"name": opts.name, "clusters": msgspec.to_builtins(found), **more}
    rows = ListedRows(columns, [each.cluster for each in found], _SCHEMA, fields)
    write_list(common.console, opts.output, rows)


def _replicas(verdict: "ClusterVerdict") -> int | str | None:
    return "all" if verdict.chosen and verdict.replicas is None else verdict.replicas
