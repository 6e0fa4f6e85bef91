"""Status and headers of a streamed response: JSON, eight NUL bytes, then the body."""

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any, Final

PRELUDE_LIMIT: Final = 16 * 1024
_END: Final = b"\0" * 8


class PreludeError(ValueError):
    """The response does not begin as API Gateway needs it: a 502."""


@dataclass(frozen=True, slots=True)
class Head:
    """The status and the headers, in order."""

    status: int
    headers: tuple[tuple[str, str], ...]


async def read_head(chunks: AsyncIterator[bytes]) -> tuple[Head, bytes]:
    """Read the prelude and give it with the first bytes of the body.

    Raises
    ------
    PreludeError
        When it has no end within 16 KB, or is no prelude.
    """
    seen = b""
    async for chunk in chunks:
        seen += chunk
        prelude, end, rest = seen[:PRELUDE_LIMIT].partition(_END)
        if end:
            return _head(prelude), rest + seen[PRELUDE_LIMIT:]
        if len(seen) >= PRELUDE_LIMIT:
            break
    raise PreludeError("The response has no prelude.")


def _head(prelude: bytes) -> Head:
    try:
        document: dict[str, Any] = json.loads(prelude)
        single = [(name, str(value)) for name, value in (document.get("headers") or {}).items()]
        several = [
            (name, str(value)) for name, values in (document.get("multiValueHeaders") or {}).items() for value in values
        ]
        cookies = [("set-cookie", cookie) for cookie in document.get("cookies") or []]
        return Head(int(document.get("statusCode", 200)), (*single, *several, *cookies))
    except (ValueError, TypeError, AttributeError) as error:
        raise PreludeError("The response's prelude is no JSON of the right shape.") from error
