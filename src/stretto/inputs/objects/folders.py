"""The manifest files of a folder and its sub-folders, without the files of Helm and Kustomize.

A checked-out application contains charts, overlays and settings besides its manifests. ``plan``
reads the manifests and lists the other files with the command that renders them.
"""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from stretto.api.edit.skipped import SkippedObjects
from stretto.api.edit.yaml_text import load_documents
from stretto.base.errors import InputError
from stretto.inputs.objects.kustomize import NAMES, is_patch, patches_in

SUFFIXES: Final = (".yaml", ".yml", ".json")
"""Suffixes of manifest files in a folder."""
HELM: Final = "Helm: run helm template CHART and pass the output"
"""Reason for skipping the files of a chart."""
KUSTOMIZE: Final = "Kustomize: run kubectl kustomize FOLDER and pass the output"
"""Reason for skipping a kustomization."""
TEMPLATE: Final = "template with {{ }}: render it first, for example with helm template"
"""Reason for skipping a template."""
NO_OBJECTS: Final = "no Kubernetes objects"
"""Reason for skipping a file of another format."""
_CHART_FILES: Final = ("chart.yaml", "chart.yml")
_TEMPLATE: Final = re.compile(r"(?m)(?:^|[:,-][ \t])[ \t]*[\"']?[^#\n\"' ,]*\{\{")
"""A line or a value that begins with a word and an action of a Go template."""
_ACTION: Final = "{{"
_HEAD: Final = frozenset({"apiVersion", "kind", "metadata", "spec"})


class GoTemplateError(InputError):
    """Error: a text is a template and not an object."""


def manifest_files(folder: Path, skipped: SkippedObjects) -> list[Path]:
    """The manifest files below a folder in order of path, without hidden folders and links.

    Raises:
        InputError: there is none.
    """
    found: list[Path] = []
    patches = {one for place, _, names in os.walk(folder) for one in patches_in(Path(place), names)}
    for place, folders, names in os.walk(folder):
        here = Path(place)
        chart = any(name.lower() in _CHART_FILES for name in names)
        hidden = {name for name in folders if name.startswith(".")}
        charted = {name for name in folders if chart and name in ("templates", "charts", "ci")}
        folders[:] = sorted(set(folders) - hidden - charted)
        for name in sorted(charted):
            skipped.add_file(str(here / name), HELM)
        for name in names:
            path = here / name
            if path.suffix.lower() not in SUFFIXES or name.startswith("."):
                continue
            values = chart and path.stem.lower().startswith("values")
            why = HELM if values else KUSTOMIZE if path.absolute() in patches else tool_of(path)
            if why:
                skipped.add_file(str(path), why)
            else:
                found.append(path)
    if not found and not skipped:
        expected = f"a folder with {', '.join(SUFFIXES)} files"
        raise InputError(str(folder), None, expected, "use the folder of the manifests")
    return sorted(found)


def tool_of(path: Path) -> str:
    """The tool of a file, by its name, and its command; empty for a manifest."""
    if path.stem.lower() in NAMES:
        return KUSTOMIZE
    return HELM if path.name.lower() in _CHART_FILES else ""


def why_unread(path: Path, text: str, error: InputError) -> str:
    """Reason for skipping an unreadable file of a folder; empty if it must be refused."""
    if is_patch(path, text):
        return KUSTOMIZE
    if has_no_objects(text, str(path)):
        return NO_OBJECTS
    return TEMPLATE if isinstance(error, GoTemplateError) else ""


def has_template(text: str) -> bool:
    """True if a text contains actions of a Go template, so that it is not YAML."""
    return _ACTION in text and _TEMPLATE.search(text) is not None


def has_no_objects(text: str, where: str) -> bool:
    """True if no document of a text looks like a Kubernetes object, or there is no document."""
    try:
        return not any(_is_object(value) for _, value in load_documents(text, where))
    except InputError:
        return False


def _is_object(value: Any) -> bool:
    """True if a value has one of the first fields of an object with the correct type."""
    if not isinstance(value, dict):
        return False
    return "apiVersion" in value or len(_HEAD & value.keys()) > 1


@contextmanager
def naming_templates(where: str) -> Iterator[None]:
    """Replace an error about a value that contains an action of a template."""
    try:
        yield
    except InputError as error:
        if _ACTION in str(error.value):
            raise template_error(where, error) from error
        raise


def template_error(where: str, error: InputError) -> GoTemplateError:
    """The error about a template, with the cause that the YAML reader or a check reports."""
    found = "a template with {{ }}"
    hint = "run helm template CHART, or the tool of the template, and pass the output"
    return GoTemplateError(
        error.where if where in error.where else where, found, "plain YAML", hint
    )
