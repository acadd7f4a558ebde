"""The group ``stretto federation``, which imports a verb only to run it."""

from collections.abc import Mapping
from typing import Final

from stretto.cli.main import LazyGroup
from stretto.cli.options import shared_options
from stretto.cli.verbs import Verb, VerbGroup


def _verb(place: str, sentence: str, group: VerbGroup = VerbGroup.CLUSTER) -> Verb:
    return Verb(f"stretto.cli.commands.federation.{place}", sentence, group)


_VERBS: Final[Mapping[str, Verb]] = {
    "simulate": _verb(
        "simulate:simulate", "Compare policies and changes over a fleet.", VerbGroup.OFFLINE
    ),
    "run": _verb("run:run", "Run the controllers over a host and members.", VerbGroup.DAEMONS),
    "clusters": _verb("clusters:clusters", "List the member clusters."),
    "plan": _verb("plan:plan", "Show where objects would go."),
    "explain": _verb("explain:explain", "Explain why an object is, or is not, in a cluster."),
    "rollout": _verb("rollout:rollout", "Show the progress of a rollout in every cluster."),
    "migrate": _verb("migrate:migrate", "Move objects out of a cluster, or back."),
    "story": _verb("story:story", "Show every decision about an object."),
}


class FederationGroup(LazyGroup):
    """The verbs of a federation."""

    def verbs(self) -> dict[str, Verb]:
        """Return the verbs, in the order of the help."""
        return dict(_VERBS)


federation = FederationGroup(
    "federation",
    params=shared_options(out=False),
    help="Many clusters as one: where objects go, why, and what would change.",
)
