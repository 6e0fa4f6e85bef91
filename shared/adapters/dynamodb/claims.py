"""The claims of summary passes as rows: one item per window, taken and given back by conditional writes."""

import uuid
from datetime import datetime, timedelta
from typing import cast

from shared.adapters.dynamodb.items import Attributes, Key, StoredItem, row_of
from shared.adapters.dynamodb.rows import ConditionFailedError, Rows, TransactionRefusedError
from shared.adapters.dynamodb.schema import ATTEMPTS, CLAIM_ROW, STATE, TOKEN, UNTIL, row_key, row_prefix
from shared.adapters.dynamodb.thread_items import living_thread
from shared.adapters.dynamodb.writes import ABSENT, Put, Update
from shared.domain.claims import Claim, ClaimRecord, ClaimRefusal, ClaimState
from shared.domain.ids import ThreadId, UserId

_STILL_HELD = f"#{STATE} = :held AND #{TOKEN} = :token"
_AS_READ = f"#{STATE} = :state_read AND #{TOKEN} = :token_read AND #{ATTEMPTS} = :attempts_read"


async def take_claim(
    rows: Rows,
    user: UserId,
    thread: ThreadId,
    window_key: str,
    *,
    now: datetime,
    hold: timedelta,
    max_attempts: int,
    back_off: timedelta,
) -> Claim | ClaimRefusal:
    """Take a window, or say why not; one transaction when nobody has claimed it before.

    The transaction looks at the thread too: a thread that is being deleted gets no new claims.
    """
    key, token, seen = _key(user, thread, window_key), uuid.uuid4().hex, None
    while True:
        attempts = seen.attempts + 1 if seen else 1
        claim = Claim(thread_id=thread, window_key=window_key, token=token, attempts=attempts, until=now + hold)
        held = Put(
            key=key,
            attributes={STATE: "held", TOKEN: token, ATTEMPTS: attempts, UNTIL: claim.until},
            condition=_AS_READ if seen else ABSENT,
            values=_as_read(seen) if seen else {},
        )
        try:
            await rows.transact(held, living_thread(user, thread))
        except TransactionRefusedError as refusal:
            if 1 in refusal.refused:
                return "thread_gone"
            current = refusal.refused[0]
        else:
            return claim
        # Somebody else's claim. Decide on what it is now; if it changes meanwhile, look again.
        seen = _record_of(current) if current else None
        refused = seen.refusal(now, max_attempts=max_attempts, back_off=back_off) if seen else None
        if seen and refused == "exhausted":
            await _give_up(rows, key, seen)
        if refused:
            return refused


def claim_done(user: UserId, claim: Claim) -> Update:
    """Give the write that ends a claim, if it is still held, within the transaction that writes the summary."""
    return Update(
        key=_key(user, claim.thread_id, claim.window_key),
        sets=(f"#{STATE} = :done",),
        condition=_STILL_HELD,
        values={"done": "done", "held": "held", "token": claim.token},
    )


async def return_claim(rows: Rows, user: UserId, claim: Claim, now: datetime) -> None:
    """Give the window back after a failed attempt, unless somebody else has it."""
    write = Update(
        key=_key(user, claim.thread_id, claim.window_key),
        sets=(f"#{STATE} = :returned", f"#{UNTIL} = :now"),
        condition=_STILL_HELD,
        values={"returned": "returned", "held": "held", "token": claim.token, "now": now},
    )
    try:
        await rows.update(write)
    except ConditionFailedError:
        return


async def drop_claims(rows: Rows, user: UserId, thread: ThreadId) -> None:
    """Remove all claims of a thread: passes that run lose theirs, and every window may be claimed afresh."""
    partition, prefix = row_of(user, row_prefix(CLAIM_ROW, thread))
    async for page in rows.pages(partition, prefix, attributes=(STATE,), expired=True):
        await rows.write_all(deletes=[claim.key for claim in page])


def _key(user: UserId, thread: ThreadId, window_key: str) -> Key:
    return row_of(user, row_key(CLAIM_ROW, thread, window_key))


def _record_of(item: StoredItem) -> ClaimRecord:
    return ClaimRecord(
        state=cast("ClaimState", item.text(STATE)),
        token=item.text(TOKEN),
        attempts=item.number(ATTEMPTS),
        until=item.moment(UNTIL),
    )


def _as_read(seen: ClaimRecord) -> Attributes:
    return {"state_read": seen.state, "token_read": seen.token, "attempts_read": seen.attempts}


async def _give_up(rows: Rows, key: Key, seen: ClaimRecord) -> None:
    if seen.state == "failed":
        return
    write = Update(
        key=key, sets=(f"#{STATE} = :failed",), condition=_AS_READ, values={"failed": "failed", **_as_read(seen)}
    )
    try:
        await rows.update(write)
    except ConditionFailedError:
        return
