from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tocsin.domain.execution import ExecutionStatus

from .conftest import CommandLine

UNKNOWN = "019b76da-a800-7571-828f-1072bec44bc1"
TRACEPARENT = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
ESCALATE = '{"name": "escalate", "key": "escalate-{{ event.data.ticket }}", "handler_name": "tocsin.noop"}'
CALL = ("--call", "tocsin.noop")


def on(tocsin: CommandLine, *options: str) -> Any:  # noqa: ANN401 - a JSON object
    made = tocsin("events", "on", *options, "--json")
    assert made.code == 0, made.err
    return made.json


def sent(tocsin: CommandLine, *options: str) -> Any:  # noqa: ANN401 - a JSON object
    ended = tocsin("events", "send", *options, "--json")
    assert ended.code == 0, ended.err
    return ended.json


def handlers(tocsin: CommandLine) -> Any:  # noqa: ANN401 - a JSON list
    return tocsin("events", "handlers", "list", "--json").json["items"]


def test_an_event_is_acted_upon_only_where_the_filter_is_true(tocsin: CommandLine) -> None:
    handler = on(tocsin, "order.*", "--filter", "event.data.total > 100", *CALL)
    large = sent(tocsin, "order.created", "--data", '{"id": 7, "total": 150}', "--key", "order-7")
    small = sent(tocsin, "order.created", "--data", '{"id": 8, "total": 50}')
    shown = tocsin("events", "show", large["event_id"])
    passed = tocsin("events", "show", small["event_id"])

    assert (large["matched"], len(large["executions"]), small["matched"]) == (1, 1, 0)
    assert handler["id"] in shown.out
    assert f"1 execution {large['executions'][0]}" in shown.out
    assert "executions" in shown.out
    assert "filtered" in passed.out


def test_the_same_key_happens_once(tocsin: CommandLine) -> None:
    on(tocsin, "order.created", *CALL)
    first = sent(tocsin, "order.created", "--key", "order-7")
    again = tocsin("events", "send", "order.created", "--key", "order-7")

    assert first["event_id"] in again.out
    assert "nothing was done" in again.out
    assert len(tocsin("executions", "list", "--event", first["event_id"], "--json").json["items"]) == 1


def test_an_event_is_sent_with_all_that_can_be_said_of_it(tocsin: CommandLine) -> None:
    outcome = sent(
        *(tocsin, "order.created", "--source", "shop", "--subject", "order/7", "--time", "2025-12-31T23:00:00Z"),
        *("--correlation-id", "basket-1", "--traceparent", TRACEPARENT),
    )
    event = tocsin("events", "show", outcome["event_id"], "--json").json

    assert (event["source"], event["subject"], event["time"]) == ("shop", "order/7", "2025-12-31T23:00:00Z")
    assert (event["correlation_id"], event["parent_span_id"]) == ("basket-1", "00f067aa0ba902b7")
    assert event["trace_id"] == "4bf92f3577b34da6a3ce929d0e0e4736"


def test_an_execution_tells_of_which_event_it_came(tocsin: CommandLine) -> None:
    handler = on(tocsin, "order.created", *CALL)
    outcome = sent(tocsin, "order.created", "--traceparent", TRACEPARENT)
    shown = tocsin("executions", "show", outcome["executions"][0]).out

    assert outcome["event_id"] in shown
    assert handler["id"] in shown
    assert "4bf92f3577b34da6a3ce929d0e0e4736" in shown


def test_a_job_is_made_for_later_and_cancelled_by_its_key(tocsin: CommandLine) -> None:
    on(tocsin, "ticket.opened", "--create-job", ESCALATE, "--delay", "48h")
    on(tocsin, "ticket.resolved", "--cancel-key", "escalate-{{ event.data.ticket }}")
    sent(tocsin, "ticket.opened", "--data", '{"ticket": 7}')
    (made,) = tocsin.jobs()
    resolved = sent(tocsin, "ticket.resolved", "--data", '{"ticket": 7}')

    assert (made["key"], made["next_run"]) == ("escalate-7", "2026-01-03T00:00:00Z")
    assert [job["status"] for job in tocsin.jobs()] == ["cancelled"]
    assert f"1 job {made['id']}" in tocsin("events", "show", resolved["event_id"]).out


