"""What is sold at the shop: orders that come in as events, and the standing rules about them."""

from __future__ import annotations

from typing import Any, Final

from playwright.sync_api import APIRequestContext

RULES: Final[tuple[dict[str, Any], ...]] = (
    {
        "key": "large-orders",
        "name": "Look at large orders",
        "event": "order.*",
        "filter": "event.data.total > 100",
        "priority": 90,
        "action": {"type": "call", "handler_name": "shop.steady"},
    },
    {
        "key": "abandoned",
        "name": "Remind of an abandoned cart",
        "event": "cart.left",
        "action": {
            "type": "create_job",
            "delay": "48h",
            "job": {
                "name": "Remind {{ event.data.customer }}",
                "key": "remind-{{ event.data.customer }}",
                "handler_name": "shop.steady",
            },
        },
    },
    {
        "key": "bought-after-all",
        "event": "order.created",
        "filter": "has(event.data.customer)",
        "action": {"type": "cancel_jobs", "key": "remind-{{ event.data.customer }}"},
    },
    {
        "key": "tell-warehouse",
        "name": "Tell the warehouse",
        "event": "order.paid",
        "action": {"type": "publish", "name": "warehouse.pick", "data": {"order": "{{ event.data.id }}"}},
    },
    {
        "key": "refunds",
        "name": "Refunds of more than a percent",
        "event": "order.refunded",
        "filter": "event.data.refund / event.data.total > 0.01",
        "action": {"type": "call", "handler_name": "shop.steady"},
        "enabled": False,
    },
)

EVENTS: Final[tuple[dict[str, Any], ...]] = (
    {"name": "cart.left", "data": {"customer": "ada", "items": 3}},
    {"name": "cart.left", "data": {"customer": "grace", "items": 1}},
    {"name": "order.created", "data": {"id": 4711, "total": 249.9, "customer": "ada"}, "subject": "order/4711"},
    {"name": "order.created", "data": {"id": 4712, "total": 18.5, "customer": "edsger"}, "subject": "order/4712"},
    {"name": "order.paid", "data": {"id": 4711, "total": 249.9}, "subject": "order/4711", "source": "bank"},
    {"name": "order.paid", "data": {"id": 4713}, "subject": "order/4713", "source": "bank"},
    {"name": "stock.low", "data": {"article": "A-17", "left": 2}, "source": "warehouse"},
)


def trade(shop: APIRequestContext) -> None:
    """Have a shop know its rules, and get the same few orders; doing it again changes nothing."""
    for rule in RULES:
        made = shop.post("/api/v1/event-handlers?on_conflict=keep", data=rule)
        assert made.ok, made.text()
    for number, event in enumerate(EVENTS):
        sent = shop.post("/api/v1/events", data={**event, "idempotency_key": f"trade-{number}"})
        assert sent.ok, sent.text()
