"""Entry points of the programs, which handle Ctrl-C before anything else is imported.

The import of the command line takes a tenth of a second. A signal in that time ends the process
with the exit code of an interruption instead of a traceback.
"""

import os
import signal
from types import FrameType

#: Exit code of an interrupted program; the same as ``ExitCode.INTERRUPTED``.
INTERRUPTED = 130


def _end(number: int, _frame: FrameType | None) -> None:
    """End the process at once; nothing is open yet."""
    word = b"terminated" if number == signal.SIGTERM else b"interrupted"
    os.write(2, b"stretto: " + word + b"\n")
    os._exit(INTERRUPTED)


def _guard() -> None:
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _end)


def main() -> None:
    """The program ``stretto``."""
    _guard()
    from stretto.cli.main import main as run

    run()


def kubectl() -> None:
    """The program ``kubectl-stretto``."""
    _guard()
    from stretto.cli.kubectl import main as run

    run()


if __name__ == "__main__":
    main()
