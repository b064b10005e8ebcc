"""
A fleet played through: timers, executors and finishers on one database, batch by batch.

What is simulated is what waits for something: a core, the network, the disk, an instant, a place. A call of a stage is
one event for its node's core and one for the database, however many rows it carries.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

import numpy as np
import simpy

from .model import DATABASE, FULL, NODE, PIPE, Costs
from .node import Node
from .queues import NONE, Cores, Due, Times, Waiting

AHEAD: Final = 0.5
"""As `domain.firing.LOOK_AHEAD`."""

CAP: Final = 5.0
"""Seconds that a loop sleeps at most."""

PAUSE: Final = 0.05
"""As in `application.timer`: how long a timer sleeps that found only what others are firing."""

FORESTALLED: Final = 0.01
"""Seconds until an executor that was woken for nothing looks again."""

GRACE: Final = 5.0
"""Seconds until a dispatch that nobody heard of is repeated."""

PATIENCE: Final = 12.0
"""Seconds that an expired lease must stay so before it is believed: a heartbeat, and a margin."""

LOOK: Final = 0.26
"""What a timer's look that finds nothing costs of a call's fixed part, as measured on PostgreSQL."""

Steps: TypeAlias = Generator[simpy.Event, Any, None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """A fleet: how many nodes, how many of them with a timer, and what they run on."""

    nodes: int
    timers: int
    cores: int
    capacity: int = 200
    handler: float = 0.0
    """Seconds that a handler waits for something outside."""

    lease: float = 60.0
    kills: Mapping[float, int] = field(default_factory=dict)
    """At which second which node is killed; another takes its place at once."""


class Fleet:
    """All that runs, and the account of every fire: due, fired, waiting, held, lost for now, finished."""

    def __init__(self, setting: Setting, costs: Costs, due: Times) -> None:
        self.environment = simpy.Environment()
        self.setting = setting
        self.costs = costs
        self.database = Cores(setting.cores)
        self.pipe = Cores(1)
        self.due = Due(due)
        self.waiting = Waiting()
        self.total = len(due)
        self.fired = self.finished = self.lost = self.looks = self.calls = 0
        self.late: list[Times] = []
        self.done = self.environment.event()
        self._asleep: deque[simpy.Event] = deque()
        self.nodes = [Node(number) for number in range(setting.nodes)]
        self.retired: list[Node] = []
        for node in self.nodes:
            self._start(node)
        for at, number in setting.kills.items():
            self.environment.process(self._kill(at, number))

    @property
    def now(self) -> float:
        """Seconds since the beginning."""
        return self.environment.now

    @property
    def held(self) -> int:
        """How many executions nodes hold that live."""
        return sum(node.held for node in self.nodes)

    def unaccounted(self) -> int:
        """Tell how many fires are nowhere, which is never any."""
        handing = sum(node.firing + node.handing + node.claiming for node in self.nodes)
        return self.total - len(self.due) - handing - self.waiting.length - self.held - self.lost - self.finished

    def run(self, seconds: float | None = None) -> None:
        """Let it run until all is finished, or for so long."""
        self.environment.run(until=self.done if seconds is None else seconds)

    def _start(self, node: Node) -> None:
        if node.number < self.setting.timers:
            self.environment.process(self._timer(node))
        self.environment.process(self._executor(node))
        self.environment.process(self._finisher(node))
        self.environment.process(self._heartbeat(node))

    def _heartbeat(self, node: Node) -> Steps:
        """Tell the database each second that it lives, and ask whether anything was cancelled."""
        while node.lives:
            yield self.environment.timeout(1.0)
            self.database.serve(self.now, self.costs.line("claim", DATABASE).fixed)

    def _call(self, node: Node, stage: str, rows: int) -> Steps:
        """Spend what a call of a stage takes: the node's core, then the server's, network and disk."""
        self.calls += 1
        yield self._until(node.core.serve(self.now, self.costs.line(stage, NODE).of(rows)))
        done = self.database.serve(self.now, self.costs.line(stage, DATABASE).of(rows))
        if (piped := self.costs.line(stage, PIPE).of(rows)) > 0:
            done = max(done, self.pipe.serve(self.now, piped))
        yield self._until(done + self.costs.waiting(stage))

    def _look(self, node: Node, stage: str) -> Steps:
        """Spend what a look takes that finds nothing."""
        self.looks += 1
        share = LOOK if stage == "fire" else 1.0
        yield self._until(node.core.serve(self.now, self.costs.line(stage, NODE).fixed * share))
        done = self.database.serve(self.now, self.costs.line(stage, DATABASE).fixed * share)
        yield self._until(done + self.costs.trip)

    def _timer(self, node: Node) -> Steps:
        """Fire what is about to be due, batch after batch; the batch is taken when the database comes to it."""
        while node.lives:
            upcoming = self.due.next
            if upcoming is None or upcoming - AHEAD > self.now:
                sleep = CAP if upcoming is None else min(CAP, upcoming - AHEAD - self.now)
                # What lies nearer than a clock can tell is slept through at once.
                yield self.environment.timeout(max(sleep, 1e-6))
                continue
            yield self.environment.timeout(self.database.wait(self.now) + self.costs.trip)
            batch = self.due.take(self.now + AHEAD, FULL)
            if not len(batch):
                yield from self._look(node, "fire")
                yield self.environment.timeout(PAUSE)
                continue
            node.firing = len(batch)
            yield from self._call(node, "fire", len(batch))
            node.firing = 0
            if not node.lives:
                # The server rolls back what a client leaves behind.
                self.due.give_back(batch)
                self.lost -= len(batch)
                return
            self.fired += len(batch)
            node.handing = len(batch)
            yield from self._call(node, "hand on", len(batch))
            node.handing = 0
            if not node.lives:
                self._repeat(batch, GRACE)
                return
            self._hand_on(batch)

    def _executor(self, node: Node) -> Steps:
        """Claim as much as there is room for, and begin it on its instant."""
        while node.lives:
            room = node.room(self.now, self.setting.capacity)
            if room <= 0:
                node.freed = self.environment.event()
                yield node.freed | self.environment.timeout(0.25)
                continue
            if not self.waiting.length:
                bell = self.environment.event()
                self._asleep.append(bell)
                yield bell
                if not node.lives:
                    self._wake()
                    return
                if not self.waiting.length and not self._is_piped:
                    yield from self._look(node, "take")
                    yield self.environment.timeout(FORESTALLED)
                continue
            batch = self.waiting.take(min(room, FULL))
            self._wake()
            node.claiming = len(batch)
            yield from self._call(node, "take", len(batch))
            if node.lives:
                yield from self._call(node, "claim", len(batch))
            node.claiming = 0
            if not node.lives:
                # Whether it was committed nobody knows: a lease's length is the longer answer.
                self._repeat(batch, self.setting.lease + PATIENCE)
                return
            node.begin(batch, self.now, self.costs.running, self.setting.handler)
            if node.ended is not None and not node.ended.triggered:
                node.ended.succeed()

    def _finisher(self, node: Node) -> Steps:
        """Write what has ended, as many as have gathered."""
        while node.lives:
            first = node.next_end
            if first is None or first > self.now:
                node.ended = self.environment.event()
                wait = CAP if first is None else first - self.now
                yield node.ended | self.environment.timeout(max(wait, 1e-6))
                continue
            count = node.gathered(self.now, FULL)
            yield from self._call(node, "finish", count)
            if not node.lives:
                return
            self.late.append(node.finish(count))
            self.finished += count
            if node.freed is not None and not node.freed.triggered:
                node.freed.succeed()
            if self.finished == self.total:
                self.done.succeed()

    def _kill(self, at: float, number: int) -> Steps:
        """Kill a node; what it had claimed comes back once its leases are believed to be over."""
        yield self.environment.timeout(at)
        dead = self.nodes[number]
        held = dead.kill()
        # What its loops were about is told by themselves, once they notice.
        self.lost += dead.firing + dead.handing + dead.claiming
        self._repeat(held, self.setting.lease + PATIENCE, lost=len(held))
        self.retired.append(dead)
        self.nodes[number] = Node(number)
        self._start(self.nodes[number])

    def _repeat(self, batch: Times, after: float, *, lost: int = 0) -> None:
        self.lost += lost
        self.environment.process(self._repeated(batch, after))

    def _repeated(self, batch: Times, after: float) -> Steps:
        """Have a sweeper write each lost batch anew and hand it on."""
        yield self.environment.timeout(after)
        for first in range(0, len(batch), FULL):
            part = batch[first : first + FULL]
            yield self._until(self.database.serve(self.now, self.costs.line("finish", DATABASE).of(len(part))))
            self.lost -= len(part)
            self._hand_on(part)

    def _hand_on(self, batch: Times) -> None:
        self.waiting.add(batch)
        self._wake()

    def _wake(self) -> None:
        """Wake whoever waits for work: all of them where a bell rings, the first where a pipe serves one."""
        while self.waiting.length and self._asleep:
            self._asleep.popleft().succeed()
            if self._is_piped:
                return

    @property
    def _is_piped(self) -> bool:
        return PIPE in self.costs.stages["take"]

    def _until(self, instant: float) -> simpy.Timeout:
        return self.environment.timeout(max(0.0, instant - self.now))


def lateness(fleet: Fleet) -> Times:
    """Tell by how many seconds each finished fire began after its nominal time, ascending."""
    return np.sort(np.concatenate(fleet.late)) if fleet.late else NONE
