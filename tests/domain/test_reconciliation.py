from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from random import Random
from typing import Final
from uuid import UUID

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tocsin.domain.errors import InvalidInput
from tocsin.domain.json import Json
from tocsin.domain.ownership import Owner
from tocsin.domain.reconciliation import (
    Declaration,
    Fate,
    FieldChange,
    Standing,
    Step,
    Terms,
    is_same,
    prunes_everything,
    reconcile,
)

DEFAULTS: Final[dict[str, Json]] = {"priority": 50, "tags": []}
TERMS: Final = Terms(scope="reports", defaults=DEFAULTS)
OURS: Final = Owner(scope="reports")
OTHERS: Final = Owner(scope="billing")


def declared(key: str = "a", *, is_whole: bool = True, **fields: Json) -> Declaration:
    return Declaration(key=key, handler_name="send", is_whole=is_whole, fields={"handler_name": "send", **fields})


def standing(key: str = "a", *, number: int = 1, owner: Owner | None = OURS, **fields: Json) -> Standing:
    every = {"handler_name": "send", **DEFAULTS, **fields}
    return Standing(id=UUID(int=number), version=3, key=key, handler_name="send", owner=owner, fields=every)


def only(steps: Sequence[Step]) -> Step:
    [step] = steps
    return step


def fates(steps: Sequence[Step]) -> dict[str, Fate]:
    return {step.key: step.fate for step in steps}


def after(steps: Sequence[Step], before: Sequence[Standing]) -> list[Standing]:
    """What stands once the steps are taken, as a store would have it."""
    untouched = {each.id: each for each in before}
    largest = max((each.id.int for each in before), default=0)
    for position, step in enumerate(steps, start=1):
        changes = {change.field: change.after for change in step.changes}
        if step.fate is Fate.CREATE and step.declaration is not None:
            fields = {**DEFAULTS, "enabled": True, **step.declaration.fields}
            made = UUID(int=largest + position)
            untouched[made] = Standing(
                id=made,
                version=1,
                key=step.key,
                handler_name=step.declaration.handler_name,
                fields=fields,
                owner=step.owner,
            )
        elif step.fate is Fate.CHANGE and step.standing is not None:
            fields = {**step.standing.fields, **changes}
            untouched[step.standing.id] = replace(
                step.standing, fields=fields, owner=step.owner, handler_name=str(fields["handler_name"])
            )
        elif step.fate is Fate.PRUNE and step.standing is not None:
            del untouched[step.standing.id]
    return list(untouched.values())


keys = st.sampled_from("abc")
handlers = st.sampled_from(["send", "sum"])
values = st.one_of(st.integers(0, 2), st.booleans(), st.none(), st.lists(st.integers(0, 1), max_size=1))
stated: st.SearchStrategy[dict[str, Json]] = st.fixed_dictionaries(
    {}, optional={"priority": st.integers(49, 51), "tags": st.just(["x"]), "enabled": st.booleans(), "payload": values}
)


@st.composite
def a_declaration(draw: st.DrawFn) -> Declaration:
    is_whole, handler = draw(st.booleans()), draw(handlers)
    fields: dict[str, Json] = {"payload": 0, **(DEFAULTS if is_whole else {}), **draw(stated), "handler_name": handler}
    return Declaration(key=draw(keys), handler_name=handler, fields=fields, is_whole=is_whole)


@st.composite
def a_standing(draw: st.DrawFn) -> Standing:
    handler = draw(handlers)
    part = frozenset(draw(st.sets(st.sampled_from(["priority", "tags", "payload"]))))
    owner = draw(st.sampled_from([None, OURS, OTHERS, Owner(scope="reports", stated=part)]))
    fields: dict[str, Json] = {"payload": 0, **DEFAULTS, **draw(stated), "handler_name": handler}
    key = draw(st.one_of(st.none(), keys))
    return Standing(id=draw(st.uuids()), version=1, key=key, handler_name=handler, fields=fields, owner=owner)


worlds = st.tuples(
    st.lists(a_declaration(), max_size=5, unique_by=lambda each: (each.key, each.handler_name)),
    # Two jobs may not have one key and one handler, but any number may have no key.
    st.lists(a_standing(), max_size=6, unique_by=lambda each: (each.key or each.id, each.handler_name)),
    st.builds(Terms, scope=st.just("reports"), defaults=st.just(DEFAULTS), prune=st.booleans(), adopt=st.booleans()),
)
World = tuple[list[Declaration], list[Standing], Terms]


@given(world=worlds)
def test_a_second_time_changes_nothing(world: World) -> None:
    wanted, before, terms = world
    first = reconcile(wanted, before, terms)

    again = reconcile(wanted, after(first, before), terms)

    assert not [step for step in again if step.does_something]


@given(world=worlds)
def test_what_others_made_is_never_pruned(world: World) -> None:
    wanted, before, terms = world

    steps = reconcile(wanted, before, terms)

    for step in steps:
        if step.fate in {Fate.PRUNE, Fate.LEFT_OVER}:
            assert step.standing is not None
            assert step.standing.owner is not None
            assert step.standing.owner.scope == terms.scope


@given(world=worlds, chance=st.randoms(use_true_random=False))
def test_the_order_does_not_matter(world: World, chance: Random) -> None:
    wanted, before, terms = world
    steps = reconcile(wanted, before, terms)

    chance.shuffle(wanted)
    chance.shuffle(before)

    assert sorted(reconcile(wanted, before, terms), key=repr) == sorted(steps, key=repr)


