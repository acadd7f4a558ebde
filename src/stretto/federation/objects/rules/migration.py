"""The annotation that reports the migration which a decision has applied."""

import json
from collections.abc import Mapping

import msgspec

from stretto.api.types.federation.steering import MigrationConfiguration
from stretto.federation import names
from stretto.federation.objects.rules.steering import Steering
from stretto.reconcile.cache import Fields


def report(rules: Steering, annotations: Mapping[str, str]) -> str | None:
    """The annotation for the rules that a decision used; ``None`` if they limit nothing.

    A cluster stays listed after the end of its migration, until the configuration changes.

    Args:
        rules: the effective rules.
        annotations: annotations of the federated object, with the migration as the user wrote it.
    """
    applied: Fields = {}
    if rules.limited:
        applied["limitedCapacity"] = dict(sorted(rules.limited.items()))
    if rules.left_until and names.MIGRATION in annotations:
        text = annotations.get(names.MIGRATION, "{}")
        written = msgspec.json.decode(text.encode(), type=MigrationConfiguration)
        ends = {each.cluster: each.valid_until for each in written.workload_migrations}
        applied["unavailableClusters"] = [
            {"cluster": name, "validUntil": ends[name]}
            for name in sorted(rules.left_until.keys() & ends.keys())
        ]
    return json.dumps(applied, separators=(",", ":")) if applied else None
