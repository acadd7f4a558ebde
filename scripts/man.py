"""Write the manual pages of every command into a folder: scripts/man.py [FOLDER]."""

import sys
from pathlib import Path

from stretto.cli.main import cli
from stretto.cli.manual import manual_pages


def main() -> None:
    """Write the pages."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "out/man/man1")
    folder.mkdir(parents=True, exist_ok=True)
    pages = manual_pages(cli, "stretto")
    for name, text in pages.items():
        (folder / name).write_text(text, encoding="utf-8")
    sys.stdout.write(f"{len(pages)} pages in {folder}; read one: man -l {folder}/stretto-get.1\n")


main()
