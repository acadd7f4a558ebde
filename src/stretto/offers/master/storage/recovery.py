"""Recovery of a master from the stored state.

Frameworks must subscribe again within their time-out, which is at least the time-out of agents.
Agents are known with their tasks, disconnected, until they register again. If any role has a quota,
nothing is offered before most agents have registered.
"""

from stretto.offers.master.core.frameworks import subscriptions
from stretto.offers.master.core.operators import quota
from stretto.offers.master.core.state import MasterState
from stretto.offers.master.state import machines
from stretto.offers.master.state.changes import EntityKind
from stretto.offers.master.state.frameworks import Framework
from stretto.offers.master.storage.agents import keep_unreachable, recover_agent, tasks_by_agent
from stretto.offers.master.storage.contract import StoredState
from stretto.offers.messages.schema import Message


def recover(master: MasterState, stored: StoredState) -> None:
    """Load a stored state into a master that is still empty."""
    identity = stored.identity()
    if identity is None:
        return
    master.skip_ids(*identity[1:])
    _roles(master, stored)
    _machines(master, stored)
    for _, row in stored.entities(EntityKind.FRAMEWORK):
        _framework(master, row)
    for key, row in stored.entities(EntityKind.ABSENT):
        table = master.agents.gone if "gone" in row else master.agents.unreachable
        table[key] = next(iter(row.values()))
    tasks = tasks_by_agent(row for _, row in stored.entities(EntityKind.TASK))
    agents = list(stored.entities(EntityKind.AGENT))
    for key, row in agents:
        recover_agent(master, row, tasks.pop(key, []))
    master.allocator.begin_recovery(len(agents), master.now)
    for left in tasks.values():
        keep_unreachable(master, left)
    list(master.changes.drain())


def _roles(master: MasterState, stored: StoredState) -> None:
    for role, row in stored.entities(EntityKind.ROLE):
        if "quota" in row:
            quota.set_quota(master, row["quota"])
        if "weight" in row:
            master.weights[role] = row["weight"]
            master.allocator.set_weights({role: row["weight"]})


def _machines(master: MasterState, stored: StoredState) -> None:
    for _, row in stored.entities(EntityKind.MACHINES):
        master.machines.schedule(row["windows"])
        for machine in row["down"]:
            master.machines.start(machines.machine_key(machine))


def _framework(master: MasterState, row: Message) -> None:
    if row["completed"]:
        ended = Framework(row["info"], row["registered_at"])
        ended.end(row["unregistered_at"])
        master.frameworks.complete(ended)
        return
    framework = subscriptions.restore(master, row["info"], row["suppressed"])
    framework.update(row["info"], row["suppressed"], row["constraints"])
    seconds = max(framework.failover_timeout, master.settings.agent_reregister_timeout)
    subscriptions.wait_for_return(master, framework, seconds)
