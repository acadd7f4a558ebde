"""JSON documents of verbs whose result is no struct of its own, for their published schemas."""

from typing import Any

import msgspec

from stretto.control.dispatcher.usage_report import QueueFacts
from stretto.explain.metrics.shards import ShardFacts
from stretto.sim.history.replay import ReplayOutcomes, WaitFigures


class KernelDocument(msgspec.Struct, frozen=True):
    """Which kernels are compiled: ``stretto kernels``."""

    #: Whether all kernels of a set are compiled, by set: ``first`` and ``all``.
    compiled: dict[str, bool]
    #: The folder of the compiled code.
    folder: str


class RecordDocument(msgspec.Struct, frozen=True):
    """What a recording contains: ``stretto record``."""

    #: The file.
    out: str
    #: Objects at its start.
    objects: int
    #: Recorded changes.
    changes: int
    #: Seconds covered.
    seconds: float


class ExampleEntry(msgspec.Struct, frozen=True):
    """One bundled scenario."""

    #: Its name.
    name: str
    #: What it shows.
    summary: str


class ExampleListDocument(msgspec.Struct, frozen=True):
    """The bundled scenarios: ``stretto examples``."""

    #: Their folder.
    folder: str
    #: All scenarios.
    examples: tuple[ExampleEntry, ...]


class ExampleDocument(msgspec.Struct, frozen=True):
    """One bundled scenario: ``stretto examples NAME``."""

    #: Its name.
    name: str
    #: Its YAML text.
    scenario: str


class DocsEntry(msgspec.Struct, frozen=True):
    """One page of the documentation."""

    #: Its name, such as ``concepts/queues``.
    name: str
    #: Its title.
    title: str


class DocsListDocument(msgspec.Struct, frozen=True):
    """The pages of the documentation: ``stretto docs``."""

    #: All pages.
    pages: tuple[DocsEntry, ...]


class DocsDocument(msgspec.Struct, frozen=True):
    """One page of the documentation: ``stretto docs PAGE``."""

    #: Its name.
    name: str
    #: Its Markdown text.
    text: str


class QueueDocument(msgspec.Struct, frozen=True):
    """The queues of a state: ``stretto queues``."""

    #: The state, in words.
    state: str
    #: All queues, parents before children.
    queues: tuple[QueueFacts, ...]


class ShardDocument(msgspec.Struct, frozen=True):
    """The shards of a state: ``stretto shards``."""

    #: The state, in words.
    state: str
    #: All shards.
    shards: tuple[ShardFacts, ...]


class MoveEntry(msgspec.Struct, frozen=True, rename={"source": "from", "target": "to"}):
    """One proposed move of a pod."""

    #: ``namespace/name`` of the pod.
    pod: str
    #: Its controller.
    owner: str
    #: Its node.
    source: str
    #: The node that has capacity for its successor.
    target: str


class CapacityEntry(msgspec.Struct, frozen=True):
    """Free capacity of a cluster."""

    #: Nodes without any pod.
    empty_nodes: int
    #: GPUs that are completely free.
    free_gpus: int
    #: Free thousandths of GPUs on GPUs in use.
    stranded_milli: int
    #: Requested CPU on nodes in use, in percent.
    cpu_in_use: float
    #: Requested memory on nodes in use, in percent.
    memory_in_use: float


class DefragmentDocument(msgspec.Struct, frozen=True):
    """Moves that free whole GPUs or nodes: ``stretto defragment``."""

    #: ``gpus`` or ``nodes``.
    goal: str
    #: The moves, in order.
    moves: tuple[MoveEntry, ...]
    #: Free capacity now.
    before: CapacityEntry
    #: Free capacity after the moves.
    after: CapacityEntry


class RecordedFigures(WaitFigures, frozen=True):
    """Figures of a recording itself."""


class ReplayedSide(ReplayOutcomes, frozen=True, kw_only=True):
    """The results of one replay with its name."""

    #: ``replayed`` or ``what if``, with the policy.
    side: str


class ReplayDocument(ReplayedSide, frozen=True, kw_only=True):
    """A replay compared with the recording: ``stretto simulate RECORDING``."""

    #: The recording itself.
    recorded: RecordedFigures


class ReplayComparisonDocument(msgspec.Struct, frozen=True):
    """Replays of one recording: ``stretto compare RECORDING``."""

    #: The recording itself.
    recorded: RecordedFigures
    #: The replays, the unchanged one first.
    sides: tuple[ReplayedSide, ...]


class TraceComparisonDocument(msgspec.Struct, frozen=True):
    """Simulations of one trace: ``stretto compare TRACE``."""

    #: The format of the trace.
    format: str
    #: The simulations: ``side``, and the fields of the format's report each.
    sides: tuple[dict[str, Any], ...]


class ErrorFields(msgspec.Struct, frozen=True, omit_defaults=True):
    """An error that ended a verb."""

    #: Class of the error.
    kind: str
    #: The message.
    message: str
    #: Exit code of the process.
    exit_code: int
    #: What to do; absent for none.
    hint: str = ""


class ErrorDocument(msgspec.Struct, frozen=True):
    """The error of a verb with ``--json``, on stderr."""

    #: The error.
    error: ErrorFields


class OffersDocument(msgspec.Struct, frozen=True):
    """What a Mesos master offers, or the states of a task."""

    #: Roles with weight, share, frameworks and filters.
    roles: list[dict[str, Any]] = []
    #: Frameworks with roles, tasks, use and outstanding offers.
    frameworks: list[dict[str, Any]] = []
    #: Outstanding offers with their age and resources; absent for one framework.
    offers: list[dict[str, Any]] = []
    #: The first obstacle of each agent that is not offered; only for one framework.
    obstacles: list[dict[str, Any]] = []
    #: Tasks with their states; only with ``--task``.
    tasks: list[dict[str, Any]] = []
