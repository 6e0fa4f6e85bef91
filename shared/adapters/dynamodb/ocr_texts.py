"""What OCR has read of a user's files, a row for each page, by the file's bytes."""

from collections.abc import Iterable, Mapping
from contextlib import aclosing
from typing import TYPE_CHECKING, Final

from shared.adapters.dynamodb.items import Key, StoredItem, row_of
from shared.adapters.dynamodb.packed_json import pack, unpack
from shared.adapters.dynamodb.removal import remove_rows
from shared.adapters.dynamodb.rows import Pause, Rows, jittered_pause
from shared.adapters.dynamodb.schema import (
    BODY,
    CREATED_AT,
    END,
    OCR_TEXT_ROW,
    decode_key,
    encode_part,
    row_key,
    row_prefix,
)
from shared.adapters.dynamodb.writes import Put
from shared.domain.errors import CorruptItemError
from shared.domain.ids import UserId
from shared.domain.kb.ocr import OcrText

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

_NUMBER_DIGITS: Final = 8
_MAX_UNPACKED: Final = 16 * 1024 * 1024
_AFTER_ALL_PAGES: Final = "\U0010ffff"


class DynamoOcrTexts:
    """The port ``OcrTexts`` on the memory table.

    Parameters
    ----------
    client : DynamoDBClient
        A low-level client.
    table_name : str
        The memory table.
    pause : callable
        Waits between tries.
    """

    def __init__(self, client: "DynamoDBClient", table_name: str, *, pause: Pause = jittered_pause) -> None:
        self._rows = Rows(client, table_name, pause=pause)

    async def get(self, user: UserId, sha256: str, numbers: Iterable[int]) -> Mapping[int, OcrText]:
        """Read rows, a hundred a request."""
        keys = {_key(user, sha256, number): number for number in numbers}
        return {keys[key]: _text(item) for key, item in (await self._rows.get_many(keys)).items()}

    async def save(self, user: UserId, sha256: str, texts: Mapping[int, OcrText]) -> None:
        """Write rows, 25 a request."""
        await self._rows.write_all(
            Put(key=_key(user, sha256, number), attributes={BODY: _packed(text)}) for number, text in texts.items()
        )

    async def has_any(self, user: UserId, sha256: str = "") -> bool:
        """Look for one row."""
        prefix = row_prefix(OCR_TEXT_ROW, sha256) if sha256 else row_prefix(OCR_TEXT_ROW)
        pages = self._rows.pages(encode_part(user), prefix, attributes=(CREATED_AT,), page_size=1)
        async with aclosing(pages):
            async for items in pages:
                if items:
                    return True
        return False

    async def keep_only(self, user: UserId, digests: Iterable[str]) -> None:
        """Look at one row of each file, and remove the rows of those that are not named."""
        wanted, digest = set(digests), await self._digest_after(user, "")
        while digest is not None:
            if digest not in wanted:
                await remove_rows(self._rows, user, row_prefix(OCR_TEXT_ROW, digest))
            digest = await self._digest_after(user, digest)

    async def purge(self, user: UserId) -> None:
        """Remove the rows of a user."""
        await remove_rows(self._rows, user, row_prefix(OCR_TEXT_ROW))

    async def _digest_after(self, user: UserId, digest: str) -> str | None:
        since = encode_part(digest) + _AFTER_ALL_PAGES if digest else ""
        pages = self._rows.pages(
            encode_part(user), row_prefix(OCR_TEXT_ROW), attributes=(CREATED_AT,), page_size=1, since=since
        )
        async with aclosing(pages):
            async for items in pages:
                for item in items:
                    return decode_key(item.key[1].removeprefix(END))[0][1]
        return None


def _key(user: UserId, sha256: str, number: int) -> Key:
    return row_of(user, row_key(OCR_TEXT_ROW, sha256, f"{number:0{_NUMBER_DIGITS}d}"))


def _packed(text: OcrText) -> bytes:
    return pack({"text": text.text, "confidence": text.confidence})


def _text(item: StoredItem) -> OcrText:
    try:
        return OcrText(**unpack(item.blob(BODY), limit=_MAX_UNPACKED))
    except (ValueError, TypeError) as error:
        raise CorruptItemError("What OCR has read cannot be read.") from error
