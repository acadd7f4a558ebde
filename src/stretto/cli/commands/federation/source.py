"""Opens the fleet of a verb.

A fleet file, which runs in virtual time, or the API server of a host.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from stretto.base.errors import InputError
from stretto.cli import options
from stretto.cli.bundled.examples import example_names, example_path
from stretto.cli.output.formats import OUTPUT

if TYPE_CHECKING:
    from stretto.base.clock import Clock
    from stretto.cli.sources.webhooks import LimitedWebhooks
    from stretto.federation.answers.subjects import FleetReader
    from stretto.federation.fleet import ClusterFleet
    from stretto.sim.fleet.member import EmbeddedMember

CLUSTER: Final = "cluster"
"""Name of the fleet whose host is kubectl's current cluster."""


@dataclass(frozen=True, kw_only=True)
class FleetOptions:
    """Options of a verb that reads a fleet."""

    #: A fleet file, the name of a bundled one, ``cluster`` or ``cluster:CONTEXT``.
    on: str = CLUSTER
    #: Kubeconfig of the host; ``None`` for kubectl's default.
    kubeconfig: Path | None = None
    #: Output format.
    output: str = "table"

    @property
    def reads_host(self) -> bool:
        """True if the verb reads an API server."""
        return self.on == CLUSTER or self.on.startswith(f"{CLUSTER}:")


@dataclass(frozen=True)
class OpenedFleet:
    """An open fleet."""

    #: Description of the fleet.
    title: str
    #: Objects of the host.
    fleet: "ClusterFleet"
    #: Time of the fleet.
    clock: "Clock"
    #: Client for the webhooks of scheduling profiles.
    webhooks: "LimitedWebhooks"
    #: The members of a fleet file; ``None`` for those of a host.
    members: "Mapping[str, EmbeddedMember] | None" = None

    def reader(self) -> "FleetReader":
        """Return a reader of the fleet."""
        from stretto.federation.answers.subjects import FleetReader

        reader = FleetReader(self.fleet, self.clock, self.webhooks)
        self.fleet.host.poll(self.clock.monotonic())
        return reader


_OPTIONS: Final = (
    click.option(
        "--on",
        default=CLUSTER,
        metavar="FLEET",
        help="A fleet file, cluster or cluster:CONTEXT [cluster: the host kubectl would use].",
    ),
    click.option(
        "--kubeconfig",
        type=options.INPUT_FILE,
        metavar="FILE",
        help="Read the host of this kubeconfig.",
    ),
    OUTPUT,
)


def fleet_options(body: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of a verb that reads a fleet."""
    for each in reversed(_OPTIONS):
        body = each(body)
    return body


def fleet_path(text: str) -> Path:
    """Return the path of a fleet file, or of a bundled one with this name.

    Raises:
        InputError: there is no such file, or it is not a fleet.
    """
    from stretto.sim.fleet.description import is_fleet

    path = example_path(text) if text in example_names() and not Path(text).exists() else Path(text)
    if not path.is_file():
        raise InputError("--on", text, "an existing fleet file, cluster or cluster:CONTEXT")
    if not is_fleet(path):
        hint = "a fleet file has the key federation (see examples/federation.yaml)"
        raise InputError("--on", text, "a fleet file", hint)
    return path


@contextmanager
def opened_fleet(opts: FleetOptions) -> Iterator[OpenedFleet]:
    """Open a fleet for the duration of the block; a fleet file first runs to its end.

    Raises:
        InputError: the file or the kubeconfig is invalid.
    """
    from stretto.base.clock import WallClock
    from stretto.cli.sources.hosts import embedded_fleet, opened_host
    from stretto.cli.sources.webhooks import limited_webhooks

    with limited_webhooks() as webhooks:
        if not opts.reads_host:
            name, made = embedded_fleet(fleet_path(opts.on), webhooks)
            yield OpenedFleet(name, made.federation.fleet, made.clock, webhooks, made.members)
            return
        context, clock = opts.on.partition(":")[2], WallClock()
        with opened_host(opts.kubeconfig, context, clock) as fleet:
            yield OpenedFleet(f"host {context}".strip(), fleet, clock, webhooks)
