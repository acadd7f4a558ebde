"""``stretto offers``: what a master offers, to whom, and why not."""

from dataclasses import dataclass
from typing import Any, Final

import click

from stretto.base.errors import UnknownNameError
from stretto.cli import options
from stretto.cli.commands.addressing import MasterAccess, document, master_options
from stretto.cli.options import CommandContext

SCHEMA: Final = "stretto.offers/v1"


@dataclass(frozen=True, kw_only=True)
class OffersOptions(MasterAccess):
    """Options of ``offers``."""

    #: Id or name of a framework.
    framework: str | None
    #: Id of an agent.
    agent: str | None
    #: Id of a task.
    task: str | None


@options.command(
    "offers",
    OffersOptions,
    example="""
        stretto offers
        stretto offers --framework marathon --agent 6ba7b810-S0
        stretto offers --task web.1
        stretto offers --master https://master:5050 --ca ca.crt --token token.txt
    """,
)
@master_options
@click.option("--framework", metavar="NAME", help="Explain why this framework has no offers.")
@click.option("--agent", metavar="ID", help="Explain this agent only.")
@click.option("--task", metavar="ID", help="Show every state of this task.")
def offers(common: CommandContext, opts: OffersOptions) -> None:
    """Show the roles, frameworks and outstanding offers of a master.

    With --framework, each agent without an offer is listed with the first obstacle: suppressed, no
    capacity, a limit, a filter and its end, headroom and for which role. With --task, the states
    of a task are listed with their times.
    """
    if opts.task is not None:
        _show_task(common, opts)
        return
    query = {key: value for key, value in _chosen(opts) if value is not None}
    found = document(opts, "/offers", query)
    if opts.framework is not None and not found["frameworks"]:
        names = [each["name"] for each in document(opts, "/offers", {})["frameworks"]]
        raise UnknownNameError("framework", opts.framework, names)
    _show(common, found)
    common.console.json(SCHEMA, found)


def _chosen(opts: OffersOptions) -> tuple[tuple[str, str | None], ...]:
    return ("framework", opts.framework), ("agent", opts.agent)


def _show(common: CommandContext, found: dict[str, Any]) -> None:
    console = common.console
    console.table(
        ["role", "weight", "share", "frameworks", "filters"],
        [
            (e["name"], e["weight"], f"{e['share']:.1%}", e["frameworks"], e["filters"])
            for e in found["roles"]
        ],
    )
    console.table(
        ["framework", "roles", "state", "tasks", "used", "offers", "oldest"],
        [
            (
                e["name"],
                ", ".join(e["roles"]),
                _state(e),
                e["tasks"],
                e["used"],
                e["offers"],
                _age(e),
            )
            for e in found["frameworks"]
        ],
    )
    if "obstacles" in found:
        obstacles = [(e["agent"], e["role"], e["reason"], e["text"]) for e in found["obstacles"]]
        console.table(["agent", "role", "reason", "what"], obstacles)
    else:
        rows = [
            (e["id"], e["framework_id"], e["role"], f"{e['age']:.0f} s", e["resources"])
            for e in found["offers"]
        ]
        console.table(["offer", "framework", "role", "age", "resources"], rows)


def _state(framework: dict[str, Any]) -> str:
    if not framework["connected"]:
        return "disconnected"
    suppressed = ", ".join(framework["suppressed"])
    return f"suppressed: {suppressed}" if suppressed else "active"


def _age(framework: dict[str, Any]) -> str:
    return "" if framework["oldest"] is None else f"{framework['oldest']:.0f} s"


def _show_task(common: CommandContext, opts: OffersOptions) -> None:
    tasks = document(opts, "/tasks", {"task_id": opts.task or ""})["tasks"]
    if not tasks:
        listed = document(opts, "/tasks", {"limit": "1000"})["tasks"]
        raise UnknownNameError("task", opts.task or "", [each["id"] for each in listed])
    for task in tasks:
        first = task["statuses"][0]["timestamp"] if task["statuses"] else 0.0
        common.console.data(f"{task['id']} of {task['framework_id']} on {task['slave_id']}")
        rows = [(f"{each['timestamp'] - first:+.3f} s", each["state"]) for each in task["statuses"]]
        common.console.table(["time", "state"], rows or [("", task["state"])])
    common.console.json(SCHEMA, {"tasks": tasks})
