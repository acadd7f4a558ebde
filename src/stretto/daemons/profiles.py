"""The profile of a daemon, reloaded while the daemon runs.

A profile file is read again when its content changes (as for a mounted ConfigMap) and on request
(SIGHUP). An invalid file has no effect: the previous profile stays in use, the fault is logged, and
a metric reports it.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from stretto.base.clock import Clock
from stretto.base.errors import StrettoError
from stretto.daemons.logs import Log
from stretto.explain.metrics.tally import Labels, MetricFamily, MetricKind
from stretto.framework.profile.profile import Profile

LOOK_EVERY: Final = 5.0
"""Seconds between checks of the file."""


class ProfileFile:
    """A profile that may change; the last valid one is always available."""

    def __init__(self, source: str, load: Callable[[str], Profile], clock: Clock, log: Log) -> None:
        """Load the first profile, which must be valid.

        Args:
            source: name of the profile, or path of its file.
            load: makes a profile from the source.
            clock: times the checks.
            log: receives changes and faults.

        Raises:
            UnknownNameError: no profile, key or plugin of that name exists.
            InputError: the profile is malformed.
        """
        #: The last valid profile.
        self.good: Profile = load(source)
        #: Fault of the current file; empty if it is valid.
        self.trouble = ""
        self._source = source
        self._load = load
        self._clock = clock
        self._log = log
        self._seen = self._of_good = self._content()
        self._look_at = clock.monotonic() + LOOK_EVERY
        self._loaded_at = clock.now()
        self._requested = False
        self._counts = {"changed": 0, "kept": 0}

    def request(self) -> None:
        """Request a reload at the next check (safe in a signal handler)."""
        self._requested = True

    def look(self) -> bool:
        """Return whether a new valid profile was loaded since the last call.

        The content is read at most every ``LOOK_EVERY`` seconds, unless a reload is requested.
        """
        now = self._clock.monotonic()
        requested, self._requested = self._requested, False
        if not requested and now < self._look_at:
            return False
        self._look_at = now + LOOK_EVERY
        content = self._content()
        if content == self._seen and not requested:
            return False
        self._seen = content
        return self._read()

    def _read(self) -> bool:
        about = f"profile {self._source}"
        try:
            found = self._load(self._source)
        except StrettoError as error:
            self._counts["kept"] += 1
            self.trouble = str(error)
            self._log.error(f"{about} is invalid; the former profile stays in use: {error}")
            return False
        self.trouble = ""
        if self._seen == self._of_good:
            self._log.info(f"{about} is unchanged")
            return False
        self.good, self._of_good = found, self._seen
        self._loaded_at = self._clock.now()
        self._counts["changed"] += 1
        self._log.info(f"{about} has changed and is loaded", profile=found.name)
        return True

    def _content(self) -> bytes | None:
        """Content of the file; ``None`` for a profile by name or a deleted file."""
        try:
            return Path(self._source).read_bytes()
        except OSError:
            return None

    def families(self) -> Iterator[MetricFamily]:
        """Metrics: results of the reloads, and whether the last file was valid."""
        results: dict[Labels, float] = {(n,): float(c) for n, c in self._counts.items()}
        text = "Reloads of the profile: changed, or kept because the new one was invalid."
        name = "stretto_profile_reloads"
        yield MetricFamily(name, MetricKind.COUNTER, text, ("result",), results)
        good: dict[Labels, float] = {(): float(not self.trouble)}
        text = "1 if the profile's file is valid, 0 while an older profile is in use."
        yield MetricFamily("stretto_profile_is_good", MetricKind.GAUGE, text, (), good)
        since: dict[Labels, float] = {(): self._loaded_at}
        text = "When the profile in use was loaded, in seconds since 1970."
        yield MetricFamily("stretto_profile_loaded_seconds", MetricKind.GAUGE, text, (), since)
