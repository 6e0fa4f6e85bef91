"""Throttling at text 41 of 50; 30 s left in the middle of a document."""

import asyncio

import pytest

from shared.domain.errors import ModelRefusedError, ModelThrottledError, StoreError
from shared.services.embed_texts import EmbeddedBatch, EmbeddingOutcome, EmbedTexts
from tests.fakes.embedder import WordEmbedder

TEXTS = {f"chunk-{n}": f"text {n}" for n in range(50)}


class Model(WordEmbedder):
    """Fails texts by name, and counts how many it has at a time."""

    def __init__(self, **errors):
        super().__init__(8)
        self.errors = {text.replace("_", " "): error for text, error in errors.items()}
        self.busy = self.busiest = 0

    async def embed(self, text):
        self.busy += 1
        self.busiest = max(self.busiest, self.busy)
        try:
            await asyncio.sleep(0)
            if text in self.errors:
                raise self.errors[text]
            return await super().embed(text)
        finally:
            self.busy -= 1


class Kept:
    def __init__(self):
        self.batches: list[EmbeddedBatch] = []

    async def __call__(self, batch):
        self.batches.append(batch)

    @property
    def vectors(self):
        return {key: vector for batch in self.batches for key, vector in batch.vectors.items()}

    @property
    def refused(self):
        return {key: code for batch in self.batches for key, code in batch.refused.items()}


def plenty():
    return 900.0


async def test_every_text_gets_its_vector_batch_by_batch():
    model, kept = Model(), Kept()
    outcome = await EmbedTexts(model, batch_size=20).run(TEXTS, checkpoint=kept, seconds_left=plenty)
    assert outcome == EmbeddingOutcome("finished")
    assert [len(batch.vectors) for batch in kept.batches] == [20, 20, 10]
    assert kept.vectors == {key: model.of(text) for key, text in TEXTS.items()}


async def test_no_more_texts_than_allowed_are_with_the_model_at_a_time():
    model = Model()
    await EmbedTexts(model, concurrency=3).run(TEXTS, checkpoint=Kept(), seconds_left=plenty)
    assert model.busiest == 3


async def test_what_is_beside_a_throttled_text_is_kept():
    model, kept = Model(text_40=ModelThrottledError("over quota")), Kept()
    outcome = await EmbedTexts(model, batch_size=50).run(TEXTS, checkpoint=kept, seconds_left=plenty)
    assert outcome == EmbeddingOutcome("model", ("chunk-40",))
    assert len(kept.vectors) == 49
    model.errors.clear()
    outcome = await EmbedTexts(model).run(
        {key: TEXTS[key] for key in outcome.pending}, checkpoint=kept, seconds_left=plenty
    )
    assert outcome.reason == "finished"
    assert kept.vectors.keys() == TEXTS.keys()
    assert model.calls["embed"] == 50


async def test_after_throttling_no_further_batch_is_begun():
    model, kept = Model(text_3=ModelThrottledError("over quota")), Kept()
    outcome = await EmbedTexts(model, batch_size=10).run(TEXTS, checkpoint=kept, seconds_left=plenty)
    assert outcome == EmbeddingOutcome("model", ("chunk-3", *list(TEXTS)[10:]))
    assert len(kept.batches) == 1


async def test_a_text_that_the_model_refuses_fails_alone():
    """KB14."""
    model, kept = Model(text_7=ModelRefusedError("no")), Kept()
    outcome = await EmbedTexts(model, batch_size=10).run(TEXTS, checkpoint=kept, seconds_left=plenty)
    assert outcome.reason == "finished"
    assert kept.refused == {"chunk-7": "MODEL_REFUSED"}
    assert len(kept.vectors) == 49


async def test_too_little_time_is_not_begun_with():
    left = iter([100.0, 31.0, 30.0])
    kept = Kept()
    outcome = await EmbedTexts(Model(), batch_size=10).run(TEXTS, checkpoint=kept, seconds_left=lambda: next(left))
    assert outcome == EmbeddingOutcome("time", tuple(TEXTS)[20:])
    assert len(kept.vectors) == 20


async def test_texts_that_take_too_long_are_left_and_the_others_kept():
    class Hanging(Model):
        async def embed(self, text):
            if text == "text 2":
                await asyncio.Event().wait()
            return await super().embed(text)

    kept = Kept()
    outcome = await EmbedTexts(Hanging(), batch_size=5).run(TEXTS, checkpoint=kept, seconds_left=lambda: 30.3)
    assert outcome == EmbeddingOutcome("time", ("chunk-2", *list(TEXTS)[5:]))
    assert kept.vectors.keys() == {"chunk-0", "chunk-1", "chunk-3", "chunk-4"}


async def test_what_the_checkpoint_raises_ends_the_work():
    async def fail(batch):
        raise StoreError("down")

    model = Model()
    with pytest.raises(StoreError):
        await EmbedTexts(model, batch_size=10).run(TEXTS, checkpoint=fail, seconds_left=plenty)
    assert model.calls["embed"] == 10


async def test_a_fault_of_the_program_is_raised():
    with pytest.raises(ZeroDivisionError):
        await EmbedTexts(Model(text_4=ZeroDivisionError())).run(TEXTS, checkpoint=Kept(), seconds_left=plenty)


async def test_nothing_is_left_running_when_the_work_is_cancelled():
    model = Model()
    begun = asyncio.Event()

    async def hang(text):
        model.busy += 1
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            model.busy -= 1

    model.embed = hang
    work = asyncio.create_task(EmbedTexts(model).run(TEXTS, checkpoint=Kept(), seconds_left=plenty))
    await begun.wait()
    work.cancel()
    with pytest.raises(asyncio.CancelledError):
        await work
    assert model.busy == 0


async def test_no_text_needs_no_model():
    kept = Kept()
    outcome = await EmbedTexts(Model()).run({}, checkpoint=kept, seconds_left=lambda: 0.0)
    assert outcome == EmbeddingOutcome("finished")
    assert kept.batches == []
