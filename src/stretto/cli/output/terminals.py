"""Properties of the terminal that a stream writes to."""

import os
from typing import IO


def on_terminal(stream: IO[str]) -> bool:
    """Whether a stream is a terminal that supports cursor movement."""
    return stream.isatty() and os.environ.get("TERM") not in ("dumb", "unknown")
