"""One differing part of an outcome, as input of rules."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol

from stretto_lab.conformance.wire.rules.facts import ReplayFacts

Fields = dict[str, Any]

_REASONS: Final = "scheduling-deferred-reasons"
_CLUSTER_REASONS: Final = frozenset(
    {
        "disableRescheduling:true",
        "rescheduleWhen:nil",
        "clusterJoined:false",
        "clusterLabelsChanged:false",
        "clusterAPIResourcesChanged:false",
    }
)
"""Reasons that a change of a cluster can cause, also a change by another recorded scenario."""
PARTS: Final = ("federated", "members", "source")
"""Parts of an outcome."""


class OutcomeView(Protocol):
    """The values of a whole outcome that rules read."""

    @property
    def want(self) -> Fields:
        """The recorded parts."""
        ...

    @property
    def got(self) -> Fields:
        """The parts of the replay."""
        ...

    @property
    def kinds(self) -> Mapping[str, str]:
        """Kinds by the name of their configuration."""
        ...

    @property
    def facts(self) -> ReplayFacts:
        """Facts of the replay."""
        ...


@dataclass(frozen=True, slots=True)
class Difference:
    """One object that differs in one part of an outcome."""

    #: ``federated``, ``members`` or ``source``.
    part: str
    #: Name of the federated object, or kind and name such as ``Deployment/web``.
    name: str
    #: The recorded value; ``None`` for an absent object.
    want: Any
    #: The value of the replay.
    got: Any
    #: The whole outcome.
    outcome: OutcomeView
    #: Rules by the source of the federated objects that they explain, such as ``Deployment/web``.
    explained: Mapping[str, str]
    #: The cluster in ``members``, else empty.
    cluster: str = ""

    @property
    def field(self) -> str:
        """Its path in the outcome."""
        return ".".join(each for each in (self.part, self.cluster, self.name) if each)

    @property
    def facts(self) -> ReplayFacts:
        """Facts of the replay."""
        return self.outcome.facts

    def changed(self) -> set[str]:
        """The differing members, except reasons that a change of a cluster can cause."""
        before, after = self.want or {}, self.got or {}
        keys = {key for key in before.keys() | after.keys() if before.get(key) != after.get(key)}
        return keys - {_REASONS} if self._has_equal_reasons() else keys

    def agrees_without(self, *keys: str) -> bool:
        """True if both values exist and differ only in these members."""
        both = isinstance(self.want, dict) and isinstance(self.got, dict)
        return both and self.changed() <= set(keys)

    def _has_equal_reasons(self) -> bool:
        """True if the reasons for deferrals that changes of clusters do not cause are equal."""
        shown = (set((x or {}).get(_REASONS, "").split("; ")) for x in (self.want, self.got))
        want, got = (each - {""} for each in shown)
        return want ^ got <= _CLUSTER_REASONS

    def federated(self) -> tuple[Fields, Fields]:
        """The recorded and the replayed federated object of a source or of a member's object."""
        return self._source_in(self.outcome.want), self._source_in(self.outcome.got)

    def _source_in(self, parts: Fields) -> Fields:
        shown: Fields = parts["federated"]
        kinds = self.outcome.kinds
        return next((x for name, x in shown.items() if source_of(name, kinds) == self.name), {})


def source_of(federated: str, kinds: Mapping[str, str]) -> str:
    """The source of a federated object, such as ``Deployment/web``; empty if unknown."""
    for suffix, kind in kinds.items():
        if federated.endswith(f"-{suffix}"):
            return f"{kind}/{federated.removesuffix(f'-{suffix}')}"
    return ""


def placed(federated: Fields) -> set[str]:
    """The clusters of a federated object."""
    return {each for names in (federated.get("placements") or {}).values() for each in names}


def objects_of(part: str, outcome: OutcomeView) -> Iterator[tuple[str, str, Any, Any]]:
    """Cluster, name and both values of all objects of a part, in order."""
    want, got = outcome.want[part], outcome.got[part]
    names = sorted(want.keys() | got.keys())
    if part != "members":
        yield from (("", name, want.get(name), got.get(name)) for name in names)
        return
    for cluster in names:
        before, after = want.get(cluster) or {}, got.get(cluster) or {}
        for name in sorted(before.keys() | after.keys()):
            yield cluster, name, before.get(name), after.get(name)


@dataclass(frozen=True, slots=True)
class Deviation:
    """One rule."""

    #: Name in reports.
    name: str
    #: Reason of the difference.
    reason: str
    #: True if it explains a difference.
    explains: Callable[[Difference], bool]
