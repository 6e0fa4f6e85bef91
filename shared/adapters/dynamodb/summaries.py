"""Summary entries as store items of the seed's namespace, written only for a held claim and a living thread."""

from collections.abc import AsyncIterable, Iterable, Mapping
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError
from pydantic.alias_generators import to_camel

from shared.adapters.dynamodb.claims import claim_done, drop_claims, return_claim, take_claim
from shared.adapters.dynamodb.items import StoredItem, store_key
from shared.adapters.dynamodb.rows import Pause, Rows, TransactionRefusedError, jittered_pause
from shared.adapters.dynamodb.schema import CREATED_AT, UPDATED_AT, VALUE, decode_key, encode_part, encode_prefix
from shared.adapters.dynamodb.thread_items import living_thread
from shared.adapters.dynamodb.writes import ABSENT, Put
from shared.domain.claims import Claim, ClaimRefusal
from shared.domain.errors import ClaimLostError, CorruptItemError, InvalidInputError, ThreadNotFoundError
from shared.domain.ids import ThreadId, UserId
from shared.domain.json_text import compact_json
from shared.domain.namespaces import parse_summary_key, summary_key, threads_namespace
from shared.domain.summary import SummaryEntry, SummaryRows
from shared.ports import Clock

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

# Where the look at the thread stands in the transaction of ``append``.
_THREAD = 2


class DynamoSummaries:
    """The port ``Summaries`` on the memory table.

    LangGraph code sees each entry as a store item of ``(user, "threads")``.

    Parameters
    ----------
    client : DynamoDBClient
        A low-level client.
    table_name : str
        The memory table.
    clock : Clock, optional
        Tells whether entries that other code gave a time to live have expired.
    pause : callable
        Waits between tries.
    """

    def __init__(
        self,
        client: "DynamoDBClient",
        table_name: str,
        *,
        clock: Clock | None = None,
        pause: Pause = jittered_pause,
    ) -> None:
        self._rows = Rows(client, table_name, clock=clock, pause=pause)

    async def of_thread(self, user: UserId, thread: ThreadId) -> SummaryRows:
        """Read one thread's entries, one query a page."""
        return await _read(self._rows.pages(*_span(user, thread)))

    async def of_user(self, user: UserId) -> SummaryRows:
        """Read every entry of the user, one query a page."""
        return await _read(self._rows.pages(*_span(user)))

    async def claim(
        self,
        user: UserId,
        thread: ThreadId,
        window_key: str,
        *,
        now: datetime,
        hold: timedelta,
        max_attempts: int,
        back_off: timedelta,
    ) -> Claim | ClaimRefusal:
        """Take the window; one transaction when nobody has claimed it before."""
        return await take_claim(
            self._rows,
            user,
            thread,
            window_key,
            now=now,
            hold=hold,
            max_attempts=max_attempts,
            back_off=back_off,
        )

    async def append(self, user: UserId, entry: SummaryEntry, claim: Claim) -> None:
        """Write a new entry, in one transaction with its claim and a look at the thread.

        Raises
        ------
        InvalidInputError
            When the entry breaks the rules of entries: nothing is written that no reader would understand.
        ItemTooLargeError
            When it is more than an item may hold.
        """
        stored = _stored(entry)
        try:
            _entry(stored)
        except ValidationError as error:
            raise InvalidInputError("The summary entry breaks the rules of entries.") from error
        try:
            await self._rows.transact(
                Put(
                    key=store_key(threads_namespace(user), summary_key(entry.thread_id, entry.sequence)),
                    attributes={
                        VALUE: compact_json(stored),
                        CREATED_AT: entry.created_at,
                        UPDATED_AT: entry.created_at,
                    },
                    condition=ABSENT,
                ),
                claim_done(user, claim),
                living_thread(user, entry.thread_id),
            )
        except TransactionRefusedError as refusal:
            if _THREAD in refusal.refused:
                raise ThreadNotFoundError(entry.thread_id) from None
            raise ClaimLostError(f"The pass no longer holds its window of thread {entry.thread_id}.") from None

    async def fail(self, user: UserId, claim: Claim, *, now: datetime) -> None:
        """Give the window back, in one conditional write."""
        await return_claim(self._rows, user, claim, now)

    async def forget(self, user: UserId, thread: ThreadId) -> int:
        """Remove the claims first, so that a pass which runs now cannot append any more; then the entries."""
        await drop_claims(self._rows, user, thread)
        forgotten = 0
        async for page in self._rows.pages(*_span(user, thread), attributes=(CREATED_AT,), expired=True):
            entries = [item.key for item in page if _is_summary(item)]
            await self._rows.write_all(deletes=entries)
            forgotten += len(entries)
        return forgotten


def _span(user: UserId, thread: ThreadId | None = None) -> tuple[str, str]:
    """Give the partition and the common start of sort keys of a user's, or one thread's, entries."""
    namespace = threads_namespace(user)
    start = encode_part(f"{thread}:") if thread else ""
    return encode_part(namespace[0]), encode_prefix(namespace[1:]) + start


def _is_summary(item: StoredItem) -> bool:
    # Deeper namespaces, which other code may use, share the start of the key.
    return len(decode_key(item.key[1])[0]) == 1


async def _read(pages: AsyncIterable[Iterable[StoredItem]]) -> SummaryRows:
    entries: list[SummaryEntry] = []
    corrupt = highest = 0
    async for page in pages:
        for item in filter(_is_summary, page):
            place = parse_summary_key(decode_key(item.key[1])[1])
            # A row that cannot be understood still takes its place.
            highest = max(highest, place[1] if place else 0)
            try:
                entry = _entry(item.json_object(VALUE))
            except (CorruptItemError, ValidationError, KeyError):
                corrupt += 1
                continue
            if (entry.thread_id, entry.sequence) == place:
                entries.append(entry)
            else:
                corrupt += 1
    entries.sort(key=lambda entry: (entry.thread_id, entry.sequence))
    return SummaryRows(entries=tuple(entries), corrupt=corrupt, highest_sequence=highest)


def _stored(entry: SummaryEntry) -> dict[str, Any]:
    return {to_camel(name): value for name, value in entry.model_dump(mode="json").items()}


def _entry(stored: Mapping[str, Any]) -> SummaryEntry:
    fields = {name: stored[to_camel(name)] for name in SummaryEntry.model_fields}
    # As JSON, because only there does strict mean: a moment is text and a number is a number.
    return SummaryEntry.model_validate_json(compact_json(fields), strict=True)
