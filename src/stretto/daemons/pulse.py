"""Liveness, readiness and leadership of a daemon, as its probes report them."""

from collections.abc import Callable, Mapping
from typing import Final

from stretto.base.clock import Clock
from stretto.daemons.leader import LeaderThread
from stretto.daemons.probes import Pages, ProbePage

ALIVE_WITHIN: Final = 60.0
"""Seconds after which a stalled main loop or lease thread counts as dead."""


class DaemonPulse:
    """Beats of a main loop, and the thread that renews the lease."""

    def __init__(self, clock: Clock) -> None:
        """Create the pulse of a daemon that has just started, without a lease."""
        self._clock = clock
        self._beat_at = clock.monotonic()
        self._leading: LeaderThread | None = None

    def follow(self, leading: LeaderThread) -> None:
        """Watch the thread that renews the lease."""
        self._leading = leading

    def beat(self) -> float:
        """Record that the main loop runs; return the monotonic time."""
        self._beat_at = self._clock.monotonic()
        return self._beat_at

    def alive(self) -> ProbePage:
        """Probe page of liveness: the main loop runs and the lease is being renewed.

        A standby is alive too.
        """
        late = self._clock.monotonic() - self._beat_at
        if late > ALIVE_WITHIN:
            return ProbePage(False, f"the main loop has been stalled for {late:.0f} s\n")
        trouble = self._leading.trouble(ALIVE_WITHIN) if self._leading is not None else ""
        return ProbePage(not trouble, f"{trouble or 'ok'}\n")

    def standby(self) -> ProbePage | None:
        """Probe page of a standby, ready to take over or not; ``None`` if this process leads."""
        elector = self._leading.elector if self._leading is not None else None
        if elector is None or elector.leads():
            return None
        if elector.trouble:
            return ProbePage(False, f"the lease: {elector.trouble}\n")
        return ProbePage(True, f"standing by for {elector.holder or 'an unknown leader'}\n")

    def ready(self, troubles: Mapping[str, str], *, synced: bool) -> ProbePage:
        """Probe page of readiness: ready to act, or to take over.

        Args:
            troubles: watches without a stream, with the reason.
            synced: True once every kind has been listed.
        """
        alive = self.alive()
        if not alive.is_well:
            return alive
        standby = self.standby()
        if standby is not None:
            return standby
        texts = [f"{name}: {text}\n" for name, text in troubles.items()]
        if not synced:
            return ProbePage(False, "".join(["not synced yet\n", *texts]))
        return ProbePage(not texts, "".join(texts) or "ok\n")

    def pages(self, ready: Callable[[], ProbePage], metrics: Callable[[], str]) -> Pages:
        """The pages of a daemon, by path."""
        return {
            "/livez": self.alive,
            "/healthz": self.alive,
            "/readyz": ready,
            "/metrics": lambda: ProbePage(True, metrics()),
        }
