"""Renewal of a lease in a separate thread, so that no long list or batch of binds delays it."""

import threading
from collections.abc import Callable
from typing import Self

from stretto.base.clock import Clock
from stretto.daemons.logs import Log
from stretto.stores.lease import LeaderElector


class LeaderThread:
    """One candidate and its thread."""

    def __init__(
        self, elector: LeaderElector, clock: Clock, log: Log, is_quiet: Callable[[], bool]
    ) -> None:
        """Create a candidate that starts when the block is entered.

        ``is_quiet`` returns whether no write is in flight that only a leader may send.
        """
        #: The candidate.
        self.elector = elector
        self._clock = clock
        self._log = log
        self._is_quiet = is_quiet
        self._over = threading.Event()
        self._round_at = clock.monotonic()
        self._failure: Exception | None = None
        self._thread = threading.Thread(target=self._run, name="stretto-lease", daemon=True)

    def trouble(self, within: float) -> str:
        """Return why the lease is no longer renewed; empty while it is, or after its release.

        Args:
            within: seconds after which a stalled thread counts as dead.
        """
        if self._over.is_set():
            return ""
        if self._failure is not None:
            return f"the thread that renews the lease has ended: {self._failure!r}"
        late = self._clock.monotonic() - self._round_at
        return f"no attempt to renew the lease for {late:.0f} s" if late > within else ""

    def check(self) -> None:
        """Raise if this candidate can never lead; otherwise it would stand by permanently.

        Raises:
            NotAllowedError: the lease may not be read or written.
            Exception: the unexpected error that ended the thread.
        """
        if self._failure is not None:
            raise self._failure
        if self.elector.barred is not None and not self.elector.leads():
            raise self.elector.barred

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop and release the lease."""
        self._over.set()
        self._thread.join()
        self.elector.release(self._is_quiet)

    def _run(self) -> None:
        try:
            self._keep()
        except Exception as error:  # noqa: BLE001  (``check`` raises it in the main thread)
            self._failure = error

    def _keep(self) -> None:
        name = f"lease {self.elector.config.namespace}/{self.elector.config.name}"
        before = None
        while not self._over.is_set():
            self._round_at = self._clock.monotonic()
            standing = self.elector.tick()
            self._log.trouble(name, self.elector.trouble)
            if standing is not before:
                holder = self.elector.holder or "none"
                self._log.info(f"{name}: {standing.value}", holder=holder)
                before = standing
            self._over.wait(max(0.0, self.elector.next_due() - self._clock.monotonic()))
