"""Locks by name: leases that one holder at a time has, for work that only one node should do."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """
    Proof of one acquisition.

    `fence` rises with each acquisition of the name, released or lapsed, and never comes again: hand it to
    whatever must refuse a holder that was overtaken. `secret` is 32 random hexadecimal digits, so that no token
    can be made up, nor fit a database that was restored from an older copy.
    """

    name: str
    fence: int
    secret: str


class Locks(Protocol):
    """
    One row for each name, never removed: no session and no connection holds a lock, only time does.

    Scoped to no tenant; names are constants of the code. Everything is judged by the store's clock, one
    transaction each, and nothing ever waits for a holder. Any number of callers may try at once. A `lease` is
    longer than zero; it ends by time alone, so what must never be done by two at once must check the fence.

    Raises (every method):
        StoreUnavailable: no answer within the store's deadline. Nothing was changed, or, where the answer was
            lost on its way, a lock that nobody knows to have lapses with its lease.
    """

    async def acquire(self, name: str, *, holder: str, lease: timedelta) -> Token | None:
        """
        Take the lock until the store's now plus `lease`, if it is free or has lapsed (`expires_at <= now`).

        Answers None, at once, while anyone has it, the same `holder` included; `holder` is kept only for people who
        look. Of several that try at once exactly one gets it. Taking sets holder, lease, a new secret, and a
        fence one higher than the last (1 for a new name).

        A lock that is due to lapse later than its own lease from now shows that the clock was set back. It is then
        made to lapse its own lease from now, and None is answered: a holder that lives has time to renew, and one
        that died blocks nobody until the old hour comes round again.
        """

    async def renew(self, token: Token, lease: timedelta) -> bool:
        """
        Let the lock lapse at the store's now plus `lease`, its lease from now on; True if the token still has it.

        One that has lapsed but was taken by nobody since is the token's still. False, and no change, if it was
        released or taken again.
        """

    async def release(self, token: Token) -> bool:
        """Free the lock; False, and no change, if it was released or taken again since (as for `renew`)."""
