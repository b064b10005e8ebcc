"""What MkDocs asks for while it builds: the pages that are made from the code, and the list of decisions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

from docs.site import api, commands, settings, vocabulary

CHECKOUT: Final = Path(__file__).parents[2]
DECISIONS: Final = "decisions/index.md"


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that nobody writes."""
    for path, content in {
        "reference/settings.md": settings.page(),
        "reference/cli.md": commands.page(),
        "reference/http-api.md": api.page(),
        "reference/openapi.json": json.dumps(api.openapi(), indent=1),
        "reference/errors.md": vocabulary.errors_page(),
        "reference/states.md": vocabulary.states_page(),
        "reference/telemetry.md": vocabulary.figures_page(),
        "changelog.md": (CHECKOUT / "CHANGELOG.md").read_text("utf-8"),
        DECISIONS: _decisions(),
    }.items():
        files.append(File.generated(config, path, content=content))
    return files


def _decisions() -> str:
    lines = ["# Decisions\n", "Why things are as they are: one page for each question that somebody could ask.\n"]
    for page in sorted((CHECKOUT / "docs" / "decisions").glob("*.md")):
        title = page.read_text("utf-8").partition("\n")[0].removeprefix("# ")
        lines.append(f"- [{title.replace('. ', ' · ', 1)}]({page.name})")
    return "\n".join(lines) + "\n"
