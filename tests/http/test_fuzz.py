"""Whatever a caller sends, the answer is one that the document describes, and never a 500."""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.http.nodes import NOBODY, Api, a_body
from tocsin.adapters.http.wire.event_handlers import EventHandlerIn, EventHandlerPatch
from tocsin.adapters.http.wire.events import CloudEventIn, EventIn
from tocsin.adapters.http.wire.executions import TriggerIn
from tocsin.adapters.http.wire.jobs import JobIn, JobPatch, ScheduleIn
from tocsin.adapters.http.wire.model import Input
from tocsin.adapters.http.wire.queries import (
    EventHandlerQuery,
    EventQuery,
    ExecutionQuery,
    JobQuery,
    LogQuery,
    PreviewQuery,
)
from tocsin.adapters.http.wire.replays import ReplayIn
from tocsin.adapters.http.wire.schedules import PreviewIn
from tocsin.adapters.http.wire.trials import FilterTrialIn

# The server keeps what an example made, and no example depends on it.
shared_server = settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])

LIKELY = st.sampled_from(
    [
        None,
        True,
        0,
        1,
        5,
        -1,
        10**6,
        2**63,
        10**400,
        1.5,
        float("nan"),
        "",
        "report",
        "http",
        "command",
        "cron",
        "interval",
        "one_time",
        "recurring",
        "event",
        "allow_all",
        "queue_one",
        "run_all",
        "* * * * *",
        "*/7 1-5 L * 1#2",
        "0 0 31 2 *",
        "@daily",
        "every 90s",
        "P1D",
        "2026-01-02T00:00:00Z",
        "2199-12-31T23:59:59Z",
        "1970-01-01T00:00:00Z",
        "0001-01-01T00:00:00+23:59",
        "2026-01-02",
        "Europe/Berlin",
        "UTC",
        "\0",
        "\ud800",
        [],
        {},
        ["a"],
        {"method": "GET", "url": "http://example.com"},
    ],
)
SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters())
ANY_JSON = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4), max_leaves=12
)
VALUES = LIKELY | ANY_JSON


def bodies(model: type[Input]) -> st.SearchStrategy[object]:
    """Objects with fields of a model, and now and then something else."""
    names = st.sampled_from(sorted(model.model_fields))
    return st.dictionaries(names | st.text(max_size=5), VALUES, max_size=6) | ANY_JSON


def changed_bodies() -> st.SearchStrategy[dict[str, object]]:
    """Sound jobs with a few fields replaced, which get further than noise does."""
    fields = st.dictionaries(st.sampled_from(sorted(JobIn.model_fields)), VALUES, max_size=4)
    return fields.map(lambda replaced: a_body(**replaced))


def queries(model: type[Input]) -> st.SearchStrategy[list[tuple[str, str]]]:
    """Query parameters of a model, some given several times."""
    plain = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
    likely = LIKELY.map(str).filter(lambda text: "\ud800" not in text)
    return st.lists(st.tuples(st.sampled_from(sorted(model.model_fields)) | plain, likely | plain), max_size=5)


@shared_server
@given(body=bodies(JobIn) | changed_bodies())
async def test_no_job_is_a_500(api: Api, body: object) -> None:
    answer = await api.ask("POST", "/jobs", json=body)

    assert answer.status in {201, 400, 409, 422}


@shared_server
@given(bodies=st.lists(bodies(JobPatch), max_size=3), schedule=bodies(ScheduleIn))
async def test_no_change_of_a_job_is_a_500(api: Api, bodies: list[object], schedule: object) -> None:
    job = await api.job()

    answers = [await api.ask("PATCH", f"/jobs/{job['id']}", json=body) for body in bodies]
    answers.append(await api.ask("PUT", f"/jobs/{job['id']}/schedule", json=schedule))

    assert {answer.status for answer in answers} <= {200, 400, 409, 422}


@shared_server
@given(body=bodies(TriggerIn))
async def test_no_trigger_is_a_500(api: Api, body: object) -> None:
    job = await api.job()

    assert (await api.ask("POST", f"/jobs/{job['id']}/trigger", json=body)).status in {202, 400, 422}


SOUND_EVENT: dict[str, object] = {"name": "a", "specversion": "1.0", "id": "1", "source": "a", "type": "a"}


