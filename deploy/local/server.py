"""A server as a process of this machine: started, awaited, frozen, ended, and its last words."""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import psutil

from .account import Account
from .orphans import Watchdog

_PATIENCE = 30.0
_LAST_WORDS = 10

# A paused server hears of its end only once it goes on; its children, where /proc does not tell them, seconds later.
_END = 'kill "-$2" "$1"; kill -CONT "$1" $(cat "/proc/$1/task/$1/children")'


class Server:
    """
    One server, which errors call `name`; it runs in the folder of `log`, where everything that it says goes.

    `answers` tells whether it is ready, and `crash` is the signal that ends it at once. When this process dies, so
    does the server. Every call blocks.
    """

    def __init__(self, name: str, *, log: Path, answers: Callable[[], bool], crash: signal.Signals) -> None:
        self._name = name
        self._log = log
        self._answers = answers
        self._crash = crash
        self._process: subprocess.Popen[bytes] | None = None
        self._watchdog: Watchdog | None = None

    @property
    def pid(self) -> int:
        """Its first process."""
        return self._running().pid

    def start(self, *command: str, account: Account) -> None:
        """
        Start, and return once it answers.

        Raises:
            TimeoutError: it does not after 30 seconds.
            RuntimeError: it ended instead, and its last words are the message.
        """
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(  # noqa: S603 - a chosen program, settings of this repository
                command,
                user=account.user,
                group=account.group,
                extra_groups=account.other_groups,
                cwd=self._log.parent,
                env={},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self._watchdog = Watchdog("/bin/sh", "-c", _END, "end", str(self.pid), str(self._crash.value))
        self._await_ready()

    def end(self, sign: signal.Signals) -> None:
        """Send a signal that ends it and wait; after 30 seconds it crashes. Nothing to do if it does not run."""
        if self._process is None:
            return
        if self._process.poll() is None:
            self._process.send_signal(sign)
            self.resume()
        try:
            self._process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            self._process.send_signal(self._crash)
            self._process.wait(_PATIENCE)
        self._forget()

    def crash(self) -> None:
        """End it at once; nothing to do if it does not run."""
        self.end(self._crash)

    def pause(self) -> None:
        """Freeze it with its children: connections stay open and nothing answers."""
        first = psutil.Process(self.pid)
        first.suspend()  # First, so that no child is born behind our back.
        for child in first.children():
            with suppress(psutil.NoSuchProcess):  # It may have been on its way out.
                child.suspend()

    def resume(self) -> None:
        """Let it go on; harmless if it is not paused."""
        first = psutil.Process(self.pid)
        for process in (*first.children(), first):
            with suppress(psutil.NoSuchProcess):  # A child of a server that was not paused may end at any time.
                process.resume()

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            raise RuntimeError("the server does not run")
        return self._process

    def _await_ready(self) -> None:
        deadline = time.monotonic() + _PATIENCE
        while not self._answers():
            if self._running().poll() is not None:
                self._forget()
                raise RuntimeError(f"{self._name} ended at its start:\n{self._last_words()}")
            if time.monotonic() > deadline:
                self.crash()
                raise TimeoutError(f"{self._name} is not ready:\n{self._last_words()}")
            time.sleep(0.01)

    def _last_words(self) -> str:
        return "\n".join(self._log.read_text("utf-8", errors="replace").splitlines()[-_LAST_WORDS:])

    def _forget(self) -> None:
        self._process = None
        if self._watchdog is not None:
            self._watchdog.dismiss()
            self._watchdog = None
