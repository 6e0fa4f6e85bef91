import asyncio
import threading
from collections.abc import Iterator
from contextlib import aclosing

import pytest

from shared.adapters.aws import in_thread, iterate_in_thread


async def test_items_come_in_order_and_from_one_thread() -> None:
    threads: set[int] = set()

    def items() -> Iterator[int]:
        for number in range(5):
            threads.add(threading.get_ident())
            yield number

    assert [item async for item in iterate_in_thread(items)] == [0, 1, 2, 3, 4]
    assert len(threads) == 1
    assert threading.get_ident() not in threads


async def test_each_item_is_given_out_before_the_next_one_is_there() -> None:
    """The iterator waits for the reader to have read: an adapter that collected first would never end."""
    read = threading.Event()

    def items() -> Iterator[str]:
        yield "first"
        assert read.wait(30)
        yield "second"

    seen = []
    async for item in iterate_in_thread(items):
        seen.append(item)
        read.set()

    assert seen == ["first", "second"]


@pytest.mark.parametrize("error", [ValueError("broken"), KeyboardInterrupt()])
async def test_what_the_iterator_raises_is_raised_after_its_items(error: BaseException) -> None:
    def items() -> Iterator[int]:
        yield 1
        raise error

    stream = iterate_in_thread(items)

    assert await anext(stream) == 1
    with pytest.raises(type(error)):
        await anext(stream)


async def test_a_maker_that_fails_is_told() -> None:
    def make() -> Iterator[int]:
        raise ValueError("no iterator")

    with pytest.raises(ValueError, match="no iterator"):
        await anext(iterate_in_thread(make))


async def test_a_reader_that_leaves_ends_the_iterator_at_its_next_item() -> None:
    closed, goes_on, too_far = threading.Event(), threading.Event(), threading.Event()

    def items() -> Iterator[int]:
        try:
            yield 1
            goes_on.wait(30)
            yield 2
            too_far.set()
        finally:
            closed.set()

    async with aclosing(iterate_in_thread(items)) as stream:
        assert await anext(stream) == 1
    assert not closed.is_set()
    goes_on.set()

    assert await in_thread(closed.wait, 30)
    assert not too_far.is_set()


async def test_the_loop_goes_on_beside_a_blocking_call() -> None:
    release = threading.Event()
    waiting = asyncio.create_task(in_thread(release.wait, 30))
    await asyncio.sleep(0)
    release.set()

    assert await waiting is True
