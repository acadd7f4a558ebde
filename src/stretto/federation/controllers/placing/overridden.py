"""Effects of overrides on an object: invalid objects, and fields that have no effect."""

from collections.abc import Iterable

from stretto.base.errors import InputError
from stretto.federation.controllers.keys import FederatedItem
from stretto.federation.objects import placements
from stretto.federation.objects.members.wanted import check, desired
from stretto.federation.problems import OVERRIDDEN, ObjectCondition
from stretto.reconcile.cache import Fields


class OverrideResult:
    """The object with overrides in some clusters, and the problems of the result."""

    def __init__(self, item: FederatedItem, spec: Fields, clusters: Iterable[str]) -> None:
        """Apply the overrides of each cluster and check the result."""
        #: Problems of the invalid objects, by cluster.
        self.broken: list[str] = []
        found: dict[str, str] = {}
        for name in clusters:
            try:
                patches = placements.patches_for(spec, name, item.type)
                found |= check(item.type.kind, desired(spec["template"], patches))
            except InputError as error:
                self.broken.append(f"{name}: {error}")
        own = check(item.type.kind, spec["template"]) if found else {}
        #: Fields that the overrides set and that the kind does not have.
        self.unknown = [
            f"the overrides write {path}: {text}" for path, text in found.items() if path not in own
        ]

    @property
    def condition(self) -> ObjectCondition:
        """The condition of an object that is invalid in some clusters."""
        text = f"{'; '.join(self.broken)}: correct the override policy; other clusters continue"
        return ObjectCondition(OVERRIDDEN, "BreaksObject", text)
