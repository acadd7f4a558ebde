"""Answers of a master about its frameworks, agents and tasks, for the commands that show them."""

from collections.abc import Iterable
from typing import Any, Final

import click

from stretto.base.errors import NotFoundError, suggestion
from stretto.base.nearest import nearest
from stretto.cli.options import CommandContext
from stretto.cli.parts.masters.address import MasterAccess, document

SCHEMA: Final = "stretto.offers/v1"


def check_agent(framework: str | None, agent: str | None) -> None:
    """Refuse an agent without a framework.

    Raises:
        UsageError: there is only an agent.
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
    common.console.table(["offer", "framework", "role", "age", "resources"], rows)
    common.console.json(SCHEMA, found)


def explain_framework(
    common: CommandContext, access: MasterAccess, framework: str, agent: str | None
) -> None:
    """Show why a framework has no offers, of all agents or of one.

    Raises:
        NotFoundError: the master knows no such framework or agent.
        UnreachableError: the master does not answer.
    """
    query = {"framework": framework} | ({} if agent is None else {"agent": agent})
    found = document(access, "/offers", query)
    if not found["frameworks"]:
        known = document(access, "/offers", {})["frameworks"]
        raise _unknown("framework", framework, (each["name"] for each in known))
    if agent is not None and not found["obstacles"]:
        known = [each["id"] for each in document(access, "/slaves", {})["slaves"]]
        if agent not in known:
            raise _unknown("agent", agent, known)
    _show_shares(common, found)
    obstacles = [(e["agent"], e["role"], e["reason"], e["text"]) for e in found["obstacles"]]
    common.console.table(["agent", "role", "reason", "what"], obstacles)
    common.console.json(SCHEMA, found)


def task_story(common: CommandContext, access: MasterAccess, task: str) -> None:
    """Show every state of a task with its time.

    Raises:
        NotFoundError: the master knows no such task.
        UnreachableError: the master does not answer.
    """
    tasks = document(access, "/tasks", {"task_id": task})["tasks"]
    if not tasks:
        listed = document(access, "/tasks", {"limit": "1000"})["tasks"]
        raise _unknown("task", task, (each["id"] for each in listed))
    for each in tasks:
        _show_task(common, each)
    common.console.json(SCHEMA, {"tasks": tasks})


def _unknown(kind: str, name: str, known: Iterable[str]) -> NotFoundError:
    names = sorted(set(known))
    hint = suggestion(nearest(name, names))
    return NotFoundError(f"{kind} {name}", f"the master has {len(names)} {kind}s", hint)


def _show_shares(common: CommandContext, found: dict[str, Any]) -> None:
    console = common.console
    roles = [
        (e["name"], e["weight"], f"{e['share']:.1%}", e["frameworks"], e["filters"])
        for e in found["roles"]
    ]
    console.table(["role", "weight", "share", "frameworks", "filters"], roles)
    frameworks = [
        (e["name"], ", ".join(e["roles"]), _state(e), e["tasks"], e["used"], e["offers"], _age(e))
        for e in found["frameworks"]
    ]
    heads = ["framework", "roles", "state", "tasks", "used", "offers", "oldest"]
    console.table(heads, frameworks)


def _state(framework: dict[str, Any]) -> str:
    if not framework["connected"]:
        return "disconnected"
    suppressed = ", ".join(framework["suppressed"])
    return f"suppressed: {suppressed}" if suppressed else "active"


def _age(framework: dict[str, Any]) -> str:
    return "" if framework["oldest"] is None else f"{framework['oldest']:.0f} s"


def _show_task(common: CommandContext, task: dict[str, Any]) -> None:
    first = task["statuses"][0]["timestamp"] if task["statuses"] else 0.0
    common.console.data(f"{task['id']} of {task['framework_id']} on {task['slave_id']}")
    rows = [(f"{each['timestamp'] - first:+.3f} s", each["state"]) for each in task["statuses"]]
    common.console.table(["time", "state"], rows or [("", task["state"])])
