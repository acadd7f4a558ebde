"""The profile of a daemon, and what it becomes while the daemon runs.

A profile that is a file is read again when its content changes (a ConfigMap that is mounted changes
under our feet) and when somebody asks for it (SIGHUP). A file that is no profile changes nothing:
the old rules go on, the log says what is wrong with the new ones, and a metric shows it.
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
"""Seconds between looks at the file."""


class ProfileFile:
    """A profile that may change; the good one is always at hand."""

    def __init__(self, source: str, load: Callable[[str], Profile], clock: Clock, log: Log) -> None:
        """Load a profile that must be good.

        Args:
            source: its name, or the path of its file.
            load: makes a profile of the source.
            clock: times the looks.
            log: told of what changes and of what is wrong.

        Raises:
            UnknownNameError: no profile, key or plugin of that name.
            InputError: something has the wrong form.
        """
        #: The profile as it was last good.
        self.good: Profile = load(source)
        #: What is wrong with the file now; empty while nothing is.
        self.trouble = ""
        self._source = source
        self._load = load
        self._clock = clock
        self._log = log
        self._seen = self._of_good = self._content()
        self._look_at = clock.monotonic() + LOOK_EVERY
        self._loaded_at = clock.now()
        self._asked = False
        self._counts = {"changed": 0, "kept": 0}

    def ask(self) -> None:
        """Look again at the next occasion, whatever the file looks like (safe in a signal)."""
        self._asked = True

    def look(self) -> bool:
        """Whether there is a new good profile since the last look; cheap when it is too early."""
        now = self._clock.monotonic()
        asked, self._asked = self._asked, False
        if not asked and now < self._look_at:
            return False
        self._look_at = now + LOOK_EVERY
        content = self._content()
        if content == self._seen and not asked:
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
            self._log.error(f"{about} is bad, the old one is kept: {error}")
            return False
        self.trouble = ""
        if self._seen == self._of_good:
            self._log.info(f"{about} says what it said before")
            return False
        self.good, self._of_good = found, self._seen
        self._loaded_at = self._clock.now()
        self._counts["changed"] += 1
        self._log.info(f"{about} has changed: it is taken up", profile=found.name)
        return True

    def _content(self) -> bytes | None:
        """What the file holds; ``None`` where there is none (a profile by name, or it is gone)."""
        try:
            return Path(self._source).read_bytes()
        except OSError:
            return None

    def families(self) -> Iterator[MetricFamily]:
        """Figures: what the reloads came to, and whether the last was good."""
        results: dict[Labels, float] = {(n,): float(c) for n, c in self._counts.items()}
        said = "Times that the profile was read again: changed, or kept because the new was bad."
        name = "stretto_profile_reloads"
        yield MetricFamily(name, MetricKind.COUNTER, said, ("result",), results)
        good: dict[Labels, float] = {(): float(not self.trouble)}
        said = "1 while the profile's file is good, 0 while an older one is kept in its place."
        yield MetricFamily("stretto_profile_is_good", MetricKind.GAUGE, said, (), good)
        since: dict[Labels, float] = {(): self._loaded_at}
        said = "When the profile that decides was loaded, in seconds since 1970."
        yield MetricFamily("stretto_profile_loaded_seconds", MetricKind.GAUGE, said, (), since)
