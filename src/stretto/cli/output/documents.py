"""JSON documents of verbs without a result struct of their own, for the published schemas."""

from typing import Any

import msgspec

from stretto.control.dispatcher.usage_report import QueueFacts
from stretto.explain.metrics.shards import ShardFacts
from stretto.sim.history.replay import ReplayOutcomes, WaitFigures


class KernelDocument(msgspec.Struct, frozen=True):
    """State of the kernels: ``stretto kernels``."""

    #: True if all kernels of a set are compiled, by set: ``first`` and ``all``.
    compiled: dict[str, bool]
    #: The folder of the compiled code.
    folder: str


class RecordDocument(msgspec.Struct, frozen=True):
    """Content of a recording: ``stretto record``."""

    #: Path of the file.
    out: str
    #: Number of objects at the start.
    objects: int
    #: Number of recorded changes.
    changes: int
    #: Duration of the recording in seconds.
    seconds: float


class ExampleEntry(msgspec.Struct, frozen=True):
    """One bundled scenario."""

    #: Name of the scenario.
    name: str
    #: Description of the scenario.
    summary: str


class ExampleListDocument(msgspec.Struct, frozen=True):
    """The bundled scenarios: ``stretto examples``."""

    #: Folder of the scenarios.
    folder: str
    #: All scenarios.
    examples: tuple[ExampleEntry, ...]


class ExampleDocument(msgspec.Struct, frozen=True):
    """One bundled scenario: ``stretto examples NAME``."""

    #: Name of the scenario.
    name: str
    #: YAML text of the scenario.
    scenario: str


class DocsEntry(msgspec.Struct, frozen=True):
    """One page of the documentation."""

    #: Name of the page, such as ``concepts/queues``.
    name: str
    #: Title of the page.
    title: str


class DocsListDocument(msgspec.Struct, frozen=True):
    """The pages of the documentation: ``stretto docs``."""

    #: All pages.
    pages: tuple[DocsEntry, ...]


class DocsDocument(msgspec.Struct, frozen=True):
    """One page of the documentation: ``stretto docs PAGE``."""

    #: Name of the page.
    name: str
    #: Markdown text of the page.
    text: str


class QueueDocument(msgspec.Struct, frozen=True):
    """The queues of a state: ``stretto queues``."""

    #: Description of the state.
    state: str
    #: All queues, parents before children.
    queues: tuple[QueueFacts, ...]


class ShardDocument(msgspec.Struct, frozen=True):
    """The shards of a state: ``stretto shards``."""

    #: Description of the state.
    state: str
    #: All shards.
    shards: tuple[ShardFacts, ...]


class MoveEntry(msgspec.Struct, frozen=True, rename={"source": "from", "target": "to"}):
    """One proposed move of a pod."""

    #: ``namespace/name`` of the pod.
    pod: str
    #: Controller of the pod.
    owner: str
    #: Current node of the pod.
    source: str
    #: Node with capacity for the successor of the pod.
    target: str


class CapacityEntry(msgspec.Struct, frozen=True):
    """Free capacity of a cluster."""

    #: Number of nodes without any pod.
    empty_nodes: int
    #: Number of completely free GPUs.
    free_gpus: int
    #: Free thousandths of a GPU on GPUs in use.
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
    """Results of one replay, with its name."""

    #: ``replayed`` or ``what if``, with the policy.
    side: str


class ReplayDocument(ReplayedSide, frozen=True, kw_only=True):
    """A replay compared with the recording: ``stretto simulate RECORDING``."""

    #: Figures of the recording itself.
    recorded: RecordedFigures


class ReplayComparisonDocument(msgspec.Struct, frozen=True):
    """Replays of one recording: ``stretto compare RECORDING``."""

    #: Figures of the recording itself.
    recorded: RecordedFigures
    #: The replays; the unchanged one is first.
    sides: tuple[ReplayedSide, ...]


class TraceComparisonDocument(msgspec.Struct, frozen=True):
    """Simulations of one trace: ``stretto compare TRACE``."""

    #: The format of the trace.
    format: str
    #: The simulations: ``side`` and the fields of the report of the format.
    sides: tuple[dict[str, Any], ...]


class ErrorFields(msgspec.Struct, frozen=True, omit_defaults=True):
    """An error that ended a verb."""

    #: Class of the error.
    kind: str
    #: The message.
    message: str
    #: Exit code of the process.
    exit_code: int
    #: Hint to resolve the error; absent if there is none.
    hint: str = ""


class ErrorDocument(msgspec.Struct, frozen=True):
    """The error of a verb with ``--json``, on stderr."""

    #: The error.
    error: ErrorFields


class OffersDocument(msgspec.Struct, frozen=True):
    """Offers of a Mesos master, or the states of a task."""

    #: Roles with weight, share, frameworks and filters.
    roles: list[dict[str, Any]] = []
    #: Frameworks with roles, tasks, use and outstanding offers.
    frameworks: list[dict[str, Any]] = []
    #: Outstanding offers with their age and resources; absent for one framework.
    offers: list[dict[str, Any]] = []
    #: The first obstacle of each agent without an offer; only for one framework.
    obstacles: list[dict[str, Any]] = []
    #: Tasks with their states; only with ``--task``.
    tasks: list[dict[str, Any]] = []