def test_a_job_is_run_by_its_name_with_a_payload_of_the_event(tocsin: CommandLine) -> None:
    job = tocsin.create()
    handler = on(tocsin, "order.created", "--run-job", "report", "--payload", '{"order": "{{ event.data.id }}"}')
    outcome = sent(tocsin, "order.created", "--data", '{"id": 7}')
    execution = tocsin("executions", "show", outcome["executions"][0], "--json").json

    assert handler["action"]["job_id"] == execution["job_id"] == job["id"]
    assert execution["payload"] == {"order": 7}


@pytest.mark.parametrize(
    ("options", "action"),
    [
        (
            ("--call", "tocsin.noop", "--set", "max_retries=5", "--set", "tags=a,b", "--payload", "{}"),
            {"type": "call", "handler_name": "tocsin.noop", "options": {"max_retries": 5, "tags": ["a", "b"]}},
        ),
        (
            ("--call-url", "https://example.com/", "--body", '{"id": "{{ event.data.id }}"}', "--expect", "202"),
            {
                "type": "call",
                "handler_type": "http",
                "payload": {
                    "method": "POST",
                    "url": "https://example.com/",
                    "body": {"id": "{{ event.data.id }}"},
                    "expect": [202],
                },
            },
        ),
        (("--call-command", "echo hi"), {"handler_type": "command", "payload": {"shell": "echo hi"}}),
        (("--cancel-key", "a", "--cancel-tag", "b", "--cancel-tag", "c"), {"key": "a", "tags": ["b", "c"]}),
        (("--cancel-tag", "b"), {"type": "cancel_jobs", "key": None, "tags": ["b"]}),
        (
            ("--publish", "order.large", "--data", '{"id": 7}', "--subject", "{{ event.subject }}"),
            {"type": "publish", "name": "order.large", "data": {"id": 7}, "subject": "{{ event.subject }}"},
        ),
        (
            ("--create-job", ESCALATE, "--on-job-conflict", "replace"),
            {"type": "create_job", "delay_seconds": 0, "on_conflict": "replace"},
        ),
    ],
)
def test_each_action_has_options_of_its_own(
    tocsin: CommandLine, options: tuple[str, ...], action: dict[str, Any]
) -> None:
    made = on(tocsin, "order.*", *options)["action"]

    assert made == made | action


def test_limits_are_written_as_people_say_them(tocsin: CommandLine) -> None:
    limits = ("--dedupe", "1h", "--rate-limit", "100/PT1H", "--flow-key", "event.subject")
    debounced = on(tocsin, "a", *CALL, *limits, "--debounce", "10s/5m")["flow"]
    throttled = on(tocsin, "b", *CALL, "--throttle", "5/1m")["flow"]
    batched = on(tocsin, "c", *CALL, "--batch", "50/10 seconds")["flow"]

    assert debounced == {
        "key": "event.subject",
        "dedupe_seconds": 3600,
        "rate_limit": {"limit": 100, "seconds": 3600},
        "throttle": None,
        "debounce": {"seconds": 10, "max_seconds": 300},
        "batch": None,
    }
    assert throttled["throttle"] == {"limit": 5, "seconds": 60}
    assert batched["batch"] == {"size": 50, "seconds": 10}


def test_a_definition_comes_whole_from_a_file(tocsin: CommandLine, tmp_path: Path) -> None:
    definition = {
        "event": "ticket.opened",
        "key": "escalation",
        "mode": "async",
        "flow": {"dedupe_seconds": 60},
        "action": {"type": "create_job", "delay": "48h", "job": json.loads(ESCALATE)},
    }
    (tmp_path / "handler.json").write_text(json.dumps(definition), "utf-8")
    made = on(tocsin, "--file", f"{tmp_path}/handler.json")
    piped = tocsin("events", "on", "--file", "-", "--on-conflict", "keep", "--json", stdin=json.dumps(definition))

    assert (made["action"]["delay_seconds"], made["flow"]["dedupe_seconds"]) == (172_800, 60)
    assert piped.json["id"] == made["id"]


