"""Lines for the chat come from whatever stdin is."""

import os
import socket
from pathlib import Path

import pytest

from local.chat.lines import has_input, lines


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


async def test_the_null_device_has_no_lines_and_is_known():
    """No event loop can watch it: it was waited for for ever."""
    with Path(os.devnull).open() as stdin:  # noqa: ASYNC230 - it keeps nobody waiting
        assert not has_input(stdin)
        assert await read(stdin) == []


def test_what_is_closed_has_no_input(tmp_path):
    assert not has_input(None)
    with (tmp_path / "lines").open("w+") as stdin:
        assert has_input(stdin)
    assert not has_input(stdin)


@pytest.mark.parametrize("end", ["", "\n"])
async def test_lines_of_a_socket(end):
    ours, theirs = socket.socketpair()
    with ours, theirs.makefile("r") as stdin, theirs:
        ours.sendall(f"one\ntwo{end}".encode())
        ours.shutdown(socket.SHUT_WR)
        assert await read(stdin) == ["one", "two"]
