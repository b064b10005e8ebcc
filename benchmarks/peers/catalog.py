"""The systems, each with the settings that its documentation or a search found best for the test."""

from __future__ import annotations

from typing import Final

from redis.asyncio import Redis

from ..engines import Engine
from .environments import Node, Own, Python
from .evidence import Keys, Ledger, Rows
from .systems import Setup, System, Test


def _tocsin(name: str, engine: Engine) -> System:
    settings = {"engine": engine, "concurrency": 1000}
    setup = Setup(told="concurrency 1000, uvloop", settings=settings)
    return System(
        name=name,
        program="tocsin",
        environment=Own(),
        engine=engine,
        evidence=Ledger(),
        setups={
            Test.DRAIN: setup,
            Test.INSERT: Setup(told="triggers of one job; bulk: 32 calls at once", settings=settings),
            Test.BURST: Setup(told="crons, concurrency 1000, uvloop", settings=settings),
            Test.ONE_SHOT: setup,
        },
    )


TOCSIN: Final = (
    _tocsin("Tocsin SQLite", Engine.SQLITE),
    _tocsin("Tocsin PostgreSQL", Engine.POSTGRES),
    _tocsin("Tocsin PostgreSQL + Redis", Engine.REDIS),
)
BASELINE: Final = TOCSIN[1]
"""Whom plots compare with."""

PGQUEUER: Final = System(
    name="PgQueuer",
    program="pgqueuer",
    environment=Python(
        name="pgqueuer",
        requirements=("pgqueuer[asyncpg]==1.6.0", "asyncpg==0.32.0", "uvloop==0.23.0", "croniter==7.0.0"),
    ),
    engine=Engine.POSTGRES,
    evidence=Rows(
        left="SELECT count(*) FROM pgqueuer",
        kept="SELECT count(*) FROM pgqueuer_log WHERE status = 'successful'",
    ),
    setups={
        Test.DRAIN: Setup(told="batch 500, uvloop", settings={"batch_size": 500}),
        Test.INSERT: Setup(told="enqueue, uvloop"),
        Test.BURST: Setup(told="its scheduler, a pool of 10, uvloop"),
        Test.ONE_SHOT: Setup(told="batch 10, uvloop", settings={"batch_size": 10}),
    },
)

_GRAPHILE_SETTINGS: Final = {
    "concurrentJobs": 24,
    "pollInterval": 2000,
    "localQueue": {"size": 500},
    "completeJobBatchDelay": 0,
    "failJobBatchDelay": 0,
}
_GRAPHILE_TOLD: Final = "concurrency 24, local queue 500, batched completion"

GRAPHILE: Final = System(
    name="graphile-worker",
    program="graphile",
    environment=Node(),
    engine=Engine.POSTGRES,
    evidence=Rows(left="SELECT count(*) FROM graphile_worker._private_jobs"),
    setups={
        Test.DRAIN: Setup(told=_GRAPHILE_TOLD, settings=_GRAPHILE_SETTINGS),
        Test.INSERT: Setup(told="addJobs, addJob", settings={"concurrentJobs": 10}),
        Test.BURST: Setup(told=f"{_GRAPHILE_TOLD}; due on a minute", settings=_GRAPHILE_SETTINGS),
        Test.ONE_SHOT: Setup(
            told="concurrency 10, polls each 50 ms", settings={"concurrentJobs": 10, "pollInterval": 50}
        ),
    },
)

PG_BOSS: Final = System(
    name="pg-boss",
    program="pgboss",
    environment=Node(),
    engine=Engine.POSTGRES,
    evidence=Rows(
        left="SELECT count(*) FROM pgboss.job WHERE name = 'noop' AND state < 'completed'",
        kept="SELECT count(*) FROM pgboss.job WHERE name = 'noop' AND state = 'completed'",
    ),
    setups={
        Test.DRAIN: Setup(told="batch 500, burst", settings={"useListenNotify": False}),
        Test.INSERT: Setup(told="insert, send"),
        Test.BURST: Setup(told="cron monitor and worker each second, batch 500, burst", at_most=1_000),
        Test.ONE_SHOT: Setup(
            told="polls each 0.5 s, LISTEN/NOTIFY",
            settings={
                "useListenNotify": True,
                "at": {"pollingIntervalSeconds": 0.5, "notifyPollingIntervalSeconds": 0.5},
            },
        ),
    },
)


async def _bullmq_left(redis: Redis, _: int) -> int:
    return int(await redis.llen("bull:peers:wait")) + int(await redis.llen("bull:peers:active"))


async def _bullmq_kept(redis: Redis) -> int:
    return int(await redis.zcard("bull:peers:completed"))


_BULLMQ_SETUP: Final = Setup(told="concurrency 100", settings={"concurrency": 100})

BULLMQ: Final = System(
    name="BullMQ",
    program="bullmq",
    environment=Node(),
    engine=Engine.REDIS,
    evidence=Keys(left=_bullmq_left, kept=_bullmq_kept),
    setups={
        Test.DRAIN: _BULLMQ_SETUP,
        Test.INSERT: Setup(told="addBulk of 1,000, add"),
        Test.BURST: Setup(told="job schedulers, concurrency 100", settings={"concurrency": 100}),
        Test.ONE_SHOT: _BULLMQ_SETUP,
    },
)