def test_a_taken_key_is_a_conflict_unless_told_otherwise(tocsin: CommandLine) -> None:
    made = on(tocsin, "a", *CALL, "--key", "one")
    refused = tocsin("events", "on", "b", *CALL, "--key", "one")
    replaced = on(tocsin, "b", *CALL, "--key", "one", "--on-conflict", "replace")

    assert refused.code == 5
    assert f"tocsin events handlers show {made['id']}" in refused.err
    assert (replaced["id"], replaced["event"], replaced["version"]) == (made["id"], "b", 2)


def test_event_handlers_are_listed_with_what_came_of_them(tocsin: CommandLine) -> None:
    on(tocsin, "order.*", *CALL, "--set", "max_retries=0", "--key", "orders")
    on(tocsin, "page.*", "--cancel-tag", "stale", "--disabled", "--priority", "high")
    sent(tocsin, "order.created")
    tocsin.run_pending(ExecutionStatus.FAILED)
    listed = tocsin("events", "handlers", "list")
    active = tocsin("events", "handlers", "list", "--enabled", "--event", "order.*", "--json").json["items"]

    assert [each["event"] for each in handlers(tocsin)] == ["page.*", "order.*"]
    assert "cancel stale" in listed.out
    assert [(each["key"], each["matched"], each["failed"]) for each in active] == [("orders", 1, 1)]


def test_an_event_handler_is_changed_field_by_field(tocsin: CommandLine) -> None:
    on(tocsin, "a", *CALL, "--key", "one", "--filter", "true", "--debounce", "10s", "--dedupe", "1m")
    changed = tocsin(
        *("events", "handlers", "update", "one", "--event", "b", "--priority", "7", "--batch", "5/1m"),
        *("--unset", "flow.debounce", "--unset", "filter", "--action", '{"type": "cancel_jobs", "tags": ["x"]}'),
        "--json",
    ).json

    assert (changed["event"], changed["priority"], changed["filter"], changed["version"]) == ("b", 7, None, 2)
    assert (changed["flow"]["dedupe_seconds"], changed["flow"]["debounce"]) == (60, None)
    assert changed["flow"]["batch"] == {"size": 5, "seconds": 60}
    assert changed["action"] == {"type": "cancel_jobs", "key": None, "tags": ["x"]}


def test_an_event_handler_is_switched_off_and_on_and_removed(tocsin: CommandLine) -> None:
    handler = on(tocsin, "a", *CALL, "--key", "one")
    off = tocsin("events", "handlers", "disable", "one", "--json").json
    unheard = sent(tocsin, "a")
    again = tocsin("events", "handlers", "enable", handler["id"], "--expected-version", "2", "--json").json
    asked = tocsin("events", "handlers", "remove", "one")
    removed = tocsin("events", "handlers", "remove", "one", "--yes")

    assert (off["enabled"], unheard["matched"], again["enabled"]) == (False, 0, True)
    assert asked.code == 2
    assert removed.out == f"removed event handler {handler['id']}\n"
    assert handlers(tocsin) == []


def test_another_version_than_expected_is_a_conflict(tocsin: CommandLine) -> None:
    handler = on(tocsin, "a", *CALL)
    tocsin("events", "handlers", "disable", handler["id"])
    for change in (("--priority", "1"), ("--batch", "5/1m")):
        late = tocsin("events", "handlers", "update", handler["id"], *change, "--expected-version", "1")

        assert late.code == 5
        assert "tocsin events handlers show" in late.err


def test_events_are_listed_by_name_and_by_what_they_touched(tocsin: CommandLine) -> None:
    on(tocsin, "order.created", *CALL)
    for name, source in (("order.created", "shop"), ("order.lost", "shop"), ("page.viewed", "web")):
        sent(tocsin, name, "--source", source)

    def names(*options: str) -> list[str]:
        return [each["name"] for each in tocsin("events", "list", *options, "--json").json["items"]]

    assert names() == ["page.viewed", "order.lost", "order.created"]
    assert names("--matched") == ["order.created"]
    assert names("--unmatched", "--source", "web") == ["page.viewed"]
    assert names("--prefix", "order.", "--since", "2026-01-01") == ["order.lost", "order.created"]
    assert names("--until", "2025-12-31") == []
    assert "go on with --cursor" in tocsin("events", "list", "--limit", "1").err


