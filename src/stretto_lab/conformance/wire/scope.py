"""The objects that belong to a scenario; only these are part of its outcomes."""

from dataclasses import dataclass
from typing import Final

from stretto_lab.conformance.wire.requests import place
from stretto_lab.conformance.wire.scenario import UserStep, WireScenario


@dataclass(frozen=True, slots=True)
class ScenarioScope:
    """Namespaces and names that belong to a scenario."""

    #: Namespaces, and names of cluster-scoped objects; ``None`` for all.
    own: frozenset[str] | None

    def shows(self, namespace: str, name: str) -> bool:
        """True if an object belongs to the scenario; ``namespace`` is empty for cluster scope."""
        return self.own is None or (namespace or name) in self.own


EVERYTHING: Final = ScenarioScope(None)
"""Every object, for a scenario with exclusive servers."""


def scope_of(scenario: WireScenario) -> ScenarioScope:
    """The namespaces that the user of a scenario writes to, and its cluster-scoped objects."""
    own = set()
    for step in scenario.steps:
        if isinstance(step, UserStep):
            _, namespace, name, _ = place(step.path, step.body)
            created = ((step.body or {}).get("metadata") or {}).get("name", "")
            own.add(namespace or name or created)
    return ScenarioScope(frozenset(own))
