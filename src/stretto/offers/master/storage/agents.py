"""Recovery of stored agents and tasks at the start of a master."""

from collections.abc import Iterable

from stretto.offers.allocator.contract import Holding
from stretto.offers.master.core import subjects
from stretto.offers.master.core.agents import departure, restoring
from stretto.offers.master.core.state import MasterState
from stretto.offers.master.resources import formats
from stretto.offers.master.resources.items import ResourceList
from stretto.offers.master.resources.pool import to_pool
from stretto.offers.master.state.agents import Agent, Drain
from stretto.offers.master.state.tasks import SEEN, Task
from stretto.offers.messages.schema import Message


def tasks_by_agent(rows: Iterable[Message]) -> dict[str, list[Task]]:
    """Stored tasks by the id of their agent, in launch order."""
    tasks: dict[str, list[Task]] = {}
    for row in sorted(rows, key=lambda each: int(each[SEEN])):
        task = Task.of_row(row)
        tasks.setdefault(task.agent_id, []).append(task)
    return tasks


def recover_agent(master: MasterState, row: Message, tasks: list[Task]) -> None:
    """Add a stored agent with its tasks, disconnected."""
    details = {
        "version": row["version"],
        "agent_capabilities": [{"type": each} for each in row["capabilities"]],
        "derived": row.get("derived", False),
    }
    agent = Agent(row["info"], row["pid"], details, row["registered_at"])
    agent.resize(formats.read(row["total"]))
    if row["deactivated"]:
        drain = None if row["drain"] is None else Drain(row["drain"], master.wall)
        agent.deactivate(drain)
    held: dict[Holding, ResourceList] = {}
    for executors in row["executors"].values():
        for info in executors.values():
            restoring.restore_executor(master, agent, info, held)
    for task in tasks:
        restoring.restore_task(master, agent, task, held)
    for resources in held.values():
        agent.hold(resources)
    master.agents.add(agent)
    used = {holding: to_pool(resources) for holding, resources in held.items()}
    master.allocator.add_agent(subjects.agent_info(agent), used)
    departure.lost_connection(master, agent)


def keep_unreachable(master: MasterState, tasks: list[Task]) -> None:
    """Keep tasks whose agent is unreachable."""
    for task in tasks:
        framework = master.frameworks.get(task.framework_id)
        if framework is not None:
            framework.unreachable[task.id] = task
