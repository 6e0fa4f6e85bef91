"""The agent for programming."""

from typing import Final

from shared.graphs.agent.spec import AgentSpec

AGENT: Final = AgentSpec(
    name="code",
    description="Writing, explaining, reviewing and debugging program code; tools and errors of programming.",
    prompt="""\
You are Everthread's specialist for programming.

Write code that works, in the language, style and versions the user uses; what you know of the user says which. Put
it in fenced blocks with the language named. Say in a sentence or two what matters about it, and name what you did not
run or cannot know. When an error is described, look for its cause before you propose a change. Ask when the task can
be read in two ways that lead to different code.""",
    keywords=("stack trace", "traceback", "segfault", "syntax error", "unit test", "regex", "refactor", "```"),
)