PROCRASTINATE: Final = System(
    name="Procrastinate",
    program="procrastinate",
    environment=Python(
        name="procrastinate", requirements=("procrastinate==3.10.0", "psycopg[binary]==3.3.9", "psycopg-pool==3.3.3")
    ),
    engine=Engine.POSTGRES,
    evidence=Rows(
        left="SELECT count(*) FROM procrastinate_jobs WHERE status IN ('todo', 'doing')",
        kept="SELECT count(*) FROM procrastinate_jobs WHERE status = 'succeeded'",
    ),
    setups={
        Test.DRAIN: Setup(told="concurrency 4", settings={"concurrency": 4}),
        Test.INSERT: Setup(told="batch_defer, defer"),
        Test.BURST: Setup(told="concurrency 10", settings={"concurrency": 10}),
        Test.ONE_SHOT: Setup(told="concurrency 10, polls each 0.1 s", settings={"fetch_job_polling_interval": 0.1}),
    },
)

APSCHEDULER_3: Final = System(
    name="APScheduler 3",
    program="apscheduler3",
    environment=Python(
        name="apscheduler3", requirements=("apscheduler==3.11.3", "sqlalchemy==2.1.9", "psycopg2-binary==2.9.13")
    ),
    engine=Engine.POSTGRES,
    evidence=Rows(left="SELECT count(*) FROM apscheduler_jobs"),
    setups={
        Test.INSERT: Setup(told="add_job", insertions=("insert_each",)),
        Test.BURST: Setup(told="asyncio scheduler, SQLAlchemy store"),
        Test.ONE_SHOT: Setup(told="asyncio scheduler, SQLAlchemy store; submitted in its own process"),
    },
    submits_itself=True,
)

APSCHEDULER_4: Final = System(
    name="APScheduler 4",
    program="apscheduler4",
    environment=Python(
        name="apscheduler4",
        requirements=(
            "apscheduler==4.0.0a6",
            "anyio==4.8.0",
            "sqlalchemy[asyncio]==2.0.58",
            "asyncpg==0.32.0",
        ),
    ),
    engine=Engine.POSTGRES,
    evidence=Rows(left="SELECT count(*) FROM jobs"),
    setups={
        Test.DRAIN: Setup(told="20 jobs at once", settings={"max_concurrent_jobs": 20}, at_most=2_000),
        Test.INSERT: Setup(told="add_schedule", insertions=("insert_each",), at_most=2_000),
        Test.BURST: Setup(told="100 jobs at once", at_most=1_000),
        Test.ONE_SHOT: Setup(told="100 jobs at once"),
    },
)


async def _celery_left(redis: Redis, _: int) -> int:
    return int(await redis.llen("celery")) + int(await redis.hlen("unacked"))


async def _results(redis: Redis, prefix: bytes) -> int:
    return sum([1 async for _ in redis.scan_iter(match=prefix + b"*", count=5_000)])


async def _celery_kept(redis: Redis) -> int:
    return await _results(redis, b"celery-task-meta-")


CELERY: Final = System(
    name="Celery",
    program="celery",
    environment=Python(name="celery", requirements=("celery[redis]==5.7.0", "redis==8.1.0", "hiredis==3.5.0")),
    engine=Engine.REDIS,
    evidence=Keys(left=_celery_left, kept=_celery_kept),
    setups={
        Test.DRAIN: Setup(told="prefork, 4 processes, prefetch 64, late acknowledgement", settings={"concurrency": 4}),
        Test.INSERT: Setup(told="group, delay"),
        Test.BURST: Setup(told="beat, dispatch only", at_most=1_000),
        Test.ONE_SHOT: Setup(told="prefork, 2 processes, eta held in memory", settings={"concurrency": 2}),
    },
    counts=False,
)


async def _taskiq_left(redis: Redis, jobs: int) -> int:
    # Each result is a key, and so is the stream; what is not acknowledged may have its result already.
    [group] = await redis.xinfo_groups("taskiq")
    return max(0, jobs + 1 - int(await redis.dbsize())) + int(group["pending"])


async def _taskiq_kept(redis: Redis) -> int:
    return int(await redis.dbsize()) - 1


_TASKIQ_SETTINGS: Final = {"max_async_tasks": 100}

TASKIQ: Final = System(
    name="Taskiq",
    program="taskiq",
    environment=Python(
        name="taskiq",
        requirements=("taskiq==0.13.0", "taskiq-redis==1.2.4", "redis==8.1.0", "hiredis==3.5.0", "uvloop==0.23.0"),
    ),
    engine=Engine.REDIS,
    evidence=Keys(left=_taskiq_left, kept=_taskiq_kept),
    setups={
        Test.DRAIN: Setup(told="1 worker, 100 tasks at once, streams", settings=_TASKIQ_SETTINGS),
        Test.INSERT: Setup(told="64 calls at once, one call each"),
        Test.ONE_SHOT: Setup(
            told="1 worker, 100 tasks at once, scheduler each second", settings=_TASKIQ_SETTINGS, helpers=("ticker",)
        ),
    },
)

PEERS: Final = (
    PGQUEUER,
    GRAPHILE,
    PG_BOSS,
    BULLMQ,
    PROCRASTINATE,
    APSCHEDULER_3,
    APSCHEDULER_4,
    CELERY,
    TASKIQ,
)
SYSTEMS: Final = (*TOCSIN, *PEERS)
