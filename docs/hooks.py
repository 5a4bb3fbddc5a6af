"""Pages of the book that live elsewhere in the repository, and links to files that are not pages."""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

# Where a page of the book comes from, as seen from the repository's root.
ELSEWHERE = {"figures.md": "bench/README.md", "contributing.md": "CONTRIBUTING.md"}
# Whoever searches wants an explanation first, and the notes and the API, which have every word most often, after it.
FIRST_FOUND = {"choose.md": 8, "glossary.md": 8, "certificate.md": 4, "command.md": 4, "start/": 4, "tutorials/": 4}
LINK = re.compile(r"\]\((?!https?:|#|mailto:)([^)#\s]*)(#[^)\s]*)?\)")
REFERENCE = re.compile(r"^(\[[^\]]+\]:\s+)(?!https?:)([^#\s]+)(#\S*)?$", re.MULTILINE)


def on_files(files: Files, config: Any) -> Files:
    """Adds the pages from elsewhere."""
    root = Path(config.docs_dir).parent
    for name, source in ELSEWHERE.items():
        files.append(File.generated(config, name, content=(root / source).read_text()))
    return files


def on_page_markdown(markdown: str, page: Page, config: Any, files: Files) -> str:
    """Turns links between files of the repository into links between pages; what is no page is named, not linked. Says which pages are found first."""
    source = ELSEWHERE.get(page.file.src_uri, f"docs/{page.file.src_uri}")
    boosts = [boost for begin, boost in FIRST_FOUND.items() if page.file.src_uri.startswith(begin)]
    page.meta.setdefault("search", {"boost": boosts[0]} if boosts else {})
    pages = {ELSEWHERE.get(file.src_uri, f"docs/{file.src_uri}"): file.src_uri for file in files}
    here = posixpath.dirname(page.file.src_uri)

    def target(link: str) -> str | None:
        found = pages.get(posixpath.normpath(posixpath.join(posixpath.dirname(source), link)))
        return None if found is None else posixpath.relpath(found, here or ".")

    def inline(match: re.Match[str]) -> str:
        link, anchor = match[1], match[2] or ""
        found = target(link)
        if found is None and not (Path(config.docs_dir).parent / posixpath.dirname(source) / link).exists():
            return match[0]  # a broken link: the builder says so
        return "]" if found is None else f"]({found}{anchor})"

    def reference(match: re.Match[str]) -> str:
        found = target(match[2])
        return match[0] if found is None else f"{match[1]}{found}{match[3] or ''}"

    # What differs from run to run is left open where the tests read the page.
    return REFERENCE.sub(reference, LINK.sub(inline, markdown)).replace("[..]", "…")
