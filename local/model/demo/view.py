"""What the demo source sees of memory: the blocks that the product puts into the system prompt."""

import json
import re
from collections.abc import Mapping
from typing import Any

from local.model.request import ConverseRequest

_EARLIER = re.compile(r"<earlier_conversation>(.*)</earlier_conversation>", re.DOTALL)
_QUESTION = re.compile(r"^Q:\s*(.+)$", re.MULTILINE)


def profile_in(request: ConverseRequest) -> Mapping[str, Any]:
    """Read the profile from the ``<memory>`` block; empty when there is none."""
    _, opened, rest = request.system.partition("<memory>")
    start = rest.find("{")
    if not opened or start < 0:
        return {}
    try:
        profile, _ = json.JSONDecoder().raw_decode(rest[start:])
    except ValueError:
        return {}
    return profile if isinstance(profile, dict) else {}


def earlier_topics(request: ConverseRequest) -> list[str]:
    """Read the questions of the ``<earlier_conversation>`` block, oldest first."""
    block = _EARLIER.search(request.system)
    return [] if block is None else [question.strip() for question in _QUESTION.findall(block.group(1))]
