"""``stretto offers``: the offers of a master, their frameworks, and the obstacles."""

from dataclasses import dataclass

import click

from stretto.cli import options
from stretto.cli.options import CommandContext
from stretto.cli.parts.masters.address import FrameworkOptions, completes, framework_options
from stretto.cli.parts.masters.answers import (
    check_agent,
    explain_framework,
    show_offers,
    task_story,
)


@dataclass(frozen=True, kw_only=True)
class OffersOptions(FrameworkOptions):
    """Options of ``offers``."""

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
@framework_options
@click.option(
    "--task",
    metavar="ID",
    shell_complete=completes("tasks"),
    help="Show every state of this task.",
)
def offers(common: CommandContext, opts: OffersOptions) -> None:
    """Show the roles, frameworks and outstanding offers of a master.

    With --framework, each agent without an offer is listed with the first obstacle: suppressed, no
    capacity, a limit, a filter and its end, or headroom and its role. With --task, the states of a
    task are listed with their times; --framework selects the framework. `stretto explain
    --framework` and `stretto story --task` do the same.
    """
    check_agent(opts.framework, opts.agent)
    if opts.task is not None:
        task_story(common, opts, opts.task, opts.framework)
    elif opts.framework is not None:
        explain_framework(common, opts, opts.framework, opts.agent)
    else:
        show_offers(common, opts)
