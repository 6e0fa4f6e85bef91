"""Citations: which passages an answer refers to, as in ``[1]``.

Numbers go on through a thread: within one, a number means one passage, whichever turn found it.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, cast

from langchain_core.messages import AIMessage, AnyMessage, ToolMessage

from shared.domain.content import text_of
from shared.domain.kb.passages import Passage

CITATIONS: Final = "citations"
"""Where an answer's citations stand in its ``additional_kwargs``."""

PASSAGES: Final = "passages"
"""Where the passages that a search found stand in the artifact of its tool message."""

Citation = dict[str, Any]
"""What clients see of a cited passage; its keys are the API's."""

# An index into a list is no citation.
_CODE: Final = re.compile(r"```.*?(?:```|\Z)|`[^`\n]*`", re.DOTALL)
_NUMBERS: Final = r"\d{1,6}(?:\s*(?:[,;]|[-\u2013])\s*\d{1,6})*"
# The second pair is what some models write; a bracket before a parenthesis is a link.
_CITED: Final = re.compile(rf"\[(?P<ascii>{_NUMBERS})\](?!\()|【(?P<wide>{_NUMBERS})[^】\n]{{0,40}}】")
_RANGE: Final = re.compile(r"(\d+)\s*[-\u2013]\s*(\d+)|(\d+)")
_LONGEST_RANGE: Final = 100
_HIGHEST_READ: Final = 9_999
"""What is said in brackets above that is no passage's number; numbers going on after it would soon not be read."""


def citation_of(passage: Passage) -> Citation:
    """Give what is kept of a passage beside its text, and what an answer that cites it carries."""
    return {
        "number": passage.number,
        "documentId": passage.document_id,
        "name": passage.document,
        "pageFrom": passage.page_from,
        "pageTo": passage.page_to,
        "start": passage.start,
        "end": passage.end,
    }


def passages_found(messages: Iterable[AnyMessage]) -> dict[int, Citation]:
    """Give every passage that the searches of a conversation found, by its number."""
    found: dict[int, Citation] = {}
    for message in messages:
        artifact: object = message.artifact if isinstance(message, ToolMessage) else None
        if isinstance(artifact, Mapping):
            noted = cast("Mapping[str, Any]", artifact).get(PASSAGES, ())
            found.update((passage["number"], passage) for passage in cast("Sequence[Citation]", noted))
    return found


def with_citations(answer: AIMessage, found: Mapping[int, Citation]) -> AIMessage:
    """Give an answer with the passages that it cites, each once, in the order in which it does.

    Parameters
    ----------
    answer : AIMessage
        What the model said; it comes back as it is when it cites nothing that was found.
    found : mapping
        As :func:`passages_found` gives it.
    """
    cited = [found[number] for number in dict.fromkeys(numbers_in(text_of(answer.content))) if number in found]
    if not cited:
        return answer
    return answer.model_copy(update={"additional_kwargs": {**answer.additional_kwargs, CITATIONS: cited}})


def numbers_in(text: str) -> Iterator[int]:
    """Give the numbers that a text cites, in its order: ``[1]``, ``[1, 3]`` and ``[1-3]`` count, code does not."""
    for match in _CITED.finditer(_CODE.sub("", text)):
        for first, last, single in _RANGE.findall(match["ascii"] or match["wide"]):
            if single:
                yield int(single)
            elif int(last) - int(first) < _LONGEST_RANGE:
                yield from range(int(first), int(last) + 1)


def last_number(messages: Iterable[AnyMessage], *texts: str) -> int:
    """Give the highest number that means a passage in a conversation; 0 when there is none.

    The tool messages with the passages may be gone: a client may send its conversation without them, and some threads
    are made to be short. What was said then still cites them.

    Parameters
    ----------
    messages : iterable of message
        The conversation.
    *texts : str
        What stands for messages that are gone.
    """
    messages = list(messages)
    answers = [message for message in messages if isinstance(message, AIMessage)]
    said = [*(text_of(answer.content) for answer in answers), *texts]
    numbers = [
        *passages_found(messages),
        *(number for answer in answers for number in _numbers_of(answer.additional_kwargs.get(CITATIONS))),
        *(number for text in said for number in numbers_in(text) if number <= _HIGHEST_READ),
    ]
    return max(numbers, default=0)


def _numbers_of(citations: object) -> Iterator[int]:
    # A client may have made them.
    for citation in cast("list[object]", citations) if isinstance(citations, list) else ():
        match citation:
            case {"number": int(number)} if number <= _HIGHEST_READ:
                yield number
            case _:
                pass


class PassageNumbers:
    """Gives numbers to the passages of one turn, also to those of searches that run side by side."""

    def __init__(self) -> None:
        self._last = 0

    def take(self, count: int, *, after: int = 0) -> int:
        """Take consecutive numbers; give the first.

        Parameters
        ----------
        count : int
            How many.
        after : int
            The highest number that the conversation has.
        """
        first = max(self._last, after) + 1
        self._last = first + count - 1
        return first
