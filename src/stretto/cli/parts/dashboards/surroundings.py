"""Pools around the scheduler of a dashboard: the offers of a master, the clusters of a fleet."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from stretto.cli.parts.masters.address import (
    MasterAccess,
    address,
    document,
    trust,
    trust_options,
)

if TYPE_CHECKING:
    from stretto.web.views.offers import OfferBoard
    from stretto.web.views.parts import DashboardParts


@dataclass(frozen=True, kw_only=True)
class PoolOptions:
    """Options for a master and a fleet."""

    #: The fleet whose clusters are shown; ``None`` for no page of clusters.
    fleet: str | None
    #: URL of the master whose offers are shown; ``None`` for no page of offers.
    master: str | None
    #: File with principal and secret for the master.
    credential: Path | None
    #: File with a bearer token for the master.
    token: Path | None
    #: File with the authorities of the master's certificate.
    ca: Path | None


def pool_options(body: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of `PoolOptions`."""
    fleet = "Show the clusters of a fleet file, of cluster or of cluster:CONTEXT."
    master = "Show the offers of this master."
    body = click.option("--master", metavar="URL", help=master)(trust_options(body))
    return click.option("--fleet", metavar="FLEET", help=fleet)(body)


@contextmanager
def with_pools(
    parts: "DashboardParts", opts: PoolOptions, kubeconfig: Path | None
) -> "Iterator[DashboardParts]":
    """Add the pages of the given pools to the parts of a dashboard, for the duration of the block.

    Raises:
        InputError: the URL, a file or the kubeconfig is invalid.
    """
    parts = parts._replace(offers=_offers(opts))
    if opts.fleet is None:
        yield parts
        return
    from stretto.base.clock import WallClock
    from stretto.cli.commands.federation.source import FleetOptions, opened_fleet
    from stretto.federation.answers.clusters import cluster_facts
    from stretto.web.views.recent import RecentView

    with opened_fleet(FleetOptions(on=opts.fleet, kubeconfig=kubeconfig)) as found:
        yield parts._replace(
            clusters=RecentView(lambda: cluster_facts(found.reader()), WallClock())
        )


def _offers(opts: PoolOptions) -> "Callable[[], OfferBoard] | None":
    """Return a function that reads the offers of the master; check its options first."""
    from stretto.base.clock import WallClock
    from stretto.web.views.offers import read_board
    from stretto.web.views.recent import RecentView

    if opts.master is None:
        return None
    access = MasterAccess(
        master=opts.master, credential=opts.credential, token=opts.token, ca=opts.ca
    )
    address(access)
    trust(access)
    return RecentView(lambda: read_board(document(access, "/offers", {})), WallClock())
