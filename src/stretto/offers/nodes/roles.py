"""Synchronization of roles with Queues: the master's quota and weights are those of the queues."""

from collections.abc import Mapping

from stretto.api.types.godel import Queue, QueueSpec
from stretto.base.errors import InputError
from stretto.offers.master.core import subjects
from stretto.offers.master.core.operators import rescinding
from stretto.offers.master.core.state import MasterState
from stretto.offers.nodes.queues import quota_config, roles_of


class QueueRoles:
    """Applies changed Queues to a master."""

    def __init__(self, master: MasterState) -> None:
        """Start without queues."""
        #: The role of each queue, by name.
        self.roles: Mapping[str, str] = {}
        self._master = master
        self._specs: dict[str, QueueSpec] = {}

    def settle(self, queues: Mapping[str, Queue]) -> bool:
        """Apply the present queues; true if any has changed."""
        specs = {name: queue.spec for name, queue in queues.items()}
        if specs == self._specs:
            return False
        before = self.roles
        self.roles, self._specs = roles_of(queues), specs
        for role in set(before.values()) - set(self.roles.values()):
            self._set_quota({"role": role})
        self._set_weights(dict.fromkeys(before.values(), 1.0), specs)
        changed = []
        for name, role in self.roles.items():
            try:
                config = quota_config(role, queues[name])
            except InputError:
                continue  # the dispatcher reports a malformed quantity
            if config["guarantees"] or config["limits"] or role in self._master.quotas:
                self._set_quota(config)
                changed.append(role)
        rescinding.enforce(self._master, changed)
        return True

    def _set_weights(self, weights: dict[str, float], specs: Mapping[str, QueueSpec]) -> None:
        """Set weights; a changed weight of a role with frameworks rescinds all offers."""
        weights |= {role: float(specs[name].weight) for name, role in self.roles.items()}
        known = self._master.weights
        changed = {role: w for role, w in weights.items() if known.get(role, 1.0) != w}
        if not changed:
            return
        known.update(changed)
        self._master.allocator.set_weights(changed)
        if any(self._master.frameworks.in_role(role) for role in changed):
            rescinding.rescind_everything(self._master)

    def _set_quota(self, config: dict[str, object]) -> None:
        role = str(config["role"])
        if config.get("guarantees") or config.get("limits"):
            self._master.quotas[role] = config
        else:
            self._master.quotas.pop(role, None)
        self._master.allocator.set_quota(role, subjects.role_quota(config))
