"""The page and the table about Kubernetes' own tests are those of the record."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_documents_are_written_from_the_record() -> None:
    command = [sys.executable, str(ROOT / "scripts" / "suite_page.py"), "--check"]
    checked = subprocess.run(command, capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stderr
