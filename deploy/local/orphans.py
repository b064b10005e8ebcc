"""What a server does when the process that started it dies, however it dies."""

from __future__ import annotations

import subprocess

# A line on the pipe is a farewell; its end without one means that nobody is left to say it.
_WAIT = 'read -r farewell && exit; exec "$@"'


class Watchdog:
    """
    Runs one command if this process ends, killed or not, before it has called `dismiss`.

    A shell holds the reading end of a pipe and is in a session of its own, so that what
    kills this process or its group does not kill it too.
    """

    def __init__(self, *command: str) -> None:
        self._shell = subprocess.Popen(  # noqa: S603 - commands of this package, never a user's
            ["/bin/sh", "-c", _WAIT, "watchdog", *command],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd="/",
            start_new_session=True,
        )

    def dismiss(self) -> None:
        """End the watch; the command does not run."""
        self._shell.communicate(b"\n")
