"""``stretto federation clusters``: the member clusters."""

from stretto.cli import options
from stretto.cli.commands.federation.source import FleetOptions, fleet_options, opened_fleet
from stretto.cli.options import CommandContext
from stretto.cli.output.formats import ListColumn, ListedRows, check_format, write_list


@options.command(
    "clusters",
    FleetOptions,
    example="""
        stretto federation clusters
        stretto federation clusters --on federation -o yaml
    """,
)
@fleet_options
def clusters(common: CommandContext, opts: FleetOptions) -> None:
    """List the member clusters: state, nodes, fill, workloads, promised capacity."""
    import msgspec

    from stretto.federation.answers.clusters import cluster_facts

    check_format(opts.output)
    with opened_fleet(opts) as fleet:
        found = cluster_facts(fleet.reader())
    columns = [
        ListColumn("cluster", [each.name for each in found]),
        ListColumn("state", [each.state for each in found]),
        ListColumn("nodes", [each.nodes for each in found]),
        ListColumn("CPU", [each.cpu_milli / 1000 for each in found]),
        ListColumn("filled", [f"{each.filled:.0%}" for each in found]),
        ListColumn("workloads", [each.workloads for each in found], 1),
        ListColumn("replicas", [each.replicas for each in found], 2),
        ListColumn("promised CPU", [each.promised_milli / 1000 for each in found], 3, wide=True),
        ListColumn("taints", [" ".join(each.taints) for each in found], 4),
    ]
    names = [f"federatedcluster/{each.name}" for each in found]
    fields = {"clusters": msgspec.to_builtins(found)}
    rows = ListedRows(columns, names, "stretto.federation.clusters/v1", fields)
    write_list(common.console, opts.output, rows)
