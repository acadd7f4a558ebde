"""``stretto run`` of a fleet file: its clusters and objects at the end."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from stretto.base.errors import DoesNotFitError
from stretto.cli.console import Console
from stretto.explain.words.amounts import format_count

if TYPE_CHECKING:
    from stretto.federation.answers.records import ClusterFacts, PlacedObject


def ran_fleet(console: Console, path: Path, *, require_all: bool) -> bool:
    """Run a fleet file in virtual time and report; return False for any other file.

    Raises:
        InputError: the file is invalid.
        DoesNotFitError: replicas fit in no cluster, and all are required.
    """
    import msgspec

    from stretto.federation.answers.clusters import cluster_facts
    from stretto.federation.answers.placements import placed_object
    from stretto.federation.answers.subjects import FleetReader
    from stretto.federation.fleet import unready_clusters
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
    unready = unready_clusters(fleet.federation.fleet)
    placed = [placed_object(each, unready) for each in reader.items()]
    objects = [each for each in placed if each.kind != "Namespace"]
    number = format_count(len(clusters), "cluster")
    console.data(f"{scenario.name}: {number} after {scenario.federation.seconds:g} s")
    _show(console, clusters, objects)
    for name, problem in fleet.federation.fleet.kind_problems.items():
        console.warn(f"FederatedTypeConfig {name}: {problem}")
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


def _show(
    console: Console, clusters: "Sequence[ClusterFacts]", objects: "Sequence[PlacedObject]"
) -> None:
    """Write both tables."""
    console.table(
        ["cluster", "state", "nodes", "CPU", "filled", "replicas"],
        [
            (x.name, x.state, x.nodes, x.cpu_milli / 1000, f"{x.filled:.0%}", x.replicas)
            for x in clusters
        ],
    )
    console.table(
        ["object", "clusters", "waiting", "problem"],
        [(f"{x.kind} {x.name}", placement(x), x.held, x.problem) for x in objects],
    )
    note_unknown(console, objects)


def placement(found: "PlacedObject") -> str:
    """Return replicas by cluster as one cell; a question mark follows last known values."""
    return "host" if found.on_host else counts(found.placement, found.unknown)


def note_unknown(console: Console, found: "Iterable[PlacedObject]") -> None:
    """Note the clusters whose replicas are known only from their last state."""
    clusters = sorted({name for each in found for name in each.unknown})
    if clusters:
        listed = ", ".join(clusters)
        console.note(
            f"not ready: {listed}; replicas marked ? are as last known, and stay there until"
            " the cluster answers or the failover moves them"
        )


def counts(found: dict[str, int | None], unknown: tuple[str, ...] = ()) -> str:
    """Return replicas by cluster as one cell."""
    return (
        " ".join(
            f"{name}={'all' if count is None else count}{'?' * (name in unknown)}"
            for name, count in found.items()
        )
        or "-"
    )
