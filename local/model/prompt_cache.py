"""What Bedrock's prompt cache would have read and written, so that cache points can be checked without Bedrock."""

import hashlib
import json
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from typing import Any

_REMEMBERED = 512


def estimated_tokens(text: str) -> int:
    """Estimate tokens at four characters each."""
    return -(-len(text) // 4)


class PromptCache:
    """Remembers the prefixes that ended in a cache point."""

    def __init__(self) -> None:
        self._seen: OrderedDict[str, None] = OrderedDict()

    def count(self, model_id: str, body: Mapping[str, Any]) -> tuple[int, int, int]:
        """Give the estimated tokens of a request as (uncached input, read from cache, written to cache)."""
        read = written = total = 0
        for digest, tokens in _prefixes(model_id, body):
            total = tokens
            if digest is None:
                continue
            if digest in self._seen:
                read = tokens
            else:
                written = tokens
            self._seen[digest] = None
            self._seen.move_to_end(digest)
        while len(self._seen) > _REMEMBERED:
            self._seen.popitem(last=False)
        written = max(0, written - read)
        return total - read - written, read, written


def _prefixes(model_id: str, body: Mapping[str, Any]) -> Iterator[tuple[str | None, int]]:
    """Give each prefix that ends in a cache point with its tokens; last, without a digest, the whole."""
    digest = hashlib.sha256(model_id.encode())
    tokens = 0
    for block in _blocks(body):
        if "cachePoint" in block:
            yield digest.hexdigest(), tokens
            continue
        text = json.dumps(block, sort_keys=True, ensure_ascii=False)
        digest.update(text.encode())
        tokens += estimated_tokens(text)
    yield None, tokens


def _blocks(body: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Give the blocks in the order in which the cache sees them: tools, system, messages."""
    yield from (body.get("toolConfig") or {}).get("tools") or []
    yield from body.get("system") or []
    for message in body.get("messages") or []:
        yield {"role": message["role"]}
        yield from message["content"]
