"""A local cluster from a store: API, dashboard, nodes, controllers and scheduler as one process."""

from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path

from stretto.base.clock import Clock
from stretto.base.rng import Rng
from stretto.serving.sockets import LOOPBACK, Check, listening
from stretto.stores.store import Store
from stretto.web.local.access import ServerAccess, write_kubeconfig
from stretto.web.local.api import AuditOptions, api_server, audited
from stretto.web.local.barrier import barrier_of
from stretto.web.local.cluster import LocalClusterProcess, LocalParts
from stretto.web.local.keys import ServerKeys
from stretto.web.local.pages import LocalPages, dashboard_application
from stretto.web.local.serving import LocalServer, ServedApplication
from stretto.web.local.webhooks import LocalWebhooks


@dataclass(frozen=True)
class LocalOptions:
    """The parts of a local cluster, and the address of its server."""

    #: Parts besides the API.
    parts: LocalParts
    #: Certificates, keys and the token of the administrator.
    keys: ServerKeys
    #: The kubeconfig to write.
    kubeconfig: Path
    #: Port of the API; 0 selects a free port.
    port: int = 0
    #: Cluster seconds per second.
    speed: float = 1.0
    #: The dashboard.
    pages: LocalPages = field(default_factory=LocalPages)
    #: Raises if a signal has already arrived before the server handles signals.
    check: Check = lambda: None
    #: The audit log; ``None`` for none.
    audit: AuditOptions | None = None


def serve_local(
    store: Store,
    clock: Clock,
    rng: Rng,
    options: LocalOptions,
    on_ready: Callable[[str, str], None],
) -> None:
    """Serve a cluster until a signal arrives.

    Args:
        store: the objects.
        clock: source of the cluster's times.
        rng: source of names and identities.
        options: the parts and the address.
        on_ready: called with the addresses of the API and of the dashboard; the latter is empty
            without a scheduler.

    Raises:
        InputError: a port is in use, or the kubeconfig or the audit log cannot be written.
    """
    keys = options.keys
    with listening(LOOPBACK, options.port) as listener:
        authority = keys.authority.cert.read_bytes()
        server = api_server(store, clock, rng, keys)
        webhooks = LocalWebhooks()
        parts = replace(options.parts, authority=authority, start_reviews=webhooks.start)
        address = f"https://{LOOPBACK}:{listener.getsockname()[1]}"
        barrier = barrier_of(store)
        page = ""
        with (
            closing(webhooks),
            audited(server, clock, rng.child("audit"), options.audit) as attempt,
            closing(LocalClusterProcess(server, store, clock, parts)) as cluster,
        ):
            api = webhooks.application(attempt, barrier)
            applications = [ServedApplication(api, listener, keys.tls)]
            if cluster.plane is not None:
                application, page = dashboard_application(
                    cluster.plane, cluster.client, options.pages
                )
                applications.append(application)
            write_kubeconfig(options.kubeconfig, ServerAccess(address, keys.token, authority))
            process = LocalServer(applications, cluster, options.speed, barrier, options.check)
            process.run(lambda: on_ready(address, page))
