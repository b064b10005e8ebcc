from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tocsin.domain.json import Json, NotStorable, encoded
from tocsin.domain.templates import PLACEHOLDERS_LIMIT, MalformedTemplate, placeholders, rendered


@pytest.mark.parametrize(
    ("template", "outcome"),
    [
        ("{{ n }}", 3),
        ("{{n}}", 3),
        ("no {{ n }}", "no 3"),
        ("{{ n }} ", "3 "),
        ("{{ s }}/{{ o }}/{{ none }}/{{ yes }}", 'x/{"a":[1,"ü"]}/null/true'),
        (
            {"{{ n }}": ["{{ o }}", {"deep": "{{ s }}"}, 5, None]},
            {"{{ n }}": [{"a": [1, "ü"]}, {"deep": "x"}, 5, None]},
        ),
        ("{{{{ n }}", "{{ n }}"),
        ("{{{{{{ n }}", "{{3"),
        ("{ } }} {n}", "{ } }} {n}"),
        ("", ""),
    ],
)
def test_placeholders_give_way_to_results(template: object, outcome: object) -> None:
    results = {"n": 3, "s": "x", "o": {"a": [1, "ü"]}, "none": None, "yes": True}

    assert rendered(template, results, limit=1000) == outcome  # type: ignore[arg-type] # a table of JSON values


@pytest.mark.parametrize(
    "expression",
    [
        '{"a": {"b": {}}}',
        "'}}'",
        "\"}}\" + '}}'",
        r"'it\'s }}'",
        r"r'\' + '}}'",
        "'''it's }}'''",
        '"""say "}}" """',
        'event.data.items.map(i, {"id": i.id})',
    ],
)
def test_an_expression_may_hold_strings_and_braces_of_its_own(expression: str) -> None:
    assert placeholders(f"a {{{{{expression}}}}} b") == [expression]
    assert placeholders(f"{{{{ {expression} }}}}{{{{ x }}}}") == [expression, "x"]


@given(st.text(max_size=200))
def test_any_string_may_stand_in_an_expression(text: str) -> None:
    literal = json.dumps(text)

    assert placeholders(f"{{{{ {literal} }}}}") == [literal]


@given(st.text("{} a'"))
def test_any_text_can_be_told_with_doubled_braces(text: str) -> None:
    template = text.replace("{{", "{{{{")

    assert placeholders(template) == []
    assert rendered(template, {}, limit=1000) == text


def test_placeholders_are_listed_once_in_the_order_in_which_they_come() -> None:
    assert placeholders({"x": ["{{ b }}{{ a }}"], "y": "{{ b }}", "z": 1}) == ["b", "a"]


@pytest.mark.parametrize(
    ("template", "message"),
    [
        ("ab{{ c", "the placeholder at character 2 has no end"),
        ("{{ {'a': 1 }}", "the placeholder at character 0 has no end"),
        ("{{ 'a }}", None),
        ("{{  }}", "the placeholder at character 0 is empty"),
        ("{{" + "a" * 5000 + "}}", "the placeholder at character 0 has no end"),
        (["{{ a }}"] * (PLACEHOLDERS_LIMIT + 1), f"has more than {PLACEHOLDERS_LIMIT} placeholders"),
    ],
)
def test_what_is_malformed_is_refused(template: object, message: str | None) -> None:
    if message is None:
        # An open quote is left for whoever knows the language to complain about.
        assert placeholders(template) == ["'a"]  # type: ignore[arg-type] # a table of JSON values
        return
    with pytest.raises(MalformedTemplate, match=message):
        placeholders(template)  # type: ignore[arg-type] # a table of JSON values


@pytest.mark.parametrize("template", ["{{ s }}", "a{{ s }}", ["{{ s }}{{ s }}", {"x": "{{ s }}"}]])
def test_no_more_is_made_of_a_template_than_fits(template: object) -> None:
    size = 10 * json.dumps(template).count("{{")

    rendered(template, {"s": "x" * 10}, limit=size)  # type: ignore[arg-type] # a table of JSON values
    with pytest.raises(NotStorable, match=f"comes to more than {size - 1} bytes as JSON"):
        rendered(template, {"s": "x" * 10}, limit=size - 1)  # type: ignore[arg-type] # a table of JSON values


@given(st.lists(st.sampled_from(["s", "o", "n"]), max_size=20), st.integers(0, 500))
def test_a_template_is_made_whole_or_not_at_all_by_its_limit(names: list[str], limit: int) -> None:
    results: dict[str, Json] = {"s": "x" * 50, "o": {"a": [1] * 20}, "n": 3}
    size = sum(50 if name == "s" else len(encoded(results[name])) for name in names)

    try:
        outcome = rendered(["{{ " + name + " }}" for name in names], results, limit=limit)
    except NotStorable:
        assert size > limit
    else:
        assert size <= limit
        assert outcome == [results[name] for name in names]
