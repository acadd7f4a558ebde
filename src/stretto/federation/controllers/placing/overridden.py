"""What overrides make of an object: what they break, and what they write without an effect."""

from collections.abc import Iterable

from stretto.base.errors import InputError
from stretto.federation.controllers.keys import FederatedItem
from stretto.federation.objects import placements
from stretto.federation.objects.members.wanted import check, desired
from stretto.federation.problems import OVERRIDDEN, ObjectCondition
from stretto.reconcile.cache import Fields


class OverrideResult:
    """What differences make of an object in some clusters."""

    def __init__(self, item: FederatedItem, spec: Fields, clusters: Iterable[str]) -> None:
        """The object in each cluster, checked."""
        #: What makes it invalid, by cluster.
        self.broken: list[str] = []
        found: dict[str, str] = {}
        for name in clusters:
            try:
                patches = placements.patches_for(spec, name, item.type)
                found |= check(item.type.kind, desired(spec["template"], patches))
            except InputError as error:
                self.broken.append(f"{name}: {error}")
        own = check(item.type.kind, spec["template"]) if found else {}
        #: Fields that the differences write and the kind does not have.
        self.unknown = [
            f"the overrides write {path}: {text}" for path, text in found.items() if path not in own
        ]

    @property
    def condition(self) -> ObjectCondition:
        """The condition of an object that is invalid in some clusters."""
        text = f"{'; '.join(self.broken)}: correct the override policy; other clusters continue"
        return ObjectCondition(OVERRIDDEN, "BreaksObject", text)