def changed(model: type[Input], sound: dict[str, object]) -> st.SearchStrategy[object]:
    """Sound bodies with a few fields replaced."""
    fields = st.dictionaries(st.sampled_from(sorted(model.model_fields)), VALUES, max_size=3)
    kept = {name: value for name, value in sound.items() if name in model.model_fields}
    return fields.map(lambda replaced: {**kept, **replaced}) | bodies(model)


@shared_server
@given(plain=changed(EventIn, SOUND_EVENT), cloud=changed(CloudEventIn, SOUND_EVENT))
async def test_no_event_is_a_500(api: Api, plain: object, cloud: object) -> None:
    headers = {"Content-Type": "application/cloudevents+json"}

    answers = [
        await api.ask("POST", "/events", json=plain),
        await api.ask("POST", "/events", json=[plain]),
        await api.ask("POST", "/events", json=cloud, headers=headers),
    ]

    assert {answer.status for answer in answers} <= {202, 400, 422}


@shared_server
@given(
    body=changed(EventHandlerIn, {"event": "nobody.knows", "action": {"type": "publish", "name": "a"}}),
    patch=bodies(EventHandlerPatch),
    replay=bodies(ReplayIn),
    trial=bodies(FilterTrialIn),
)
async def test_no_event_handler_is_a_500(api: Api, body: object, patch: object, replay: object, trial: object) -> None:
    made = await api.ask("POST", "/event-handlers", json=body)
    path = f"/event-handlers/{made.body['id'] if made.status == 201 else NOBODY}"

    answers = [
        await api.ask("PATCH", path, json=patch),
        await api.ask("POST", f"{path}/replay", json=replay),
        await api.ask("POST", "/event-handlers/test", json=trial),
    ]

    assert {answer.status for answer in (made, *answers)} <= {200, 201, 400, 404, 409, 422}


@shared_server
@given(events=queries(EventQuery), handlers=queries(EventHandlerQuery))
async def test_no_query_about_events_is_a_500(
    api: Api, events: list[tuple[str, str]], handlers: list[tuple[str, str]]
) -> None:
    answers = [
        await api.ask("GET", "/events", params=events),
        await api.ask("GET", "/event-handlers", params=handlers),
    ]

    assert {answer.status for answer in answers} <= {200, 422}


@shared_server
@given(body=bodies(PreviewIn))
async def test_no_preview_is_a_500(api: Api, body: object) -> None:
    assert (await api.ask("POST", "/schedules/preview", json=body)).status in {200, 400, 422}


@shared_server
@given(
    jobs=queries(JobQuery), executions=queries(ExecutionQuery), logs=queries(LogQuery), preview=queries(PreviewQuery)
)
async def test_no_query_is_a_500(
    api: Api,
    jobs: list[tuple[str, str]],
    executions: list[tuple[str, str]],
    logs: list[tuple[str, str]],
    preview: list[tuple[str, str]],
) -> None:
    answers = [
        await api.ask("GET", "/jobs", params=jobs),
        await api.ask("GET", "/executions", params=executions),
        await api.ask("GET", f"/jobs/{NOBODY}/executions", params=executions),
        await api.ask("GET", f"/executions/{NOBODY}/logs", params=logs),
        await api.ask("GET", f"/jobs/{NOBODY}/preview", params=preview),
    ]

    assert {answer.status for answer in answers} <= {200, 404, 422}


@shared_server
@given(raw=st.binary(max_size=64) | st.text(st.characters(exclude_categories=["Cs"])).map(str.encode))
async def test_no_noise_is_a_500(api: Api, raw: bytes) -> None:
    answer = await api.ask("POST", "/jobs", data=raw, headers={"Content-Type": "application/json"})

    assert answer.status in {400, 422}


@shared_server
@given(tag=st.text(st.characters(min_codepoint=0x20, max_codepoint=0x7E), max_size=8))
async def test_no_entity_tag_is_a_500(api: Api, tag: str) -> None:
    job = await api.job()

    answer = await api.ask("PATCH", f"/jobs/{job['id']}", {"description": "x"}, headers={"If-Match": tag})

    assert answer.status in {200, 400, 412}
