"""Let an editable install import `src` under its installed name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class EditableLink(BuildHookInterface[Any]):
    """Link `.editable/tocsin` to `src`; type checkers cannot see import hooks."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002  hatchling passes both
        """Make the link, once, for an editable build and for no other."""
        if version == "editable":
            link = Path(self.root, ".editable", "tocsin")
            link.parent.mkdir(exist_ok=True)
            if not link.is_symlink():
                link.symlink_to(Path("..", "src"), target_is_directory=True)
