"""Lines for the chat come from whatever stdin is."""

import os

from local.chat.lines import lines


async def read(stdin) -> list[str]:
    return [line async for line in lines(["/help"], stdin)]


async def test_lines_of_a_file(tmp_path):
    path = tmp_path / "lines.txt"
    path.write_text("one\n/help\nüber\nlast")
    with path.open() as stdin:
        assert await read(stdin) == ["one", "/help", "über", "last"]


async def test_lines_of_a_pipe():
    out, into = os.pipe()
    with os.fdopen(into, "w") as writer:
        writer.write("one\nüber\nlast")
    with os.fdopen(out) as stdin:
        assert await read(stdin) == ["one", "über", "last"]


async def test_line_of_a_pipe_is_there_before_the_pipe_ends():
    out, into = os.pipe()
    with os.fdopen(out) as stdin, os.fdopen(into, "w", buffering=1) as writer:
        given = lines(["/help"], stdin)
        writer.write("one\n")
        assert await anext(given) == "one"
        writer.write("two\n")
        assert await anext(given) == "two"
        await given.aclose()
