"""A model for summary passes that follows a script."""

import json
from collections.abc import Awaitable, Callable

from shared.domain.summary import QuestionAnswer, SummaryOutput


def covering(*refs: str) -> SummaryOutput:
    """Give an answer of one topic that speaks of ``refs``."""
    return SummaryOutput(
        entries=[QuestionAnswer(question="What was asked?", answer="What came of it.", refs=list(refs))]
    )


class ScriptedSummarizer:
    """Implements ``Summarizer``; ``transcripts`` holds what it was given.

    Parameters
    ----------
    *script
        Answers, or errors to raise, one a call. Once they are used up it answers with one topic that refers to every
        turn of the transcript.
    while_thinking
        Awaited during each call, for tests of what happens beside a slow model.
    """

    def __init__(
        self, *script: SummaryOutput | Exception, while_thinking: Callable[[], Awaitable[None]] | None = None
    ) -> None:
        self._script = list(script)
        self.while_thinking = while_thinking
        self.transcripts: list[str] = []

    @property
    def calls(self) -> int:
        return len(self.transcripts)

    async def summarize(self, transcript: str) -> SummaryOutput:
        self.transcripts.append(transcript)
        if self.while_thinking is not None:
            await self.while_thinking()
        if self._script:
            answer = self._script.pop(0)
            if isinstance(answer, Exception):
                raise answer
            return answer
        return covering(*(str(json.loads(line)["id"]) for line in transcript.splitlines()))
