"""Generated documents: written, or compared with the present files.

The scripts that generate documents share this; ``--check`` on their command line compares only.
"""

import sys
from collections.abc import Mapping
from pathlib import Path

from stretto.base.errors import ExitCode


def write_or_check(documents: Mapping[Path, str], command: str) -> int:
    """Write documents, or report stale ones with ``--check``; return the exit code.

    Args:
        documents: the text of each file.
        command: the command that writes the documents, for the report.
    """
    if "--check" not in sys.argv[1:]:
        for path, text in documents.items():
            path.write_text(text, encoding="utf-8")
        return ExitCode.OK
    stale = [
        path.name
        for path, text in documents.items()
        if not path.exists() or path.read_text(encoding="utf-8") != text
    ]
    if stale:
        print(f"stale: {', '.join(stale)}; run {command}", file=sys.stderr)
    return ExitCode.CHECK_FAILED if stale else ExitCode.OK