@given(world=worlds)
def test_each_declaration_has_one_step_and_nothing_is_touched_twice(world: World) -> None:
    wanted, before, terms = world

    steps = reconcile(wanted, before, terms)

    of_declarations = [step.declaration for step in steps if step.declaration is not None]
    assert sorted(map(repr, of_declarations)) == sorted(map(repr, wanted))
    touched = [step.standing.id for step in steps if step.standing is not None]
    assert len(touched) == len(set(touched))


@given(world=worlds)
def test_without_leave_nothing_of_another_scope_is_changed(world: World) -> None:
    wanted, before, terms = world
    assume(not terms.adopt)

    for step in reconcile(wanted, before, terms):
        if step.fate is Fate.CHANGE and step.standing is not None:
            assert step.standing.owner is None or step.standing.owner.scope == terms.scope


@given(world=worlds)
def test_what_was_never_stated_stays_as_people_left_it(world: World) -> None:
    wanted, before, terms = world

    for step in reconcile(wanted, before, terms):
        if step.declaration is None or step.standing is None:
            continue
        owner = step.standing.owner
        once = (owner.stated or frozenset()) if owner is not None and owner.scope == terms.scope else frozenset()
        assert {change.field for change in step.changes} <= set(step.declaration.fields) | once


def test_what_is_not_there_is_created() -> None:
    step = only(reconcile([declared(priority=60)], [], TERMS))

    assert (step.fate, step.owner) == (Fate.CREATE, OURS)


def test_a_change_tells_each_field_before_and_after() -> None:
    step = only(reconcile([declared(priority=60, tags=[])], [standing()], TERMS))

    assert step.fate is Fate.CHANGE
    assert step.changes == [FieldChange(field="priority", before=50, after=60)]


def test_a_field_that_code_states_no_more_has_its_default_again() -> None:
    ours = Owner(scope="reports", stated=frozenset({"handler_name", "priority"}))

    step = only(reconcile([declared(is_whole=False)], [standing(owner=ours, priority=99)], TERMS))

    assert step.changes == [FieldChange(field="priority", before=99, after=50)]


def test_a_field_that_code_never_stated_is_left_to_people() -> None:
    ours = Owner(scope="reports", stated=frozenset({"handler_name"}))

    step = only(reconcile([declared(is_whole=False)], [standing(owner=ours, priority=99)], TERMS))

    assert step.fate is Fate.KEEP


def test_what_a_person_made_is_changed_but_not_owned_by_it() -> None:
    step = only(reconcile([declared(priority=60)], [standing(owner=None)], TERMS))

    assert (step.fate, step.owner) == (Fate.CHANGE, None)


def test_what_another_scope_made_is_in_the_way_only_if_it_differs() -> None:
    theirs = standing(owner=OTHERS)

    assert only(reconcile([declared(priority=60)], [theirs], TERMS)).fate is Fate.CONFLICT
    assert only(reconcile([declared(priority=50)], [theirs], TERMS)).fate is Fate.KEEP


def test_what_others_made_can_be_adopted_even_if_nothing_else_differs() -> None:
    step = only(reconcile([declared()], [standing(owner=OTHERS)], replace(TERMS, adopt=True)))

    assert (step.fate, step.owner, step.takes_over) == (Fate.CHANGE, OURS, True)


def test_a_job_whose_handler_is_renamed_stays_the_same_job() -> None:
    renamed = Declaration(key="a", handler_name="sum", fields={"handler_name": "sum"})

    step = only(reconcile([renamed], [standing()], TERMS))

    assert step.changes == [FieldChange(field="handler_name", before="send", after="sum")]


def test_the_same_key_of_another_handler_is_another_job() -> None:
    other = Declaration(key="a", handler_name="sum", fields={"handler_name": "sum"})

    assert only(reconcile([other], [standing(owner=None)], TERMS)).fate is Fate.CREATE


def test_what_is_no_longer_declared_goes_on_until_somebody_asks_to_prune() -> None:
    before = [standing("a"), standing("b", number=2), standing("c", number=3, owner=None)]

    assert fates(reconcile([declared("a")], before, TERMS)) == {"a": Fate.KEEP, "b": Fate.LEFT_OVER}
    assert fates(reconcile([declared("a")], before, replace(TERMS, prune=True))) == {"a": Fate.KEEP, "b": Fate.PRUNE}


def test_pruning_all_that_a_scope_made_is_told_apart() -> None:
    before = [standing("a"), standing("b", number=2)]
    terms = replace(TERMS, prune=True)

    assert prunes_everything(reconcile([declared("c")], before, terms), "reports")
    assert not prunes_everything(reconcile([declared("a")], before, terms), "reports")
    assert not prunes_everything(reconcile([], [], terms), "reports")


def test_a_key_that_is_declared_twice_is_refused() -> None:
    with pytest.raises(InvalidInput, match="'a' is declared twice"):
        reconcile([declared(priority=1), declared(priority=2)], [], TERMS)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (1, 1.0, True),
        (1, True, False),
        (0, False, False),
        ("1", 1, False),
        ([1], (1,), True),
        ([1], [True], False),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, True),
        ({"a": 1}, {"a": True}, False),
        ({"a": 1}, {"A": 1}, False),
        ([], {}, False),
        (None, False, False),
        ("", [], False),
    ],
)
def test_documents_are_the_same_if_they_say_the_same(one: Json, other: Json, same: bool) -> None:  # noqa: FBT001
    assert is_same(one, other) is same
    assert is_same(other, one) is same
