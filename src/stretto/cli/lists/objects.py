"""Nodes and runs for ``stretto get``."""

from typing import TYPE_CHECKING

from stretto.cli.lists.request import GetOptions, require_names
from stretto.cli.options import CommandContext

if TYPE_CHECKING:
    from stretto.cli.output.formats import ListedRows


def listed_nodes_of(common: CommandContext, opts: GetOptions) -> "ListedRows":
    """Return the nodes of a state.

    Raises:
        NotFoundError: a named node is missing.
    """
    import msgspec

    from stretto.api.wire.kinds import NODE
    from stretto.api.wire.selectors import parse_labels
    from stretto.cli.lists.columns import listed_nodes
    from stretto.cli.sources.scenes import opened_scene
    from stretto.explain.inventory.lists import NodeList
    from stretto.explain.inventory.nodes import node_rows

    wanted = parse_labels(opts.selector, "--selector")
    names = {each.removeprefix("node/") for each in opts.names}
    with opened_scene(common, opts, opts.plugin) as opened:
        chosen = [
            each
            for each in opened.records
            if each.kind == NODE and (not names or each.name in names)
        ]
        rows = node_rows(opened.scene, chosen)
    rows = [each for each in rows if not opts.selector or wanted.matches(each.labels)]
    require_names(common, "node", [each.name for each in rows], opts)
    return listed_nodes(rows, msgspec.to_builtins(NodeList(opened.title, tuple(rows))))


def listed_runs_of(
    common: CommandContext, names: tuple[str, ...], *, pending: bool
) -> "ListedRows":
    """Return the run records.

    Raises:
        NotFoundError: a named record is missing.
    """
    import msgspec

    from stretto.cli.lists.columns import listed_runs
    from stretto.explain.inventory.lists import RunList
    from stretto.explain.inventory.runs import run_rows
    from stretto.explain.records.records import RunRecords

    records = RunRecords()
    rows = [each for each in run_rows(records, names) if each.pending or not pending]
    if not rows:
        common.console.note(
            f"no run record in {records.folder}; create one: stretto run quickstart"
        )
    return listed_runs(rows, msgspec.to_builtins(RunList(str(records.folder), tuple(rows))))
