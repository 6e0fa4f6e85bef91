"""The demo source itself: which of its few behaviours answers a request."""

import asyncio
import re
from collections.abc import AsyncIterator
from typing import Final

from local.model.demo.answers import answer
from local.model.demo.structured import structured_answer
from local.model.demo.tools import call_for, said_after
from local.model.demo.wording import shortened
from local.model.reply import Finish, Part, TextDelta, object_parts, tool_call, words
from local.model.request import ConverseRequest

_TITLE: Final = re.compile(r"\btitle\b", re.IGNORECASE)
_TITLE_LIMIT = 30


class DemoSource:
    """Answers by rule. The same request always gets the same answer.

    Parameters
    ----------
    pause : float
        Seconds between words, so that streaming can be seen.
    """

    def __init__(self, pause: float = 0.02) -> None:
        self._pause = pause

    async def reply(self, request: ConverseRequest) -> AsyncIterator[Part]:
        """Answer; never fails."""
        if request.wanted_object() is not None:
            for token in object_parts(structured_answer(request), request):
                for part in token:
                    yield part
            yield Finish("tool_use" if request.forced_tool else "end_turn")
            return
        results = request.pending_tool_results()
        call = None if results else call_for(request)
        if call is not None:
            for part in tool_call(*call):
                yield part
            yield Finish("tool_use")
            return
        if results:
            question = request.last_user_text()
            text = " ".join(said_after(name, result, question) for name, result in results)
        elif _TITLE.search(request.system) and not request.tools:
            text = _title(request.last_user_text())
        else:
            text = answer(request)
        for word in words(text):
            yield TextDelta(word)
            if self._pause:
                await asyncio.sleep(self._pause)
        yield Finish()


def _title(text: str) -> str:
    return shortened(text, _TITLE_LIMIT).strip(" .!?,;:…\"'") or "Conversation"
