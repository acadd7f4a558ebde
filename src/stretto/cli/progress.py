"""Progress display: a bar on a terminal, occasional lines elsewhere, nothing when quiet."""

from collections.abc import Callable
from typing import Any, Final, Protocol, Self

from stretto.base.clock import Clock

#: Percent between two lines.
LINE_PERCENT: Final = 10
#: Seconds before the first line; shorter work writes none.
QUIET_SECONDS: Final = 2.0
#: Maximum number of seconds between two lines.
LINE_SECONDS: Final = 30.0


class Progress(Protocol):
    """A progress display."""

    def update(self, done: int, note: str = "", total: int | None = None) -> None:
        """Report progress; cheap enough for several hundred calls per second."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...


class SilentProgress:
    """Displays nothing."""

    def update(self, done: int, note: str = "", total: int | None = None) -> None:
        """Ignore the report."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        return None


class LineProgress:
    """Writes a line at every tenth, or after half a minute without a line."""

    def __init__(self, label: str, total: int, clock: Clock, write: Callable[[str], None]) -> None:
        self._label = label
        self._total = total
        self._clock = clock
        self._write = write
        self._tenth = 0
        self._last = self._start = clock.monotonic()

    def update(self, done: int, note: str = "", total: int | None = None) -> None:
        """Write a line if one is due."""
        self._total = self._total if total is None else total
        percent = 100 * done // self._total if self._total > 0 else 100
        tenth = percent // LINE_PERCENT
        now = self._clock.monotonic()
        if now - self._start < QUIET_SECONDS:
            return
        if tenth <= self._tenth and now - self._last < LINE_SECONDS:
            return
        self._tenth, self._last = max(tenth, self._tenth), now
        suffix = f" · {note}" if note else ""
        self._write(f"{self._label}: {percent}% ({done:,}/{self._total:,}){suffix}")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        return None


class BarProgress:
    """A bar on stderr, which rich redraws ten times a second; it remains visible at the end."""

    def __init__(self, label: str, total: int) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
        from rich.progress import Progress as RichProgress

        self._bar: Any = RichProgress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=30),
            TextColumn("{task.percentage:>3.0f}%"),
            TextColumn("{task.fields[note]}", markup=False),
            TimeElapsedColumn(),
            console=Console(stderr=True, highlight=False),
        )
        self._task = self._bar.add_task(label, total=total, note="")

    def update(self, done: int, note: str = "", total: int | None = None) -> None:
        """Update the bar."""
        more = {} if total is None else {"total": total}
        self._bar.update(self._task, completed=done, note=note, **more)

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()
