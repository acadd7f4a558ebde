"""The openb fleet as counts of node shapes and pod kinds, for studies that ignore order and times.

The upstream lists have a megabyte of rows that mostly differ in names only. The counts need a few
kilobytes, so they ship with the package; ``scripts/make_openb_figures.py`` creates the file.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Final

import msgspec

from stretto.inputs.neutral.bundled import read_bundled
from stretto.inputs.neutral.fleet import Fleet, FleetNode, FleetPod
from stretto.inputs.traces.openb.reader import MODEL_SEPARATOR

FIGURES_FILE: Final = "data/openb.json"
"""The data file of the package."""


class NodeShape(msgspec.Struct, frozen=True, array_like=True, order=True):
    """Nodes that differ only in their names."""

    #: Their number.
    count: int
    #: CPU of each, in thousandths of a core.
    cpu_milli: int
    #: Memory of each, in MiB.
    memory_mib: int
    #: GPUs of each.
    gpus: int
    #: Model of the GPUs.
    model: str


class OpenbPodKind(msgspec.Struct, frozen=True, array_like=True, order=True):
    """Pods that differ only in names and times."""

    #: Their number.
    count: int
    #: CPU of each, in thousandths of a core.
    cpu_milli: int
    #: Memory of each, in MiB.
    memory_mib: int
    #: GPUs of each.
    gpus: int
    #: Milli of each of these GPUs.
    gpu_milli: int
    #: Allowed models, joined as in the upstream list; empty for any.
    gpu_spec: str
    #: Quality of service.
    qos: str


class OpenbFigures(msgspec.Struct, frozen=True):
    """The data file: figures and their origin."""

    #: Repository and files of the source.
    source: str
    #: Commit of that repository.
    commit: str
    #: Licence of the data.
    licence: str
    #: The paper to cite.
    citation: str
    #: Changes, as the license requires.
    changes: str
    #: Node shapes, the most frequent first.
    nodes: tuple[NodeShape, ...]
    #: Pod kinds, the most frequent first.
    pods: tuple[OpenbPodKind, ...]


def read_figures() -> OpenbFigures:
    """The figures that ship with the package.

    Raises:
        InputError: the file is damaged.
    """
    return read_bundled(FIGURES_FILE, OpenbFigures)


def bundled_openb() -> Fleet:
    """The openb GPU fleet and its default pods, ordered by shape and kind, with generated names."""
    figures = read_figures()
    shapes = [shape for shape in figures.nodes for _ in range(shape.count)]
    kinds = [kind for kind in figures.pods for _ in range(kind.count)]
    models = {kind: _split(kind.gpu_spec) for kind in figures.pods}
    nodes = tuple(
        FleetNode(f"openb-node-{i:04d}", shape.cpu_milli, shape.memory_mib, shape.gpus, shape.model)
        for i, shape in enumerate(shapes)
    )
    pods = tuple(
        FleetPod(
            f"openb-pod-{i:04d}",
            kind.cpu_milli,
            kind.memory_mib,
            kind.gpus,
            kind.gpu_milli,
            models[kind],
            kind.qos,
        )
        for i, kind in enumerate(kinds)
    )
    return Fleet(nodes, pods, f"{figures.source} @ {figures.commit[:12]}", figures.licence)


def count_nodes(nodes: Sequence[FleetNode]) -> tuple[NodeShape, ...]:
    """The shapes of a fleet's nodes, the most frequent first, ties by size."""
    counts = Counter((n.cpu_milli, n.memory_mib, n.gpus, n.gpu_model) for n in nodes)
    shapes = [NodeShape(count, *shape) for shape, count in counts.items()]
    return tuple(sorted(shapes, key=lambda s: (-s.count, s)))


def count_pods(pods: Sequence[FleetPod]) -> tuple[OpenbPodKind, ...]:
    """The kinds of a fleet's pods, the most frequent first, ties by size."""
    counts = Counter(
        (
            pod.cpu_milli,
            pod.memory_mib,
            pod.gpus,
            pod.gpu_milli,
            MODEL_SEPARATOR.join(pod.gpu_models),
            pod.qos,
        )
        for pod in pods
    )
    kinds = [OpenbPodKind(count, *kind) for kind, count in counts.items()]
    return tuple(sorted(kinds, key=lambda k: (-k.count, k)))


def _split(spec: str) -> tuple[str, ...]:
    """The models of a ``gpu_spec``."""
    return tuple(spec.split(MODEL_SEPARATOR)) if spec else ()
