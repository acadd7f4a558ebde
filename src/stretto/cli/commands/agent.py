"""``stretto agent``: measure this machine, or run the tasks of Mesos frameworks on it."""

from dataclasses import dataclass

import click

from stretto.api.wire.names import dns_subdomain
from stretto.cli import options
from stretto.cli.options import CommandContext
from stretto.cli.parts.agents.measurement import MeasureOptions, measure, measure_options
from stretto.cli.parts.agents.tasks import TaskOptions, run_tasks, task_options
from stretto.cli.parts.masters.address import master_options


@dataclass(frozen=True, kw_only=True)
class AgentOptions(MeasureOptions, TaskOptions):
    """Options of ``agent``."""

    #: True if the agent runs tasks.
    tasks: bool


@options.command(
    "agent",
    AgentOptions,
    example="""
        stretto agent --once -o json
        stretto agent --node worker-1 --every 10
        stretto agent --tasks --master http://127.0.0.1:5050 --work-dir /var/lib/stretto-agent
        stretto agent --tasks --resources 'cpus:4;mem:8192;ports:[31000-32000]' --attributes rack:k1
    """,
    result=False,
)
@measure_options
@click.option("--tasks", is_flag=True, help="Run tasks of Mesos frameworks instead of measuring.")
@master_options
@task_options
def agent(common: CommandContext, opts: AgentOptions) -> None:
    """Measure this machine, or with --tasks run the tasks that a Mesos master launches on it.

    A measured machine is reported in the CustomNodeResource of its node: topology, GPUs, network
    devices, use of pods. Each report is one write; an unchanged report is not written.

    Each task runs in a sandbox of its own with its output in files. Executors of frameworks talk to
    the agent on --port. Status updates are sent until the framework acknowledges them. Tasks and
    executors continue while the agent is stopped; an agent that starts again in the same directory
    reports what happened. SIGTERM or Ctrl-C stops it.
    """
    if opts.tasks:
        options.refuse_given(options.fields_of(MeasureOptions), "not with --tasks")
    else:
        options.refuse_given(options.fields_of(TaskOptions), "only with --tasks")
    if opts.node is not None:
        dns_subdomain(opts.node, "--node")
    if opts.tasks:
        run_tasks(common, opts)
    else:
        measure(common, opts)
