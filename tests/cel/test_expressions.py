from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tocsin.adapters.cel import CelExpressions, open_cel
from tocsin.domain.errors import InvalidEventHandler
from tocsin.domain.json import Json
from tocsin.ports.expressions import EXPRESSION_LIMIT, Failed

DATA: Json = {
    "amount": 120,
    "rate": 1.5,
    "currency": "EUR",
    "secret": "hunter2",
    "tags": ["new", "big"],
    "items": [{"sku": "a", "n": 1}, {"sku": "b", "n": 3}],
    "none": None,
}
EVENT: Json = {"name": "order.created", "time": "2026-03-01T12:00:00Z", "subject": "o-7", "data": DATA}


@pytest.fixture
async def cel() -> AsyncIterator[CelExpressions]:
    async with open_cel() as expressions:
        yield expressions


async def of(cel: CelExpressions, expression: str, event: Json = EVENT) -> Json | Failed:
    [outcome] = await cel.evaluate([expression], {"event": event})
    return outcome


WORKS = {
    "event.data.amount > 100 && event.data.currency == 'EUR'": True,
    "event.data.amount > 99.5": True,
    "event.data['amount'] + 1": 121,
    "event.data.items[1].sku": "b",
    "has(event.data.coupon)": False,
    "has(event.data.coupon) ? event.data.coupon : 'none'": "none",
    "event.data.missing == 1 || event.data.amount == 120": True,
    "'new' in event.data.tags": True,
    "'amount' in event.data": True,
    "event.data.none == null": True,
    "event.name.startsWith('order.') && event.subject.endsWith('7') && event.name.contains('.')": True,
    "size(event.data.tags)": 2,
    "event.data.currency + '-' + string(event.data.amount)": "EUR-120",
    "int('5') + int(2.9) + int(double('1'))": 8,
    "timestamp(event.time) + duration('90m')": "2026-03-01T13:30:00+00:00",
    "timestamp(event.time) - timestamp('2026-03-01T11:59:00Z')": 60.0,
    "timestamp(event.time).getFullYear()": 2026,
    "timestamp(event.time).getDayOfWeek()": 0,
    "type(event.data) == map": True,
    "[1, 2] + [3]": [1, 2, 3],
    "{'key': event.subject}": {"key": "o-7"},
    "optional.of(event.subject).orValue('x')": "o-7",
    "0.0 / 0.0": None,
    "18446744073709551615u": 18446744073709551615,
    "event.data.items.all(i, i.n > 0)": True,
    "event.data.items.exists(i, i.n == 3)": True,
    "event.data.items.exists_one(i, i.n == 3)": True,
    "event.data.items.map(i, i.sku)": ["a", "b"],
    "event.data.items.filter(i, i.n > 1).map(i, i.sku)[0]": "b",
    "[duration('90s'), timestamp(event.time) - timestamp(event.time)].map(d, d)": [90.0, 0.0],
    "event.name.matches('^order[.][a-z]+$')": True,
    "event.data.currency.lowerAscii()": "eur",
    "event.name.split('.')[1].upperAscii().substring(0, 3)": "CRE",
    "math.greatest(event.data.amount, 7)": 120,
    "event.data.items.map(i, i.n).sort()": [1, 3],
}


@pytest.mark.parametrize(("expression", "value"), WORKS.items())
async def test_a_standard_expression_has_its_value_and_passes_the_check(
    cel: CelExpressions, expression: str, value: Json
) -> None:
    cel.check("filter", expression)

    assert await of(cel, expression) == value


FAILS = {
    "event.data.coupon": "there is no field coupon",
    "event.data[event.data.secret]": "a field is missing",
    "event.data.tags[9]": "a list has no such position",
    "event.data.amount / 0": "division by zero",
    "event.data.amount % 0": "division by zero",
    "9223372036854775807 + event.data.amount": "a number is out of range",
    "event.data.secret + 1": "string + int is not defined, and nothing is converted",
    "event.data.amount + event.data.rate": (
        "an operator or a function is given values of a type that it does not take"
    ),
    "int(event.data.secret)": "int() cannot work with the value that it is given",
    "timestamp(event.data.secret)": "timestamp() cannot work with the value that it is given",
    "event.data.secret.matches('(')": "matches() cannot work with the value that it is given",
    "[event.data.secret].map(x, bool(x))[0]": "bool() cannot work with the value that it is given",
    "handlers.name": "handlers is unknown, or does not take such values",
    "size(event.data.amount)": "size is unknown, or does not take such values",
    "bytes(event.data.secret)": "a bytes has no JSON form",
    "[bytes(event.data.secret)].map(x, x)": "a bytes has no JSON form",
    "event.data.amount ==": "line 1, column 21: the expression ends too early",
}


@pytest.mark.parametrize(("expression", "reason"), FAILS.items())
async def test_a_failure_is_told_without_any_data(cel: CelExpressions, expression: str, reason: str) -> None:
    assert await of(cel, expression) == Failed(reason)


