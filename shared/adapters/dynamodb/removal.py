"""Removing rows by the start of their keys."""

from shared.adapters.dynamodb.rows import Rows
from shared.adapters.dynamodb.schema import CREATED_AT, encode_part
from shared.domain.ids import UserId


async def remove_rows(rows: Rows, user: UserId, prefix: str) -> None:
    """Remove every row of a user whose sort key starts with a prefix, expired ones too.

    Parameters
    ----------
    rows : Rows
        The table.
    user : str
        Whose rows.
    prefix : str
        As ``schema.row_prefix`` gives it; never empty, which would mean every store item.

    Raises
    ------
    StoreError
        When the database cannot answer; done again, it goes on.
    """
    # Of the rows only their keys are needed; one attribute more is what a projection takes.
    async for page in rows.pages(encode_part(user), prefix, attributes=(CREATED_AT,), expired=True):
        await rows.write_all(deletes=[item.key for item in page])
