"""Properties of the terminal of a stream."""

import os
from typing import IO


def on_terminal(stream: IO[str]) -> bool:
    """Return whether a stream is a terminal that supports cursor movement."""
    return stream.isatty() and os.environ.get("TERM") not in ("dumb", "unknown")
