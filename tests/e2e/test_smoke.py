"""The command that shows a deployment streams, against one that does."""

from local.model.script import Reply
from local.smoke import QUESTION, smoke


async def test_the_smoke_command_finds_nothing_wrong(people, model):
    words = "one two three four"
    await model.script(Reply(text=words), last_user_contains=QUESTION, kind="answer")
    lines: list[str] = []

    answer = await smoke(people.someone().http, lines.append)

    assert answer.text == words
    assert lines[-1].endswith("Stored, deleted.")
