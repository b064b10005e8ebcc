"""The account that a program of this machine runs as."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """Whom a program runs as; None for both is whoever runs this process."""

    user: int | None = None
    group: int | None = None

    def own(self, folder: Path) -> None:
        """Give the folder, not its contents, to the account."""
        if self.user is not None and self.group is not None:
            os.chown(folder, self.user, self.group)

    def run(self, *command: str, cwd: Path) -> subprocess.CompletedProcess[str]:
        """Run a command to its end as the account, with nothing in its environment."""
        return subprocess.run(  # noqa: S603 - programs chosen here, never a user's words
            command,
            user=self.user,
            group=self.group,
            extra_groups=self.other_groups,
            cwd=cwd,
            env={},
            capture_output=True,
            text=True,
            check=False,
        )

    @property
    def other_groups(self) -> list[int] | None:
        """No groups beside its own; None where groups stay as they are."""
        return None if self.user is None else []
