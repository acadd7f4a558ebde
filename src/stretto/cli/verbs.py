"""The table of commands: each by name, one sentence and the place of its code.

The table itself imports no command. Other packages add commands through an entry point of the
group ``stretto.verbs`` that names a mapping of the same form.
"""

from collections.abc import Mapping
from importlib.metadata import entry_points
from importlib.util import find_spec
from typing import Final, NamedTuple

ENTRY_POINTS: Final = "stretto.verbs"
"""The entry point group through which a package adds commands."""


class Verb(NamedTuple):
    """One command, before it is imported."""

    #: ``module:attribute``, the dotted module in full.
    place: str
    #: What the command does, for the list of commands.
    sentence: str


_HERE: Final = "stretto.cli.commands"

VERBS: Final[Mapping[str, Verb]] = {
    "run": Verb(f"{_HERE}.run:run", "Run a scenario through the scheduler in real time."),
    "simulate": Verb(f"{_HERE}.simulate:simulate", "Run one policy over a trace in virtual time."),
    "compare": Verb(f"{_HERE}.compare:compare", "Run several policies and seeds over a trace."),
    "record": Verb(f"{_HERE}.record:record", "Record a cluster to a file."),
    "explain": Verb(
        f"{_HERE}.explain:explain", "Explain why a pod is pending, or why it is where it is."
    ),
    "story": Verb(f"{_HERE}.story:story", "Show every step of a pod's life, with its cause."),
    "plan": Verb(f"{_HERE}.plan:plan", "Show what would happen if objects were submitted now."),
    "defragment": Verb(
        f"{_HERE}.defragment:defragment", "Show which pods to move to free whole GPUs or nodes."
    ),
    "queues": Verb(f"{_HERE}.queues:queues", "Show the queue tree: shares, use and waiting pods."),
    "shards": Verb(f"{_HERE}.queues:shards", "Show the shards: their nodes and their decisions."),
    "doctor": Verb(f"{_HERE}.doctor:doctor", "Check every law on a state and report violations."),
    "kernels": Verb(f"{_HERE}.kernels:kernels", "Compile the kernels ahead of the first run."),
    "scheduler": Verb(f"{_HERE}.scheduler:scheduler", "Schedule the pods of a Kubernetes cluster."),
    "dispatcher": Verb(
        f"{_HERE}.roles:dispatcher", "Run one role: order pods and send them to shards."
    ),
    "shard": Verb(f"{_HERE}.roles:shard", "Run one role: find nodes for dispatched pods."),
    "binder": Verb(f"{_HERE}.roles:binder", "Run one role: check the shards' decisions and bind."),
    "controller": Verb(
        f"{_HERE}.roles:controller", "Run one role: write statuses of groups and queues."
    ),
}
"""The commands of this package, in the order of the help."""


def known() -> dict[str, Verb]:
    """The commands of this package and of every installed package that adds some.

    A package's command never replaces one of ours.
    """
    added: dict[str, Verb] = {}
    for point in entry_points(group=ENTRY_POINTS):
        added |= point.load()
    return {**VERBS, **{name: verb for name, verb in added.items() if _installed(name, verb)}}


def _installed(name: str, verb: Verb) -> bool:
    """Whether an added command has a name of its own and its module exists."""
    return name not in VERBS and find_spec(verb.place.partition(":")[0]) is not None