def test_past_events_are_shown_to_a_new_handler_only_when_told_so(tocsin: CommandLine) -> None:
    for number in range(3):
        sent(tocsin, "order.created", "--data", json.dumps({"total": number}))
    tocsin.clock.advance(1)
    on(tocsin, "order.*", *CALL, "--filter", "event.data.total > 0", "--key", "late")
    replay = ("events", "replay", "late", "--since", "2026-01-01", "--until", "2026-01-02")
    tried = tocsin(*replay)
    before = tocsin("executions", "list", "--json").json["total"]
    done = tocsin(*replay, "--execute", "--json").json
    again = tocsin(*replay, "--execute", "--json").json

    assert "would act upon" in tried.out
    assert "--execute does it" in tried.err
    assert before == 0
    assert (done["seen"], done["acted"], done["filtered"]) == (3, 2, 1)
    assert (again["acted"], again["known"]) == (0, 2)


def test_names_and_data_are_shown_and_never_obeyed(tocsin: CommandLine) -> None:
    outcome = sent(tocsin, "order.created", "--source", "\x1b[2Jshop", "--data", '{"a": "\\u001b[2J"}')

    for shown in (tocsin("events", "show", outcome["event_id"]), tocsin("events", "list")):
        assert r"\x1b[2Jshop" in shown.out
        assert "\x1b" not in shown.out


@pytest.mark.parametrize("command", [("show",), ("update", "--priority", "1"), ("enable",), ("remove", "--yes")])
@pytest.mark.parametrize("reference", [UNKNOWN, "no such handler"])
def test_an_event_handler_that_does_not_exist_is_not_found(
    tocsin: CommandLine, command: tuple[str, ...], reference: str
) -> None:
    name, *options = command
    ended = tocsin("events", "handlers", name, reference, *options)

    assert (ended.code, ended.out) == (4, "")
    assert "EVENT_HANDLER_NOT_FOUND" in ended.err
    assert "tocsin events handlers list" in ended.err


@pytest.mark.parametrize("reference", [UNKNOWN, "no such event", ""])
def test_an_event_that_does_not_exist_is_not_found(tocsin: CommandLine, reference: str) -> None:
    ended = tocsin("events", "show", reference)

    assert (ended.code, ended.out) == (4, "")
    assert "tocsin events list" in ended.err


