"""Many texts to vectors: at a bounded pace, kept batch by batch, within the time there is."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, Literal, TypeVar

from shared.domain.errors import ModelError
from shared.domain.kb.hits import Vector
from shared.kb_ports import Embedder

K = TypeVar("K", bound=Hashable)

StopReason = Literal["finished", "time", "model"]
"""``time``: too little was left for another batch. ``model``: it was throttled, or failed, more than it could be
tried again."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class EmbeddedBatch(Generic[K]):
    """What one batch came to, to be kept before the next begins.

    Parameters
    ----------
    vectors : mapping
        By key of the text.
    refused : mapping
        For texts that the model takes never, the code of the error (row KB14).
    """

    vectors: Mapping[K, Vector]
    refused: Mapping[K, str]


@dataclass(frozen=True, slots=True)
class EmbeddingOutcome(Generic[K]):
    """Where the work stopped.

    Parameters
    ----------
    reason : str
        See :data:`StopReason`.
    pending : tuple
        Keys of the texts that were neither embedded nor refused, in order: what to be called with again.
    """

    reason: StopReason
    pending: tuple[K, ...] = ()


class EmbedTexts:
    """Embeds the texts of a document.

    Nothing that was embedded is lost to what fails after it, or beside it: when the 41st text of 50 is throttled, the
    other 49 are kept.

    Parameters
    ----------
    embedder : Embedder
        The model; tries again by itself.
    concurrency : int
        How many texts are with the model at a time.
    batch_size : int
        How many texts are kept at a time.
    reserve_seconds : float
        No batch begins, and none goes on, when no more than this is left: the rest has to be kept and queued again.
    """

    def __init__(
        self, embedder: Embedder, *, concurrency: int = 8, batch_size: int = 32, reserve_seconds: float = 30.0
    ) -> None:
        self._embedder = embedder
        self._concurrency = concurrency
        self._batch_size = batch_size
        self._reserve = reserve_seconds

    async def run(
        self,
        texts: Mapping[K, str],
        *,
        checkpoint: Callable[[EmbeddedBatch[K]], Awaitable[None]],
        seconds_left: Callable[[], float],
    ) -> EmbeddingOutcome[K]:
        """Embed texts in their order.

        Parameters
        ----------
        texts : mapping
            By the key that vectors are given back under.
        checkpoint : callable
            Keeps a batch. What it raises ends the work.
        seconds_left : callable
            How long the function may still run.

        Returns
        -------
        EmbeddingOutcome
            ``finished`` with nothing pending, or why it stopped and what is left.
        """
        keys = list(texts)
        gate = asyncio.Semaphore(self._concurrency)
        done = 0
        while done < len(keys):
            time = seconds_left() - self._reserve
            if time <= 0:
                return EmbeddingOutcome("time", tuple(keys[done:]))
            batch = keys[done : done + self._batch_size]
            done += len(batch)
            embedded, reason, left = await self._embed(batch, texts, gate, time)
            if embedded.vectors or embedded.refused:
                await checkpoint(embedded)
            if left:
                _log.info("embedding stopped", extra={"reason": reason, "pending": len(left) + len(keys) - done})
                return EmbeddingOutcome(reason, (*left, *keys[done:]))
        return EmbeddingOutcome("finished")

    async def _embed(
        self, batch: Sequence[K], texts: Mapping[K, str], gate: asyncio.Semaphore, seconds: float
    ) -> tuple[EmbeddedBatch[K], StopReason, Sequence[K]]:
        async def one(key: K) -> Vector:
            async with gate:
                return await self._embedder.embed(texts[key])

        tasks = {key: asyncio.create_task(one(key)) for key in batch}
        try:
            await asyncio.wait(tasks.values(), timeout=seconds)
        finally:
            for task in tasks.values():
                task.cancel()
            await asyncio.gather(*tasks.values(), return_exceptions=True)
        vectors: dict[K, Vector] = {}
        refused: dict[K, str] = {}
        left: list[K] = []
        reason: StopReason = "time"
        for key, task in tasks.items():
            if task.cancelled():
                left.append(key)
                continue
            match task.exception():
                case None:
                    vectors[key] = task.result()
                case ModelError(retryable=False) as error:
                    refused[key] = error.code
                case ModelError():
                    left.append(key)
                    reason = "model"
                case BaseException() as error:
                    raise error
        return EmbeddedBatch(vectors, refused), reason, left
