"""Pods and units for ``stretto get``."""

from typing import TYPE_CHECKING

from stretto.cli.lists.request import GetOptions, require_names
from stretto.cli.options import CommandContext

if TYPE_CHECKING:
    from stretto.cli.output.formats import ListedRows
    from stretto.cli.sources.scenes import OpenedScene
    from stretto.explain.inventory.pods import PodRow


def listed_pods_of(common: CommandContext, opts: GetOptions) -> "ListedRows":
    """Return the pods of a state.

    Raises:
        NotFoundError: a named pod is missing.
    """
    import msgspec

    from stretto.cli.lists.columns import listed_pods
    from stretto.cli.sources.scenes import opened_scene
    from stretto.explain.inventory.lists import PodList

    with opened_scene(common, opts, opts.plugin) as opened:
        rows = _chosen_pods(common, opts, opened)
    if opts.pending:
        rows = [each for each in rows if not each.node and each.status != "ended"]
    require_names(common, "pod", [each.key for each in rows], opts)
    fields = msgspec.to_builtins(PodList(opened.title, tuple(rows)))
    return listed_pods(rows, fields)


def _chosen_pods(
    common: CommandContext, opts: GetOptions, opened: "OpenedScene", *, by_name: bool = True
) -> "list[PodRow]":
    """Return the pods of the namespace that match the filters."""
    from stretto.api.wire.kinds import POD
    from stretto.api.wire.selectors import parse_labels
    from stretto.explain.inventory.meta import labels_of
    from stretto.explain.inventory.pods import pod_rows

    names = set(opts.names) if by_name else set()
    namespace = opts.namespace or opened.namespace or "default"
    wanted = parse_labels(opts.selector, "--selector")
    found, elsewhere = [], 0
    for each in opened.records:
        if each.kind != POD or (opts.node and each.node != opts.node):
            continue
        if opts.selector and not wanted.matches(labels_of(each)):
            continue
        key = f"{each.namespace}/{each.name}"
        if names and not ({key, f"pod/{key}"} & names or each.name in names):
            continue
        if each.namespace != namespace and not opts.all_namespaces and key not in names:
            elsewhere += not opts.pending or not each.node
            continue
        found.append(each)
    if elsewhere and not opts.namespace:
        common.console.note(f"namespace {namespace}; {elsewhere:,} more in others (-A lists them)")
    return pod_rows(opened.scene, found, opened.at)


def listed_units_of(common: CommandContext, opts: GetOptions) -> "ListedRows":
    """Return the units of a state.

    Raises:
        NotFoundError: a named unit is missing.
    """
    import msgspec

    from stretto.cli.lists.columns import listed_units
    from stretto.cli.sources.scenes import opened_scene
    from stretto.explain.inventory.lists import UnitList
    from stretto.explain.inventory.units import unit_rows

    with opened_scene(common, opts, opts.plugin) as opened:
        pods = _chosen_pods(common, opts, opened, by_name=False)
        least: dict[str, int | None] = {}
        table = opened.scene.cluster.pods
        for row in table.rows().tolist():
            unit = opened.scene.notes.unit_of(row)
            if unit is not None:
                least[unit.key] = unit.min_member
    rows = [
        each
        for each in unit_rows(pods, least)
        if not opts.names or {each.name, each.name.rpartition("/")[2]} & set(opts.names)
    ]
    if opts.pending:
        rows = [each for each in rows if each.pending]
    require_names(common, "unit", [each.name for each in rows], opts)
    return listed_units(rows, msgspec.to_builtins(UnitList(opened.title, tuple(rows))))
