"""Lists of a user's threads, read from the index of last messages."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import replace
from datetime import datetime

from shared.adapters.dynamodb.rows import Rows
from shared.adapters.dynamodb.schema import LAST_MESSAGE_INDEX, STATUS, encode_part
from shared.adapters.dynamodb.thread_items import is_alive, row_from
from shared.domain.ids import UserId
from shared.domain.threads import ThreadQuery, ThreadRow


async def search_threads(rows: Rows, user: UserId, query: ThreadQuery, now: datetime) -> list[ThreadRow]:
    """Give one page of the threads that fit; read no further than the page's end where the index has the order."""
    end = query.offset + query.limit
    fitting: list[ThreadRow] = []
    indexed = query.sort_by == "last_message_at"
    # Without a filter the index gives exactly the page.
    page_size = max(end, 1) if indexed and not query.filters else None
    async with aclosing(_listed(rows, user, descending=query.descending, page_size=page_size)) as pages:
        async for page in pages:
            fitting += [row for row in page if query.fits(row, now)]
            if indexed and len(fitting) >= end:
                break
    ordered = fitting if indexed else query.in_order(fitting, now)
    return ordered[query.offset : end]


async def count_threads(rows: Rows, user: UserId, query: ThreadQuery, now: datetime) -> int:
    """Count the threads that fit."""
    if not query.filters:
        return await rows.index_count(LAST_MESSAGE_INDEX, encode_part(user))
    return sum([query.fits(row, now) async for page in _listed(rows, user) for row in page])


async def _listed(
    rows: Rows, user: UserId, *, descending: bool = True, page_size: int | None = None
) -> AsyncGenerator[list[ThreadRow]]:
    pages = rows.index_pages(LAST_MESSAGE_INDEX, encode_part(user), descending=descending, page_size=page_size)
    async for page in pages:
        # Whether a busy thread's run is still alive is not in the index, or each renewal would cost a second write.
        whole = await rows.get_many(item.key for item in page if item.text(STATUS) == "busy")
        current = (whole.get(item.key) if item.text(STATUS) == "busy" else item for item in page)
        yield [_shown(row_from(user, item)) for item in current if item is not None and is_alive(item)]


def _shown(row: ThreadRow) -> ThreadRow:
    if row.status == "busy":
        return replace(row, pending=(), left_run=None)
    return replace(row, pending=(), lease=None, cancel_requested=False)
