"""Short descriptions of nodes: ``64cpu-256gib:200``, ``model=G2,gpu=8``.

A trace of virtual machines has no hosts, and a study often uses a few nodes of a long list. The
command line and scenarios describe both in this short form.
"""

import re
from collections.abc import Callable, Sequence
from typing import Final

from stretto.base.errors import InputError, UnknownNameError, suggestion
from stretto.base.nearest import CUTOFF, nearest
from stretto.base.registry import Registry
from stretto.inputs.neutral.fleet import MAX_CPU_MILLI, MAX_GPUS, MAX_MEMORY_MIB, FleetNode

MAX_NODES: Final = 1_000_000
"""Maximum number of nodes of a scenario, fifty times the largest cluster of the design."""
LIKE_EXAMPLE: Final = "a shape and a count such as 64cpu-256gib:200 or 96cpu-768gib-8gpu-G2:10"
"""Form of ``--nodes-like``."""
SHAPE_EXAMPLE: Final = "one shape such as 64cpu-256gib or 96cpu-768gib-8gpu-G2"
"""Form of a shape without a count."""
FILTER_EXAMPLE: Final = "keys and values such as model=G2,gpu=8"
"""Form of ``--node-filter``."""

_LIKE: Final = re.compile(
    r"(?P<cpu>\d{1,15})cpu-(?P<memory>\d{1,15})gib"
    r"(?:-(?P<gpus>\d{1,15})gpu(?:-(?P<model>[A-Za-z0-9_.]{1,63}))?)?(?::(?P<count>\d{1,15}))?",
    re.ASCII,
)
_UNITS: Final = ("cpu", "gib", "gpu")
"""Units of a shape, in their order."""
_AMOUNT: Final = re.compile(r"(\d+)([A-Za-z]+)", re.ASCII)
"""An amount with a unit; texts that resemble shapes consist of them."""

_Read = Callable[[FleetNode], str]
_FILTERS: Final[Registry[_Read]] = Registry(
    "node filter key",
    {
        "name": lambda node: node.name,
        "model": lambda node: node.gpu_model,
        "gpu": lambda node: str(node.gpus),
        "cpu_milli": lambda node: str(node.cpu_milli),
        "memory_mib": lambda node: str(node.memory_mib),
        "zone": lambda node: node.zone,
    },
)


def nodes_like(text: str, prefix: str = "node", where: str = "nodes-like") -> tuple[FleetNode, ...]:
    """The nodes of shapes such as ``64cpu-256gib:200``, several joined by commas."""
    shapes = check_nodes_like(text, where)
    return _named([shape for shape, count in shapes for _ in range(count)], prefix)


def check_nodes_like(text: str, where: str) -> list[tuple[FleetNode, int]]:
    """The shapes of ``nodes_like`` with their counts.

    Raises:
        InputError: a shape is malformed, or too large, or there are no or too many nodes.
    """
    shapes = [_shape(part, where) for part in text.split(",")]
    if not 0 < sum(count for _, count in shapes) <= MAX_NODES:
        raise InputError(where, text, f"1..{MAX_NODES:,} nodes in all")
    return shapes


def is_nodes_like(text: str) -> bool:
    """True if a text has the form of ``nodes_like``."""
    return all(_LIKE.fullmatch(part.strip()) for part in text.split(","))


def seems_nodes_like(text: str) -> bool:
    """True if a text resembles the form of ``nodes_like`` without having it."""
    return all(_AMOUNT.match(part.strip()) for part in text.split(","))


def shapes_hint(text: str) -> str:
    """The shapes that were probably meant, as a question; empty for none.

    >>> shapes_hint("64cpu-256gb-8gpuu:4")
    "did you mean '64cpu-256gib-8gpu:4'?"
    """
    meant = ",".join(map(_with_units, text.split(",")))
    return suggestion([repr(meant)] if meant != text and is_nodes_like(meant) else [])


def _with_units(shape: str) -> str:
    """A shape whose wrong units are replaced by the nearest ones, or by those of their places."""
    amounts, colon, count = shape.strip().partition(":")
    words = amounts.split("-")
    for place, (word, unit) in enumerate(zip(words, _UNITS, strict=False)):
        found = _AMOUNT.fullmatch(word)
        if found is not None:
            near = nearest(found[2], _UNITS, 1, cutoff=CUTOFF)
            words[place] = found[1] + (near[0] if near else unit)
    return "-".join(words) + colon + count


def nodes_of_shape(text: str, count: int, where: str) -> tuple[FleetNode, ...]:
    """Some nodes of one shape such as ``64cpu-256gib``."""
    if ":" in text or "," in text or _LIKE.fullmatch(text.strip()) is None:
        raise InputError(where, text, SHAPE_EXAMPLE, shapes_hint(text))
    shape, _ = _shape(text, where)
    return _named([shape] * count, "node")


def _named(nodes: Sequence[FleetNode], prefix: str) -> tuple[FleetNode, ...]:
    width = max(4, len(str(len(nodes) - 1)))
    return tuple(
        FleetNode(
            f"{prefix}-{i:0{width}d}", node.cpu_milli, node.memory_mib, node.gpus, node.gpu_model
        )
        for i, node in enumerate(nodes)
    )


def matching_nodes(
    nodes: Sequence[FleetNode], text: str, limit: int | None = None, prefix: str = "node "
) -> tuple[FleetNode, ...]:
    """The first ``limit`` nodes with every value of a filter such as ``model=G2,gpu=8``.

    ``prefix`` precedes the names of filter and limit in messages.
    """
    where = f"{prefix}filter"
    wanted = [_condition(part, where) for part in text.split(",")] if text else []
    found = [node for node in nodes if all(read(node) == value for read, value in wanted)]
    if limit is not None and limit < 1:
        raise InputError(f"{prefix}limit", limit, "a count of at least 1")
    if not found:
        raise InputError(where, text, "a filter that some node matches", "relax the filter")
    return tuple(found[:limit])


def _shape(text: str, where: str) -> tuple[FleetNode, int]:
    """Parse one shape with its count."""
    parts = _LIKE.fullmatch(text.strip())
    if parts is None:
        raise InputError(where, text, LIKE_EXAMPLE, shapes_hint(text))
    cpu, memory = int(parts["cpu"]) * 1000, int(parts["memory"]) * 1024
    gpus = int(parts["gpus"] or 0)
    if not (0 < cpu <= MAX_CPU_MILLI and 0 < memory <= MAX_MEMORY_MIB and gpus <= MAX_GPUS):
        cores, gib = MAX_CPU_MILLI // 1000, MAX_MEMORY_MIB // 1024
        raise InputError(where, text, f"1..{cores} cpu, 1..{gib} gib, at most {MAX_GPUS} gpu")
    model = (parts["model"] or "GPU") if gpus else ""
    return FleetNode("", cpu, memory, gpus, model), int(parts["count"] or 1)


def _condition(text: str, where: str) -> tuple[_Read, str]:
    """Parse one ``key=value`` of a filter."""
    key, equals, value = text.strip().partition("=")
    if not equals:
        raise InputError(where, text, FILTER_EXAMPLE)
    if key not in _FILTERS:
        raise UnknownNameError(f"{where} key", key, _FILTERS)
    return _FILTERS.get(key), value