REFUSED = {
    "": "filter: must not be empty",
    " \n": "filter: must not be empty",
    "1" + "+1" * (EXPRESSION_LIMIT // 2): f"filter: must be at most {EXPRESSION_LIMIT} characters",
    "event.data.x = 1": "filter: must be CEL: line 1, column 14: there is no such symbol: '= '",
    "event.data.x and true": "filter: must be CEL: line 1, column 14: mismatched input 'and'",
    "event.a\n  == (1": "filter: must be CEL: line 2, column 8: missing ')' at the end",
    "(" * 200 + "1" + ")" * 200: "filter: must be CEL: it nests too deep",
    "\ud800": "filter: must be CEL: this is no text that can be read",
    "data.x == 1": "filter: must be CEL over event: data is unknown",
    "event.data.l.all(x, x > y)": "filter: must be CEL over event: y is unknown",
    "event.name.lower()": "filter: must be CEL over event: lower() is unknown",
    "true || nosuch": "filter: must be CEL over event: nosuch is unknown",
}


@pytest.mark.parametrize(("expression", "message"), REFUSED.items())
async def test_what_can_never_be_evaluated_is_refused(cel: CelExpressions, expression: str, message: str) -> None:
    with pytest.raises(InvalidEventHandler) as refused:
        cel.check("filter", expression)

    assert str(refused.value) == message


async def test_answers_come_in_the_order_asked_and_the_same_question_has_the_same_answer(cel: CelExpressions) -> None:
    asked = ["event.subject", "event.data.tags.map(t, t)", "(", "event.data.amount", "event.subject"]

    outcomes = await cel.evaluate(asked, {"event": EVENT})

    assert outcomes[0] == outcomes[4] == "o-7"
    assert outcomes[1] == ["new", "big"]
    assert isinstance(outcomes[2], Failed)
    assert outcomes[3] == 120


async def test_an_expression_over_a_handler_and_its_event(cel: CelExpressions) -> None:
    [outcome] = await cel.evaluate(["events[0].name + event.subject"], {"event": EVENT, "events": [{"name": "h/"}]})

    assert outcome == "h/o-7"


async def test_a_result_larger_than_a_payload_is_a_failure(cel: CelExpressions) -> None:
    large: Json = {"data": "x" * 200_000}

    outcomes = await cel.evaluate(["event.data + event.data", "[1, 2].map(i, event.data)"], {"event": large})

    assert outcomes == [Failed("the value takes more than 262144 bytes as JSON")] * 2


def nested(levels: int) -> Json:
    value: Json = 1
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize(
    "data",
    ["\ud800", 10**400, nested(120), nested(900), nested(100_000), [0] * 3000 + [nested(5000)], {"k\udfff": 1}, {1, 2}],
    ids=["surrogate", "large integer", "120 levels", "900 levels", "100000 levels", "late levels", "key", "a set"],
)
async def test_data_that_cannot_be_read_are_a_failure(cel: CelExpressions, data: Json) -> None:
    outcomes = await cel.evaluate(["event.data == 1", "[1].all(x, x == event.data)"], {"event": {"data": data}})

    assert all(isinstance(outcome, Failed) for outcome in outcomes)
    assert await of(cel, "event.subject") == "o-7"


async def test_large_data_are_evaluated_over_elsewhere(cel: CelExpressions) -> None:
    assert await of(cel, "event.data[29999]", {"data": list(range(30_000))}) == 29_999


async def test_every_reason_is_short(cel: CelExpressions) -> None:
    name = "x" * 900

    outcome = await of(cel, f"event.data.{name}")

    assert isinstance(outcome, Failed)
    assert len(outcome.reason) == 300


ATOMS = st.sampled_from(
    [
        "event",
        "event.data",
        "event.data.tags",
        "event.data.none",
        "event.name",
        "1",
        "-1",
        "0",
        "2.5",
        "1u",
        "'a'",
        "b'a'",
        "null",
        "true",
        "[]",
        "{}",
        "x",
        "9223372036854775807",
        "1e308",
        "timestamp(event.time)",
        "duration('1h')",
        "[1,'a']",
        "{'a':1}",
        "optional.none()",
        "int",
        "uint",
    ]
)
OPERATORS = st.sampled_from(["+", "-", "*", "/", "%", "==", "!=", "<", "<=", ">", ">=", "&&", "||", "in"])
CALLS = st.sampled_from(
    [
        "size",
        "string",
        "int",
        "uint",
        "double",
        "bytes",
        "type",
        "dyn",
        "timestamp",
        "duration",
        "min",
        "max",
        "sum",
        "abs",
        "getHours",
        "reverse",
        "sort",
        "first",
        "flatten",
        "distinct",
        "trim",
        "bool",
        "math.abs",
        "math.sqrt",
        "math.bitNot",
        "lists.range",
        "base64.encode",
        "nosuch",
    ]
)
MACROS = st.sampled_from(["all", "exists", "exists_one", "map", "filter"])


def grown(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        st.builds("({} {} {})".format, inner, OPERATORS, inner),
        st.builds("{}({})".format, CALLS, inner),
        st.builds("{}.{}(x, {})".format, inner, MACROS, inner),
        st.builds("({} ? {} : {})".format, inner, inner, inner),
        st.builds("{}[{}]".format, inner, inner),
        st.builds("[{}, {}]".format, inner, inner),
        st.builds("{{{}: {}}}".format, inner, inner),
        st.builds("{}.split({})".format, inner, inner),
        st.builds("{}.matches({})".format, inner, inner),
        st.builds("!{}".format, inner),
        st.builds("-{}".format, inner),
    )


SYMBOLS = st.text("ev.[]{}()'\"\\+!x1 &|?:")
SOMETHING = st.one_of(
    st.recursive(ATOMS, grown, max_leaves=12), st.text(max_size=30), st.text("ev.[]{}()'\"\\+!x1 &|?:")
)


async def test_no_expression_whatever_raises(cel: CelExpressions) -> None:
    asked: list[str] = []

    @settings(max_examples=400, deadline=None, database=None)
    @given(SOMETHING)
    def collect(expression: str) -> None:
        asked.append(expression)

    collect()
    outcomes = await cel.evaluate(asked, {"event": EVENT})

    assert len(outcomes) == len(asked)
    assert all(len(outcome.reason) <= 300 for outcome in outcomes if isinstance(outcome, Failed))
    assert not any("crashed" in outcome.reason for outcome in outcomes if isinstance(outcome, Failed))