def test_a_handler_of_an_unknown_job_is_refused(tocsin: CommandLine) -> None:
    assert tocsin("events", "on", "a", "--run-job", "no such job").code == 4
    assert tocsin("events", "on", "a", "--run-job", UNKNOWN).code == 4
    assert handlers(tocsin) == []


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ((), "event: is required: a pattern such as order.*"),
        (("a",), "action: give exactly one of --call, --call-url"),
        (("a", *CALL, "--publish", "b"), "action: give exactly one of"),
        (("a", *CALL, "--cancel-tag", "b"), "action: give exactly one of"),
        (("a", *CALL, "--delay", "1h"), "action.delay: --delay goes with --create-job"),
        (("a", *CALL, "--method", "GET"), "action.method: --method goes with --call-url"),
        (("a", "--publish", "b", "--set", "x=1"), "action.set: --set goes with --call and --call-url and"),
        (("a", "--publish", "b", "--payload", "{}"), "action.payload: --payload goes with --call and --run-job"),
        (("a", "--cancel-key", ""), "action.key: must have between 1"),
        (("a", "--create-job", "{"), "action.job: must be JSON"),
        (("a", "--create-job", "[]"), "action.job: must be an object"),
        (("a", "--create-job", "{}"), "action.job.name: is required"),
        (("a", "--create-job", ESCALATE, "--delay", "soon"), "action.delay: 'soon' is not a length of time"),
        (("a", "--call", "unknown"), "handler_name: no handler is named 'unknown'"),
        (("a", *CALL, "--payload", "{"), "action.payload: must be JSON"),
        (("a", *CALL, "--set", "schedule=@daily"), "action.options.schedule: is no field that may be given here"),
        (("a..b", *CALL), "event: must be a pattern"),
        (("a", *CALL, "--filter", "event.("), "filter: "),
        (("a", *CALL, "--priority", "urgent"), "priority: 'urgent' is not a whole number between 0 and 100"),
        (("a", *CALL, "--throttle", "5"), "flow.throttle: '5' is not COUNT/LENGTH, such as 5/1m"),
        (("a", *CALL, "--batch", "many/10s"), "flow.batch: 'many/10s' is not COUNT/LENGTH"),
        (("a", *CALL, "--batch", "1/10s"), "flow.batch.size: must be between 2 and 1000"),
        (("a", *CALL, "--debounce", "1h/1s"), "flow.debounce.max_seconds: must be between 3600"),
        (("a", *CALL, "--dedupe", "often"), "flow.dedupe_seconds: 'often' is not a length of time"),
        (("a", *CALL, "--debounce", "1s", "--batch", "5/1s"), "flow: takes only one of debounce, batch"),
        (("a", *CALL, "--debounce", "1s", "--mode", "sync"), "mode: cannot be sync beside debounce"),
        (("a", *CALL, "--file", "x.json"), "file: says everything"),
        (("--file", "no/such/file"), "file: cannot read no/such/file"),
    ],
)
def test_an_event_handler_out_of_bounds_is_refused_naming_field_and_bound(
    tocsin: CommandLine, arguments: tuple[str, ...], expected: str
) -> None:
    ended = tocsin("events", "on", *arguments)

    assert (ended.code, ended.out) == (2, "")
    assert f"\n  {expected}" in ended.err
    assert handlers(tocsin) == []


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        ("{", "file: is not JSON"),
        ("[]", "file: must be a JSON object"),
        ('{"event": "a", "event": "b"}', "file: is not JSON: 'event' is given twice"),
        ("{}", "event: is missing"),
        ('{"event": "a"}', "action: is missing"),
        ('{"event": "a", "action": 7}', "action: must be an object"),
        ('{"event": "a", "action": {"type": "sing"}}', "action: type must be one of run_job"),
        ('{"event": "a", "action": {"type": []}}', "action: type must be one of run_job"),
        ('{"event": 7, "action": {"type": "publish", "name": "b"}}', "event: must be a text"),
        ('{"event": "a", "colour": 1, "action": {}}', "colour: is not a known field"),
        ('{"event": "a", "every_tenant": true, "action": {}}', "every_tenant: is not a known field"),
        ('{"event": "a", "action": {"type": "publish", "nam": "b"}}', "action.nam: is not a known field"),
        ('{"event": "a", "action": {"type": "call", "job_id": "x"}}', "action.job_id: is not a known field"),
        ('{"event": "a", "action": {"type": "run_job", "job_id": "x"}}', "action.job_id: "),
        ('{"event": "a", "flow": {"batch": {"count": 1}}}', "flow.batch.count: is not a known field"),
        ('{"event": "a", "flow": 7, "action": {"type": "publish", "name": "b"}}', "flow: must be an object"),
        (
            '{"event": "a", "action": {"type": "create_job", "job": {}, "delay": "1h", "delay_seconds": 1}}',
            "action.delay_seconds: cannot go with delay",
        ),
        (
            '{"event": "a", "action": {"type": "create_job", "job": {}, "delay": 1.5}}',
            "action.delay_seconds: must be a whole number",
        ),
        (
            '{"event": "a", "action": {"type": "create_job", "job": {}, "delay": "soon"}}',
            "action.delay: 'soon' is not a length of time",
        ),
    ],
)
def test_a_file_that_is_no_definition_is_refused_naming_the_field(
    tocsin: CommandLine, document: str, expected: str
) -> None:
    ended = tocsin("events", "on", "--file", "-", stdin=document)

    assert (ended.code, ended.out) == (2, "")
    assert f"\n  {expected}" in ended.err


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ((), "handler: name a change"),
        (("--unset", "event"), "event: cannot be emptied; expected one of name, key, filter, flow.key"),
        (("--unset", "name", "--name", "x"), "name: is both set and emptied"),
        (("--unset", "flow.batch", "--batch", "5/1m"), "flow.batch: is both set and emptied"),
        (("--action", "{"), "action: is not JSON"),
        (("--action", '{"type": "sing"}'), "action: type must be one of"),
        (("--priority", "101"), "priority: must be between 0 and 100"),
        (("--event", ""), "event: must be a pattern"),
    ],
)
def test_a_bad_update_leaves_the_event_handler_as_it_was(
    tocsin: CommandLine, options: tuple[str, ...], expected: str
) -> None:
    handler = on(tocsin, "a", *CALL)
    ended = tocsin("events", "handlers", "update", handler["id"], *options)

    assert (ended.code, ended.out) == (2, "")
    assert f"\n  {expected}" in ended.err
    assert handlers(tocsin) == [handler]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("send",), "name: is required, such as order.created; or --file"),
        (("send", "a b"), "name: must have 1 to 255 characters"),
        (("send", "tocsin.job.created"), "name: names of this kind are kept"),
        (("send", "a", "--data", "{"), "data: must be JSON"),
        (("send", "a", "--key", ""), "idempotency_key: must have between 1 and 255"),
        (("send", "a", "--time", "soon"), "time: 'soon' is not an instant"),
        (("send", "a", "--traceparent", "x"), "traceparent: is malformed"),
        (("send", "a", "--after", "1"), "after: goes with --file"),
        (("send", "a", "--file", "x"), "file: says everything"),
        (("send", "--file", "no/such/file"), "file: cannot read no/such/file"),
        (("send", "--file", "."), "file: cannot read .: Is a directory"),
        (("list", "--limit", "251"), "limit: must be between 1 and 250"),
        (("list", "--since", "x"), "since: 'x' is not an instant"),
        (("list", "--cursor", "x"), "cursor: "),
        (("handlers", "list", "--limit", "0"), "limit: must be between 1 and 250"),
        (("replay", UNKNOWN, "--since", "x"), "since: 'x' is not an instant"),
    ],
)
def test_bad_options_are_refused_naming_field_and_bound(
    tocsin: CommandLine, arguments: tuple[str, ...], expected: str
) -> None:
    ended = tocsin("events", *arguments)

    assert (ended.code, ended.out) == (2, "")
    assert f"\n  {expected}" in ended.err
    assert "INVALID_JOB" not in ended.err


