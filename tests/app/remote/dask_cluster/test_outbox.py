"""What a job said stays until it is taken, whatever happens to an answer."""

from __future__ import annotations

import asyncio

from app.remote.contract import Block, Ended, Lost, Said
from app.remote.dask_cluster.worker import MOST_BYTES, Outbox

DONE = Ended("exit code 0")


def test_an_answer_that_was_lost_is_given_again() -> None:
    async def ask() -> None:
        box = Outbox()
        box.hear(Said("one"))
        box.hear(Said("two"))
        await asyncio.sleep(0)
        first = await box.after(0, 1.0)
        again = await box.after(0, 60.0)
        assert first == again == [Said("one"), Said("two")]
        box.hear(Said("three"))
        assert await box.after(2, 1.0) == [Said("three")]

    asyncio.run(ask())


def test_nothing_follows_the_last_message() -> None:
    async def ask() -> None:
        box = Outbox()
        for message in (Said("one"), DONE, Said("late"), Lost("late")):
            box.hear(message)
        await asyncio.sleep(0)
        assert await box.after(0, 1.0) == [Said("one"), DONE]
        assert await box.after(2, 0.0) == []
        assert box.over

    asyncio.run(ask())


def test_many_samples_come_in_several_answers() -> None:
    async def ask() -> None:
        box = Outbox()
        size = MOST_BYTES // 2
        for number in range(5):
            box.hear(Block(number * size, bytes(size)))
        box.hear(DONE)
        await asyncio.sleep(0)
        position = 0
        while messages := await box.after(position, 0.0):
            assert len(messages) <= 3
            position += len(messages)
        assert position == 6

    asyncio.run(ask())


def test_who_comes_back_too_late_is_told_why() -> None:
    """A sweep's machine slept, or was cut off, and its job was ended meanwhile."""

    async def ask() -> None:
        box = Outbox()
        box.hear(Said("one"))
        await asyncio.sleep(0)
        assert await box.after(0, 1.0) == [Said("one")]
        box.hear(DONE)
        await asyncio.sleep(0)
        box.forget("nobody asked")
        assert await box.after(1, 0.0) == (Lost("nobody asked"),)

    asyncio.run(ask())


def test_who_comes_second_is_told_so() -> None:
    async def ask() -> None:
        box = Outbox()
        box.hear(DONE)
        await asyncio.sleep(0)
        assert await box.after(0, 1.0) == [DONE]
        assert await box.after(1, 0.0) == []
        (only,) = await box.after(0, 60.0)
        assert isinstance(only, Lost)

    asyncio.run(ask())
