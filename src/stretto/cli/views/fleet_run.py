"""``stretto run`` of a fleet file: its clusters and objects at the end."""

from pathlib import Path

from stretto.base.errors import DoesNotFitError
from stretto.cli.console import Console
from stretto.explain.words.amounts import format_count


def ran_fleet(console: Console, path: Path, *, require_all: bool) -> bool:
    """Run a fleet file in virtual time and report; false for any other file.

    Raises:
        InputError: the file is invalid.
        DoesNotFitError: replicas fit nowhere, and all are required.
    """
    import msgspec

    from stretto.federation.answers.clusters import cluster_facts
    from stretto.federation.answers.placements import placed_object
    from stretto.federation.answers.subjects import FleetReader
    from stretto.sim.fleet.building import built
    from stretto.sim.fleet.description import is_fleet, read_fleet

    if not is_fleet(path):
        return False
    scenario = read_fleet(path)
    fleet = built(scenario.federation)
    fleet.run_until(fleet.clock.monotonic() + scenario.federation.seconds)
    reader = FleetReader(fleet.federation.fleet, fleet.clock)
    fleet.federation.fleet.host.poll(fleet.clock.monotonic())
    clusters = cluster_facts(reader)
    placed = [placed_object(each) for each in reader.items()]
    objects = [each for each in placed if each.kind != "Namespace"]
    number = format_count(len(clusters), "cluster")
    console.data(f"{scenario.name}: {number} after {scenario.federation.seconds:g} s")
    console.table(
        ["cluster", "state", "nodes", "CPU", "filled", "replicas"],
        [
            (x.name, x.state, x.nodes, x.cpu_milli / 1000, f"{x.filled:.0%}", x.replicas)
            for x in clusters
        ],
    )
    console.table(
        ["object", "clusters", "waiting", "problem"],
        [
            (
                f"{x.kind} {x.name}",
                counts(x.placement),
                x.held,
                x.problem,
            )
            for x in objects
        ],
    )
    document = {
        "name": scenario.name,
        "clusters": msgspec.to_builtins(clusters),
        "objects": msgspec.to_builtins(objects),
    }
    console.json("stretto.federation.run/v1", document)
    missing = [each for each in objects if not each.fits]
    if require_all and missing:
        what = f"{len(missing)} of {len(objects)} objects"
        hint = f"stretto federation explain {missing[0].name} --on {path}"
        raise DoesNotFitError(what, missing[0].problem or "replicas wait for capacity", hint)
    return True


def counts(found: dict[str, int | None]) -> str:
    """Replicas by cluster in one cell."""
    return " ".join(f"{name}={'all' if n is None else n}" for name, n in found.items()) or "-"
