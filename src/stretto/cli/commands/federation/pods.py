"""A pod of a member for ``stretto federation explain``: its cluster, its object, its node."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from stretto.base.errors import InputError, NotFoundError
from stretto.cli.commands.federation.source import OpenedFleet

if TYPE_CHECKING:
    from stretto.cli.sources.members import FoundPod, PodSearch
    from stretto.explain.why.answers import Explanation
    from stretto.federation.answers.subjects import FleetReader
    from stretto.federation.controllers.keys import FederatedItem


@dataclass(frozen=True)
class ExplainedPod:
    """A pod of a member, with the answer of its cluster."""

    #: Name of its cluster.
    cluster: str
    #: The federated object of the pod; ``None`` if there is none.
    item: "FederatedItem | None"
    #: Explanation of the pod by its own cluster.
    answer: "Explanation"

    @property
    def owner(self) -> str:
        """Object of the pod as text."""
        from stretto.federation.answers.subjects import kind_of, title

        return f"{kind_of(self.item)} {title(self.item)}" if self.item is not None else ""

    @property
    def sentence(self) -> str:
        """A sentence with the location of the pod."""
        of = self.owner or "no federated object"
        return f"pod {self.answer.pod} of {of} is in {self.cluster}"

    def fields(self) -> dict[str, Any]:
        """Return the fields of the pod in the JSON document."""
        import msgspec

        answer = msgspec.to_builtins(self.answer)
        return {"pod": answer, "pod_cluster": self.cluster, "object": self.owner}


def explained_pod(
    fleet: OpenedFleet, reader: "FleetReader", name: str, cluster: str, seed: int
) -> ExplainedPod:
    """Return the pod of a name, explained by its own cluster.

    Args:
        fleet: the fleet.
        reader: the objects of the fleet.
        name: ``NAME``, ``NAMESPACE/NAME`` or ``pod/NAMESPACE/NAME``.
        cluster: the only cluster; empty for all.
        seed: seed of the copy on which pending pods are retried.

    Raises:
        NotFoundError: no readable member has the pod.
        InputError: several members have the pod.
    """
    from stretto.cli.sources.members import searched_pods
    from stretto.federation.answers.pods import owner_of

    kind, _, rest = name.partition("/")
    short = rest if kind.lower() in ("pod", "pods") else name
    with searched_pods(fleet, short, cluster) as search:
        found = _only(reader, name, search)
        item = owner_of(reader, found.store, found.pod)
        return ExplainedPod(found.cluster, item, _answer(found, seed))


def _only(reader: "FleetReader", name: str, search: "PodSearch") -> "FoundPod":
    """Return the only pod of a search.

    Raises:
        NotFoundError: no pod was found.
        InputError: several pods were found.
    """
    from stretto.federation.answers.subjects import title

    if not search.found:
        why = "no federated object has this name, and no pod of a member"
        unread = "; ".join(f"{where}: {reason}" for where, reason in search.unread.items())
        known = ", ".join(sorted({title(each) for each in reader.items()})[:5]) or "none"
        hint = f"objects of the federation: {known}"
        raise NotFoundError(name, f"{why}; not read: {unread}" if unread else why, hint)
    if len(search.found) > 1:
        clusters = ", ".join(each.cluster for each in search.found)
        raise InputError("NAME", name, "a pod of one cluster", f"add CLUSTER: {clusters}")
    return search.found[0]


def _answer(found: "FoundPod", seed: int) -> "Explanation":
    """Explain the pod with a plane over a copy of its cluster."""
    from stretto.cli.sources.scenes import scene_of
    from stretto.explain.why.why import explain_pod
    from stretto.plane.copy import PlaneSettings, StoreState
    from stretto.reconcile.cache import StoredObject
    from stretto.sim.states.clusters import listed

    scheduler = str(StoredObject(found.pod).spec.get("schedulerName") or "")
    settings = PlaneSettings(1, seed, frozenset({"", "default-scheduler", scheduler}))
    records = listed(found.store).records
    scene = scene_of(StoreState(f"cluster {found.cluster}", records, settings=settings))
    return explain_pod(scene, f"{found.pod.namespace}/{found.pod.name}")
