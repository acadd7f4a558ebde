"""A fleet as a file: clusters of equal nodes, objects of the host, and the duration of the run."""

from pathlib import Path
from typing import Any, Final

import msgspec

from stretto.api.edit.yaml_text import load_documents
from stretto.base.errors import InputError
from stretto.federation.planner.supply.generations import PerformanceMatrix
from stretto.inputs.neutral.files import encoding_of, read_text
from stretto.inputs.neutral.streams import read_start
from stretto.inputs.neutral.strict import strict

KEY: Final = "federation"
"""The key that marks a scenario file as a fleet."""


class ClusterShape(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A member cluster of equal nodes."""

    #: Name of the cluster.
    name: str
    #: Number of nodes.
    nodes: int = 1
    #: CPUs of a node.
    cpu: int = 8
    #: Memory of a node.
    memory: str = "32Gi"
    #: GPUs of a node.
    gpus: int = 0
    #: CPU model of the nodes; empty for none.
    cpu_model: str = ""
    #: Labels of the cluster.
    labels: dict[str, str] = {}
    #: Taints of the cluster.
    taints: tuple[dict[str, str], ...] = ()


class FleetDescription(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The key ``federation`` of a scenario file."""

    #: Member clusters.
    clusters: tuple[ClusterShape, ...]
    #: Objects of the host, as manifests.
    objects: tuple[dict[str, Any], ...] = ()
    #: Duration of the run in seconds of virtual time.
    seconds: float = 60.0
    #: Work of one CPU by service and CPU model.
    performance: dict[str, dict[str, str | float]] = {}

    def matrix(self) -> PerformanceMatrix | None:
        """The matrix of CPU generations; ``None`` if there is none.

        Raises:
            InputError: an entry is not a positive number.
        """
        return PerformanceMatrix.read(self.performance) if self.performance else None


class FleetScenario(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A fleet file."""

    #: The fleet.
    federation: FleetDescription
    #: Name of the scenario; empty for the file's.
    name: str = ""
    #: Seed of all draws.
    seed: int = 0


def is_fleet(path: Path) -> bool:
    """True if a file describes a fleet; only its start is read.

    Raises:
        InputError: the file cannot be read.
    """
    if not path.is_file() or path.suffix not in (".yaml", ".yml", ".json"):
        return False
    start = read_start(path)
    text = start.decode(encoding_of(start), "replace")
    return any(line.startswith(f"{KEY}:") for line in text.splitlines())


def read_fleet(path: Path) -> FleetScenario:
    """Read a fleet file.

    Raises:
        InputError: the file cannot be read, is not YAML, or a field is malformed; the message
            contains its path.
    """
    documents = [value for _, value in load_documents(read_text(path), str(path))]
    expected = "a fleet: federation with clusters and objects"
    if len(documents) != 1:
        raise InputError(str(path), f"{len(documents)} documents", expected, "keep one of them")
    made = strict(FleetScenario, documents[0], str(path))
    _check(path, made.federation)
    if not made.name:
        return msgspec.structs.replace(made, name=path.stem)
    return made


def _check(path: Path, fleet: FleetDescription) -> None:
    """Refuse a description from which no fleet can be built."""
    seen: set[str] = set()
    if not fleet.clusters:
        raise InputError(f"{path}: federation.clusters", None, "at least one cluster")
    for at, each in enumerate(fleet.clusters):
        where = f"{path}: federation.clusters[{at}]"
        if each.name in seen:
            raise InputError(f"{where}.name", each.name, "each cluster once")
        if each.nodes < 0:
            raise InputError(f"{where}.nodes", each.nodes, "0 or more")
        seen.add(each.name)
    for at, body in enumerate(fleet.objects):
        if not body.get("kind") or not (body.get("metadata") or {}).get("name"):
            where = f"{path}: federation.objects[{at}]"
            raise InputError(where, body.get("kind"), "a manifest with kind and metadata.name")
    fleet.matrix()
