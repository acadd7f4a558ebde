"""Answers of a master about its frameworks, agents and tasks, for the commands that show them."""

from collections.abc import Iterable, Sequence
from typing import Any, Final

import click

from stretto.base.errors import NotFoundError, quoted, suggestion
from stretto.base.nearest import nearest
from stretto.cli.options import Command, CommandContext, refuse_given
from stretto.cli.parts.masters.address import MasterAccess, document

SCHEMA: Final = "stretto.offers/v1"


_OF_MASTER: Final = frozenset({"master", "credential", "token", "ca", "framework", "agent", "task"})
"""Parameters of a master."""


def check_options(option: str, *, is_given: bool) -> None:
    """Check that a command has only options of a master, or none of them.

    Args:
        option: the option that selects the master.
        is_given: true if the command line contains it.

    Raises:
        UsageError: there are other options.
    """
    command = click.get_current_context().command
    shared = command.shared_names if isinstance(command, Command) else set()
    others = {str(each.name) for each in command.params} - shared - _OF_MASTER
    if is_given:
        refuse_given(others, f"not with {option}, which concerns a master")
    else:
        refuse_given(_OF_MASTER, f"only with {option}")


def check_agent(framework: str | None, agent: str | None) -> None:
    """Refuse an agent without a framework.

    Raises:
        UsageError: an agent is given without a framework.
    """
    if agent is not None and framework is None:
        text = "--agent belongs to --framework."
        raise click.UsageError(text, click.get_current_context())


def show_offers(common: CommandContext, access: MasterAccess) -> None:
    """Show roles, frameworks and outstanding offers.

    Raises:
        UnreachableError: the master does not answer.
    """
    found = document(access, "/offers", {})
    _show_shares(common, found)
    rows = [
        (e["id"], e["framework_id"], e["role"], f"{e['age']:.0f} s", e["resources"])
        for e in found["offers"]
    ]
    _show(common, "offers", ["offer", "framework", "role", "age", "resources"], rows)
    common.console.json(SCHEMA, found)


def explain_framework(
    common: CommandContext, access: MasterAccess, framework: str, agent: str | None
) -> None:
    """Show why a framework has no offers, for all agents or for one.

    Raises:
        NotFoundError: the master has no such framework or agent.
        UnreachableError: the master does not answer.
    """
    query = {"framework": framework} | ({} if agent is None else {"agent": agent})
    found = document(access, "/offers", query)
    if not found["frameworks"]:
        raise _unknown_framework(access, framework)
    if agent is not None and not found["obstacles"]:
        known = document(access, "/slaves", {})["slaves"]
        if all(agent not in (each["id"], each["hostname"]) for each in known):
            names = [each[key] for each in known for key in ("id", "hostname")]
            raise _unknown("agent", agent, names, len(known))
    _show_shares(common, found)
    several = len(found["frameworks"]) > 1
    obstacles = [
        (*([e["framework"]] * several), e["agent"], e["host"], e["role"], e["reason"], e["text"])
        for e in found["obstacles"]
    ]
    heads = [*(["framework"] * several), "agent", "host", "role", "reason", "what"]
    _show(common, "obstacles: every agent is offered", heads, obstacles)
    common.console.json(SCHEMA, found)


def task_story(
    common: CommandContext, access: MasterAccess, task: str, framework: str | None = None
) -> None:
    """Show all states of a task with their times, of one framework or of all with the task.

    Raises:
        NotFoundError: the master has no such task or framework.
        UnreachableError: the master does not answer.
    """
    tasks = document(access, "/tasks", {"task_id": task})["tasks"]
    if framework is not None:
        found = document(access, "/offers", {"framework": framework})["frameworks"]
        if not found:
            raise _unknown_framework(access, framework)
        ids = {each["id"] for each in found}
        tasks = [each for each in tasks if each["framework_id"] in ids]
    if not tasks:
        listed = document(access, "/tasks", {"limit": "1000"})["tasks"]
        raise _unknown("task", task, [each["id"] for each in listed], len(listed))
    for each in tasks:
        _show_task(common, each)
    common.console.json(SCHEMA, {"tasks": tasks})


def _unknown_framework(access: MasterAccess, name: str) -> NotFoundError:
    known = document(access, "/offers", {})["frameworks"]
    return _unknown("framework", name, [each["name"] for each in known], len(known))


def _unknown(kind: str, name: str, known: Iterable[str], count: int) -> NotFoundError:
    hint = suggestion(nearest(name, sorted(set(known))))
    number = f"{count} {kind}" if count == 1 else f"{count} {kind}s"
    return NotFoundError(f"{kind} {quoted(name)}", f"the master has {number}", hint)


def _show(
    common: CommandContext, what: str, heads: Sequence[str], rows: Sequence[Sequence[object]]
) -> None:
    """Write a table, or a line for an empty result."""
    if rows:
        common.console.table(heads, rows)
    else:
        common.console.data(f"no {what}")


def _show_shares(common: CommandContext, found: dict[str, Any]) -> None:
    roles = [
        (e["name"], e["weight"], f"{e['share']:.1%}", e["frameworks"], e["filters"])
        for e in found["roles"]
    ]
    _show(common, "roles", ["role", "weight", "share", "frameworks", "filters"], roles)
    frameworks = [
        (e["name"], e["id"], ", ".join(e["roles"]), _state(e), e["tasks"], e["used"], *_offers(e))
        for e in found["frameworks"]
    ]
    heads = ["framework", "id", "roles", "state", "tasks", "used", "offers", "oldest"]
    _show(common, "frameworks", heads, frameworks)


def _state(framework: dict[str, Any]) -> str:
    if not framework["connected"]:
        return "disconnected"
    suppressed = ", ".join(framework["suppressed"])
    return f"suppressed: {suppressed}" if suppressed else "active"


def _offers(framework: dict[str, Any]) -> tuple[int, str]:
    """Return the number of outstanding offers and the age of the oldest one."""
    oldest = framework["oldest"]
    return framework["offers"], "" if oldest is None else f"{oldest:.0f} s"


def _show_task(common: CommandContext, task: dict[str, Any]) -> None:
    first = task["statuses"][0]["timestamp"] if task["statuses"] else 0.0
    common.console.data(f"{task['id']} of {task['framework_id']} on {task['slave_id']}")
    rows = [(f"{each['timestamp'] - first:+.3f} s", each["state"]) for each in task["statuses"]]
    common.console.table(["time", "state"], rows or [("", task["state"])])
