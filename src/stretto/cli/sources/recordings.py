"""Opens the recording of a command line."""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from stretto.inputs.objects.recordings import Recording


def opened_recording(path: Path) -> "Recording":
    """Read a recording; for a file of another kind, the error names the verb that reads it.

    Raises:
        InputError: the file is not a recording, or a line is invalid.
    """
    from stretto.inputs.objects.recordings import load_recording
    from stretto.sim.history.file_kinds import FileKind, expect_kind

    expect_kind(path, FileKind.RECORDING)
    return load_recording(path)
