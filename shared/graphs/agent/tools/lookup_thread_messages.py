"""The tool by which the model reads earlier turns of this thread word for word."""

import json
from typing import Final

from langchain_core.tools import BaseTool, tool
from langgraph.prebuilt import ToolRuntime
from pydantic import BaseModel, Field

from shared.domain.prompt import LOOKUP_TOOL
from shared.domain.threads import DESTRUCTIVE_POLICIES
from shared.graphs.agent.envelope import Envelope
from shared.graphs.agent.state import AgentState
from shared.services.lookup_turns import LookupTurns
from shared.services.recall import Recall

DESCRIPTION: Final = """\
Read earlier turns of this conversation as they were said.

Turns are numbered: #1 is the user's first message with the replies to it. The summaries of earlier turns name the
turns they speak of. Use this when the exact words, code, numbers or a tool's result matter and a summary does not
have them. refs takes one ref, a range or several: "#3", "#3-#5", ["#2", "#7"]. Set includeToolMessages to see tool
calls and their results too. Ask for few turns at a time; long answers are cut and say so."""


NOT_KEPT: Final = "This thread does not keep its earlier turns; what is left of them is in front of you."


class LookupInput(BaseModel):
    """What the model fills in."""

    refs: str | list[str] = Field(description='For example "#3", "#3-#5" or ["#2", "#7"].')
    # The name is the tool's contract, and the schema a model is shown knows no aliases.
    includeToolMessages: bool = Field(default=False, description="Whether tool calls and results are wanted.")  # noqa: N815


def lookup_thread_messages_tool(lookup_turns: LookupTurns, recall: Recall) -> BaseTool:
    """Make the tool.

    Parameters
    ----------
    lookup_turns : LookupTurns
        Finds the turns.
    recall : Recall
        Reads the summaries where the turn has not got them yet.
    """

    @tool(LOOKUP_TOOL, description=DESCRIPTION, args_schema=LookupInput)
    async def lookup_thread_messages(
        refs: str | list[str],
        includeToolMessages: bool,  # noqa: N803 - as above
        runtime: ToolRuntime[None, AgentState],
    ) -> str:
        envelope = Envelope.of(runtime.config)
        if envelope.user is None or envelope.thread is None:
            answer = {"ok": False, "code": "NO_THREAD", "message": "There is no thread to look in."}
        elif envelope.policy in DESTRUCTIVE_POLICIES:
            # Numbers would count from whatever turn happens to be the first one now.
            answer = {"ok": False, "code": "NOT_KEPT", "message": NOT_KEPT}
        else:
            recalled = await envelope.recalling(recall).get()
            answer = lookup_turns.find(
                envelope.whole_thread(runtime.state["messages"]),
                envelope.summaries_in(recalled),
                refs,
                include_tool_messages=includeToolMessages,
            )
        return json.dumps(answer, ensure_ascii=False, default=str)

    return lookup_thread_messages
