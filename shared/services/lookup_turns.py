"""Reading earlier turns word for word, for a model that sees only their summary."""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from langchain_core.messages import AIMessage, AnyMessage

from shared.domain.refs import expand_refs, parse_refs
from shared.domain.summary import QuestionAnswer, SummaryEntry
from shared.domain.turns import Turn, role_of, text_of, turns_of
from shared.domain.window import turn_of_ref

FORMAT_HINT: Final = "No turn is named. Give refs such as #3, #3-#5, or a list of them."


@dataclass(frozen=True, slots=True, kw_only=True)
class LookupTurns:
    """Finds turns by ref, within bounds: a model may ask for ``#1-#1000000``.

    Reads nothing and changes nothing: it is given the thread and its summaries as the turn has them.

    Parameters
    ----------
    max_turns : int
        Turns of one answer.
    max_bytes : int
        UTF-8 bytes of the messages of one answer.
    max_message_chars : int
        Characters of one message; must fit ``max_bytes``.
    """

    max_turns: int = 20
    max_bytes: int = 24_000
    max_message_chars: int = 4_000

    def find(
        self,
        messages: Sequence[AnyMessage],
        entries: Sequence[SummaryEntry],
        refs: str | Sequence[str],
        *,
        include_tool_messages: bool = False,
    ) -> dict[str, Any]:
        """Give the turns that ``refs`` name.

        A ref is resolved by the id that a summary has for it and by its place otherwise. Only when no turn is found
        that way do the summaries themselves answer.

        Parameters
        ----------
        messages : sequence of message
            The thread.
        entries : sequence of SummaryEntry
            The thread's summaries.
        refs : str or sequence of str
            As a model writes them.
        include_tool_messages : bool
            Whether tool calls and their results are wanted.

        Returns
        -------
        dict
            ``ok`` with ``queryRefs``, ``matchCount``, ``turns`` (ascending) and, when something was left out for
            size, ``truncated``; or ``ok: False`` with ``code`` and ``message``.
        """
        numbers = parse_refs(refs, limit=self.max_turns + 1)
        if not numbers:
            return {"ok": False, "code": "BAD_REFS", "message": FORMAT_HINT}
        asked, dropped = numbers[: self.max_turns], len(numbers) > self.max_turns
        found = list(_spoken(messages, entries, asked, include_tool_messages)) or list(_summarised(entries, asked))
        if not found:
            return {"ok": False, "code": "NOT_FOUND", "message": f"This thread has no turn {', '.join(_refs(asked))}."}
        turns, cut = self._within_bounds(found)
        answer = {"ok": True, "queryRefs": refs, "matchCount": len(turns), "turns": turns}
        return {**answer, "truncated": True} if cut or dropped else answer

    def _within_bounds(self, found: Iterable["_Found"]) -> tuple[list[dict[str, Any]], bool]:
        turns: list[dict[str, Any]] = []
        left, cut = self.max_bytes, False
        for turn in found:
            lines: list[dict[str, Any]] = []
            for line in turn.lines:
                short = self._shortened(line)
                size = len(json.dumps(short, ensure_ascii=False).encode())
                if size > left:
                    return [*turns, {"ref": turn.ref, "messages": lines}] if lines else turns, True
                cut = cut or short != line
                left -= size
                lines.append(short)
            turns.append({"ref": turn.ref, "messages": lines})
        return turns, cut

    def _shortened(self, line: dict[str, Any]) -> dict[str, Any]:
        short = dict(line)
        content = str(line["content"])
        if len(content) > self.max_message_chars:
            short["content"] = f"{content[: self.max_message_chars]}…"
        calls = json.dumps(line.get("toolCalls", []), ensure_ascii=False, default=str)
        if len(calls) > self.max_message_chars:
            short["toolCalls"] = [{"name": call["name"]} for call in line["toolCalls"]]
        return short


@dataclass(frozen=True, slots=True)
class _Found:
    ref: str
    lines: list[dict[str, Any]]


def _spoken(
    messages: Sequence[AnyMessage], entries: Sequence[SummaryEntry], numbers: Sequence[int], with_tools: bool
) -> Iterator[_Found]:
    turns = turns_of(messages)
    ids = [turn.message_id for turn in turns]
    for number in numbers:
        place = turn_of_ref(number, ids, entries)
        if place is not None:
            yield _Found(f"#{number}", list(_lines(turns[place], with_tools)))


def _summarised(entries: Sequence[SummaryEntry], numbers: Sequence[int]) -> Iterator[_Found]:
    for entry in sorted(entries, key=lambda entry: entry.sequence):
        for topic in entry.summary.entries:
            if not set(numbers).isdisjoint(expand_refs(topic.refs)):
                yield _Found(", ".join(topic.refs), _pair(topic))


def _lines(turn: Turn, with_tools: bool) -> Iterator[dict[str, Any]]:
    for message in turn.messages:
        role, text = role_of(message), text_of(message.content)
        calls = message.tool_calls if isinstance(message, AIMessage) else []
        if role is None or (role == "tool" and not with_tools):
            continue
        if calls and with_tools:
            yield {
                "role": role,
                "content": text,
                "toolCalls": [{"name": call["name"], "args": call["args"]} for call in calls],
            }
        elif text.strip() or not calls:
            yield {"role": role, "content": text}


def _pair(topic: QuestionAnswer) -> list[dict[str, Any]]:
    return [{"role": "user", "content": topic.question}, {"role": "assistant", "content": topic.answer}]


def _refs(numbers: Iterable[int]) -> list[str]:
    return [f"#{number}" for number in numbers]
