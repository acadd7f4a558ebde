"""How far it is: a bar on a terminal, a line now and then elsewhere, nothing when quiet."""

from collections.abc import Callable
from types import TracebackType
from typing import Any, Final, Protocol, Self

from stretto.base.clock import Clock

#: A line is written at each step of this many percent,
LINE_PERCENT: Final = 10
#: and after this many seconds of silence.
LINE_SECONDS: Final = 30.0


class Progress(Protocol):
    """Shows how much is done."""

    def update(self, done: int, note: str = "", total: int | None = None) -> None:
        """So much is done by now; cheap enough to be called some hundred times a second."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...


class SilentProgress:
    """Shows nothing."""

    def update(self, done: int, note: str = "", total: int | None = None) -> None:
        """Nothing is shown."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        return None


class LineProgress:
    """A line at every tenth, or after half a minute of silence."""

    def __init__(self, label: str, total: int, clock: Clock, write: Callable[[str], None]) -> None:
        self._label = label
        self._total = total
        self._clock = clock
        self._write = write
        self._tenth = 0
        self._last = clock.monotonic()

    def update(self, done: int, note: str = "", total: int | None = None) -> None:
        """Write a line where one is due."""
        self._total = self._total if total is None else total
        percent = 100 * done // self._total if self._total > 0 else 100
        tenth = percent // LINE_PERCENT
        now = self._clock.monotonic()
        if tenth <= self._tenth and now - self._last < LINE_SECONDS:
            return
        self._tenth, self._last = max(tenth, self._tenth), now
        behind = f" · {note}" if note else ""
        self._write(f"{self._label}: {percent}% ({done:,}/{self._total:,}){behind}")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        return None


class BarProgress:
    """A bar on stderr, drawn by rich ten times a second; it stays on the screen at the end."""

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
        """Move the bar."""
        more = {} if total is None else {"total": total}
        self._bar.update(self._task, completed=done, note=note, **more)

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()