def test_a_replay_the_wrong_way_round_is_refused(tocsin: CommandLine) -> None:
    handler = on(tocsin, "a", *CALL)
    ended = tocsin("events", "replay", handler["id"], "--since", "2026-01-02", "--until", "2026-01-01")

    assert ended.code == 2
    assert "since: must be earlier than until" in ended.err


@pytest.mark.parametrize(
    "arguments",
    [
        ("on", "a", *CALL, "--mode", "later"),
        ("on", "a", *CALL, "--on-conflict", "fight"),
        ("show",),
        ("replay", UNKNOWN),
        ("handlers", "show"),
        ("handlers", "nothing"),
    ],
)
def test_a_command_line_that_cannot_be_read_is_a_usage_error(tocsin: CommandLine, arguments: tuple[str, ...]) -> None:
    ended = tocsin("events", *arguments)

    assert (ended.code, ended.out) == (2, "")
    assert "\nError: " in ended.err


@pytest.mark.parametrize(("total", "matches"), [(150, True), (50, False)])
def test_a_filter_is_tried_before_a_handler_is_made_of_it(tocsin: CommandLine, total: int, matches: bool) -> None:  # noqa: FBT001
    arguments = ("events", "test", "order.created", "--on", "order.*", "--filter", "event.data.total > 100")
    sample = ("--data", json.dumps({"total": total}))

    tried = tocsin(*arguments, *sample, "--json")
    read = tocsin(*arguments, *sample)

    assert tried.json == {"matches": matches, "name_matches": True, "result": matches, "error": None}
    assert re.search(rf"matches +{'yes' if matches else 'no'}", read.out)


def test_a_filter_that_is_none_is_told_when_it_is_tried(tocsin: CommandLine) -> None:
    read = tocsin("events", "test", "order.created", "--filter", "event.data.total >")

    assert read.code == 0
    assert "must be CEL" in read.out
