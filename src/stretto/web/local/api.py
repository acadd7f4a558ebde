"""The API of a local cluster: its server, and the audit log of its requests."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass

from stretto.base.clock import Clock
from stretto.base.rng import Rng
from stretto.stores.store import Store
from stretto.web.api.server import ApiServer, ApiSettings
from stretto.web.application import Attempt
from stretto.web.audit.files import AuditFile, AuditFiles
from stretto.web.audit.log import AuditLog, AuditSettings
from stretto.web.audit.policy import AuditPolicy
from stretto.web.local.keys import ServerKeys


@dataclass(frozen=True)
class AuditOptions:
    """Policy and files of the audit log."""

    #: The files.
    files: AuditFiles
    #: Policy of the recorded parts.
    policy: AuditPolicy


def api_server(store: Store, clock: Clock, rng: Rng, keys: ServerKeys) -> ApiServer:
    """Return the API server over a store; its users have the keys of the cluster."""
    settings = ApiSettings(
        clock,
        rng.child("api"),
        keys.administrator,
        accounts_key=keys.accounts.read_bytes(),
        authentication=keys.authentication(),
    )
    return ApiServer(store, settings)


@contextmanager
def audited(
    server: ApiServer, clock: Clock, rng: Rng, options: AuditOptions | None
) -> Iterator[Attempt]:
    """Yield the function that answers the requests of a server, recorded if ``options`` is set.

    Raises:
        InputError: the log cannot be written.
    """
    if options is None:
        yield server.attempt
        return
    with closing(AuditFile(options.files, clock)) as file:
        settings = AuditSettings(options.policy, file.write, clock, rng)
        yield AuditLog(server.attempt, server.user_of, settings).attempt
