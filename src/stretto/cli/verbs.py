"""The table of commands: name, sentence, group and location of the code.

The table imports no command. Other packages add commands through an entry point of the group
``stretto.verbs`` that names a mapping of the same form.
"""

from collections.abc import Mapping
from enum import Enum
from importlib.metadata import entry_points
from importlib.util import find_spec
from typing import Final, NamedTuple

ENTRY_POINTS: Final = "stretto.verbs"
"""Entry point group for commands of other packages."""


class VerbGroup(Enum):
    """Heading of commands in the help, in this order."""

    #: Scenarios, traces and recordings, without a cluster.
    OFFLINE = "Offline commands"
    #: Inspect a cluster, a store or the record of a run.
    CLUSTER = "Cluster commands"
    #: Long-running processes that schedule a cluster.
    DAEMONS = "Daemons"
    #: Experiments, benchmarks and checks of the scheduler itself.
    RESEARCH = "Research commands"


class Verb(NamedTuple):
    """One command, before it is imported."""

    #: ``module:attribute``, with the full dotted module name.
    place: str
    #: Description of the command for the list of commands.
    sentence: str
    #: Group of the command in the list of commands.
    group: VerbGroup = VerbGroup.RESEARCH


def _offline(place: str, sentence: str) -> Verb:
    return Verb(f"stretto.cli.commands.{place}", sentence, VerbGroup.OFFLINE)


def _cluster(place: str, sentence: str) -> Verb:
    return Verb(f"stretto.cli.commands.{place}", sentence, VerbGroup.CLUSTER)


def _daemon(place: str, sentence: str) -> Verb:
    return Verb(f"stretto.cli.commands.{place}", sentence, VerbGroup.DAEMONS)


VERBS: Final[Mapping[str, Verb]] = {
    "up": _offline("up:up", "Serve the Kubernetes API with simulated nodes in one process."),
    "run": _offline("run:run", "Run a scenario through the scheduler in real time."),
    "simulate": _offline("simulate:simulate", "Run one policy over a trace in virtual time."),
    "compare": _offline("compare:compare", "Run several policies and seeds over a trace."),
    "defragment": _offline(
        "defragment:defragment", "Show which pods to move to free whole GPUs or nodes."
    ),
    "examples": _offline("examples:examples", "List the bundled scenarios, or print one."),
    "docs": _offline("docs:docs", "List the pages of the documentation, or print one."),
    "convert": _offline("convert:convert", "Write a trace, dump or scenario as a recording."),
    "validate": _offline("validate:validate", "Check input files without running anything."),
    "profiles": _offline("catalog:profiles", "List the built-in profiles, or show one."),
    "policies": _offline("catalog:policies", "List the policies of scoring, queues and dispatch."),
    "rules": _offline("catalog:rules", "List the rules that a profile may name."),
    "completion": _offline("completion:completion", "Print the completion script of a shell."),
    "kernels": _offline("kernels:kernels", "Compile the kernels ahead of the first run."),
    "record": _cluster("record:record", "Record a cluster to a file."),
    "get": _cluster("get:get", "List pods, nodes, units, queues or runs of a state."),
    "top": _cluster("top:top", "Show the measured use of nodes, pods or pools."),
    "explain": _cluster(
        "explain:explain", "Explain why a pod is pending, or why it is on its node."
    ),
    "story": _cluster("story:story", "Show every step of a pod's life, with its cause."),
    "plan": _cluster("plan:plan", "Show what would happen if objects were submitted now."),
    "capacity": _cluster(
        "capacity:capacity", "Show how many more of a pod fit, and which nodes would be enough."
    ),
    "scale": _cluster("scale:scale", "Show how ScalingPolicies would divide replicas."),
    "tides": _cluster("tides:tides", "Show which nodes of tidal pools would switch, and why."),
    "recommend": _cluster(
        "recommend:recommend", "Show the recommended requests of containers, and the present ones."
    ),
    "dashboard": _cluster("dashboard:dashboard", "Serve pages about a state on this machine."),
    "queues": _cluster("queues:queues", "Show the queue tree: shares, use and pending pods."),
    "shards": _cluster("shards:shards", "Show the shards: their nodes and their decisions."),
    "federation": Verb(
        "stretto.cli.commands.federation.group:federation",
        "Many clusters as one: place, explain, migrate, compare.",
        VerbGroup.CLUSTER,
    ),
    "offers": _cluster("offers:offers", "Show the offers of a Mesos master and their obstacles."),
    "doctor": _cluster("doctor:doctor", "Check every invariant of a state and report violations."),
    "scheduler": _daemon("scheduler:scheduler", "Schedule the pods of a Kubernetes cluster."),
    "dispatcher": _daemon("roles:dispatcher", "Run one role: order pods and send them to shards."),
    "shard": _daemon("roles:shard", "Run one role: find nodes for dispatched pods."),
    "binder": _daemon("roles:binder", "Run one role: check the shards' decisions and bind."),
    "scaler": _daemon("scaler:scaler", "Divide replicas, switch tidal nodes, recommend requests."),
    "agent": _daemon("agent:agent", "Measure this machine, or run tasks of Mesos frameworks."),
    "master": _daemon("master:master", "Offer the capacity of agents to Mesos frameworks."),
    "controller": _daemon("roles:controller", "Run one role: write statuses of groups and queues."),
}
"""The commands of this package, in the order of the help."""


def known() -> dict[str, Verb]:
    """Return the commands of this package and of all installed packages that add commands.

    An added command never replaces a command of this package.
    """
    added: dict[str, Verb] = {}
    for point in entry_points(group=ENTRY_POINTS):
        added |= point.load()
    return {**VERBS, **{name: verb for name, verb in added.items() if _installed(name, verb)}}


def _installed(name: str, verb: Verb) -> bool:
    """Return whether an added command has a new name and its module exists."""
    return name not in VERBS and find_spec(verb.place.partition(":")[0]) is not None
