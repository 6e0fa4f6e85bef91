import asyncio
import threading
from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from botocore.config import Config
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage, SystemMessage
from langchain_core.tools import tool
from pydantic import BaseModel

from shared.adapters.bedrock.attempts import Attempts
from shared.adapters.bedrock.chat_models import chat_model
from shared.domain.errors import (
    ModelError,
    ModelForbiddenError,
    ModelRefusedError,
    ModelThrottledError,
    ModelTimeoutError,
    ModelUnavailableError,
)
from tests.fakes.converse_wire import Answer, ConverseWire, Refuse, converse_wire

MODEL = "us.anthropic.claude-sonnet-4-6"
THROTTLED = Refuse(429, "ThrottlingException")
HELLO = [SystemMessage("Be brief."), HumanMessage("Hello")]


class Pauses:
    """Takes the place of waiting and of chance, and keeps how long it should have waited."""

    def __init__(self) -> None:
        self.waited: list[float] = []

    async def pause(self, seconds: float) -> None:
        self.waited.append(seconds)

    def attempts(self, **changes: Any) -> Attempts:
        return Attempts(**{"most": 3, "pause": self.pause, "spread": lambda _low, high: high, **changes})


@pytest.fixture
def wire() -> Iterator[ConverseWire]:
    with converse_wire() as wire:
        yield wire


@pytest.fixture
def pauses() -> Pauses:
    return Pauses()


def client_on(wire: ConverseWire, *, read_timeout: float = 30) -> Any:
    return boto3.client(
        "bedrock-runtime",
        endpoint_url=wire.url,
        region_name="eu-central-1",
        aws_access_key_id="test",
        aws_secret_access_key="test",
        config=Config(read_timeout=read_timeout, connect_timeout=5, retries={"total_max_attempts": 1}),
    )


def model_on(wire: ConverseWire, attempts: Attempts, *, read_timeout: float = 30) -> BaseChatModel:
    return chat_model(client_on(wire, read_timeout=read_timeout), MODEL, max_tokens=500, attempts=attempts)


@pytest.fixture
def model(wire: ConverseWire, pauses: Pauses) -> BaseChatModel:
    return model_on(wire, pauses.attempts())


async def streamed(model: Any) -> list[AIMessageChunk]:
    return [chunk async for chunk in model.astream(HELLO)]


def text(chunks: list[AIMessageChunk]) -> str:
    return "".join(chunk.text for chunk in chunks)


async def test_streams_word_by_word(wire: ConverseWire, model: BaseChatModel) -> None:
    wire.script = [Answer(["Hel", "lo ", "there"])]

    chunks = await streamed(model)

    assert [chunk.text for chunk in chunks if chunk.text] == ["Hel", "lo ", "there"]
    assert len({chunk.id for chunk in chunks}) == 1
    asked = wire.asked[0]
    assert (asked.operation, asked.model) == ("converse-stream", "us.anthropic.claude-sonnet-4-6")
    assert asked.body["system"] == [{"text": "Be brief."}]
    assert asked.body["inferenceConfig"] == {"maxTokens": 500}


async def test_words_arrive_while_the_model_is_still_speaking(wire: ConverseWire, model: BaseChatModel) -> None:
    """The server waits after the first word until the test has read it: a buffered stream would never end."""
    gate = threading.Event()
    wire.script = [Answer(["first ", "second"], gate=gate, gate_after=1)]
    words = []
    async for chunk in model.astream(HELLO):
        if chunk.text:
            words.append(chunk.text)
            gate.set()

    assert words == ["first ", "second"]


async def test_the_event_loop_goes_on_while_the_model_is_silent(wire: ConverseWire, model: BaseChatModel) -> None:
    gate = threading.Event()
    wire.script = [Answer(["late"], gate=gate)]
    answering = asyncio.create_task(streamed(model))
    while not wire.asked:  # noqa: ASYNC110 - it is the turning of the loop that is tested
        await asyncio.sleep(0)
    gate.set()

    assert text(await answering) == "late"


async def test_answers_whole(wire: ConverseWire, model: BaseChatModel) -> None:
    wire.script = [Answer(["Hello"])]

    answer = await model.ainvoke(HELLO)

    assert answer.text == "Hello"
    assert answer.usage_metadata is not None
    assert answer.usage_metadata["total_tokens"] == 18
    assert wire.asked[0].operation == "converse"


@pytest.mark.parametrize("how", ["stream", "whole"])
async def test_headers_of_the_reply_are_not_kept(how: str, wire: ConverseWire, model: BaseChatModel) -> None:
    """They would be stored with every answer."""
    wire.script = [Answer(["Hello"])]
    if how == "stream":
        chunks = await streamed(model)
        metadata: dict[str, Any] = {}
        for chunk in chunks:
            metadata |= chunk.response_metadata
    else:
        metadata = (await model.ainvoke(HELLO)).response_metadata

    assert "ResponseMetadata" not in metadata
    assert metadata["stopReason"] == "end_turn"
    assert metadata["model_name"] == "anthropic.claude-sonnet-4-6"


async def test_tools_can_be_bound(wire: ConverseWire, model: BaseChatModel) -> None:
    @tool
    def get_weather(place: str) -> str:
        """Tell the weather."""
        return place

    wire.script = [Answer(["Let me see. "], calls=[("get_weather", {"place": "Berlin"})])]

    whole = None
    async for chunk in model.bind_tools([get_weather]).astream(HELLO):
        whole = chunk if whole is None else whole + chunk

    assert isinstance(whole, AIMessage)
    assert [(call["name"], call["args"]) for call in whole.tool_calls] == [("get_weather", {"place": "Berlin"})]
    assert wire.asked[0].body["toolConfig"]["tools"][0]["toolSpec"]["name"] == "get_weather"


async def test_structured_output_can_be_asked_for(wire: ConverseWire, model: BaseChatModel) -> None:
    class Route(BaseModel):
        """Who answers."""

        agent: str

    wire.script = [THROTTLED, Answer(calls=[("Route", {"agent": "weather"})])]

    assert await model.with_structured_output(Route).ainvoke(HELLO) == Route(agent="weather")
    assert wire.asked[1].body["toolConfig"]["toolChoice"] == {"tool": {"name": "Route"}}


@pytest.mark.parametrize(
    "failure",
    [
        THROTTLED,
        Refuse(503, "ServiceUnavailableException"),
        Refuse(500, "InternalServerException"),
        Refuse(408, "ModelTimeoutException"),
        Refuse(429, "ModelNotReadyException"),
        Refuse(502, "Unheard"),
        Answer(failure="throttlingException"),
        Answer(failure="internalServerException"),
        Answer(failure="modelStreamErrorException"),
        Answer(failure="somethingNewException"),
        Answer(cut=True),
    ],
    ids=lambda failure: getattr(failure, "code", None) or getattr(failure, "failure", None) or "cut off",
)
async def test_what_may_pass_is_tried_again_before_the_first_word(
    failure: Refuse | Answer, wire: ConverseWire, model: BaseChatModel, pauses: Pauses
) -> None:
    wire.script = [failure, failure, Answer(["Hello"])]

    chunks = await streamed(model)

    assert text(chunks) == "Hello"
    assert len(wire.asked) == 3
    assert wire.asked[0].body == wire.asked[2].body
    assert pauses.waited == [0.5, 1.0]


async def test_whole_answers_are_tried_again_too(wire: ConverseWire, model: BaseChatModel, pauses: Pauses) -> None:
    wire.script = [THROTTLED, Answer(["Hello"])]

    assert (await model.ainvoke(HELLO)).text == "Hello"
    assert pauses.waited == [0.5]


@pytest.mark.parametrize(
    ("failure", "meaning"),
    [
        ("throttlingException", ModelThrottledError),
        ("validationException", ModelRefusedError),
        ("somethingNewException", ModelUnavailableError),
        ("serviceUnavailableException", ModelUnavailableError),
        (None, ModelUnavailableError),
    ],
)
async def test_after_the_first_word_nothing_is_tried_again(
    failure: str | None, meaning: type[ModelError], wire: ConverseWire, model: BaseChatModel, pauses: Pauses
) -> None:
    """Whoever has read half an answer must not be given another."""
    wire.script = [Answer(["Half an "], failure=failure, cut=failure is None)]
    words: list[str] = []

    async def listen() -> None:
        async for chunk in model.astream(HELLO):
            words.append(chunk.text)  # noqa: PERF401 - what came before the error counts

    with pytest.raises(meaning):
        await listen()

    assert "".join(words) == "Half an "
    assert len(wire.asked) == 1
    assert not pauses.waited


@pytest.mark.parametrize(
    ("failure", "meaning", "requests"),
    [
        (THROTTLED, ModelThrottledError, 3),
        (Refuse(400, "ServiceQuotaExceededException"), ModelThrottledError, 3),
        (Refuse(408, "ModelTimeoutException"), ModelTimeoutError, 3),
        (Refuse(500, "InternalServerException"), ModelUnavailableError, 3),
        (Refuse(400, "ValidationException"), ModelRefusedError, 1),
        (Refuse(403, "AccessDeniedException"), ModelForbiddenError, 1),
        (Refuse(404, "ResourceNotFoundException"), ModelForbiddenError, 1),
        (Refuse(400, "ValidationException", "Input is too long for requested model."), ModelRefusedError, 1),
    ],
    ids=lambda value: getattr(value, "code", None) if isinstance(value, Refuse) else "",
)
@pytest.mark.parametrize("how", ["stream", "whole"])
async def test_errors_have_the_products_names(
    how: str, failure: Refuse, meaning: type[ModelError], requests: int, wire: ConverseWire, model: BaseChatModel
) -> None:
    wire.script = [failure] * 5

    with pytest.raises(meaning) as refusal:
        await (streamed(model) if how == "stream" else model.ainvoke(HELLO))

    assert type(refusal.value) is meaning
    assert len(wire.asked) == requests
    assert "secret" not in str(refusal.value)


async def test_a_model_that_is_silent_for_too_long_has_timed_out(wire: ConverseWire, pauses: Pauses) -> None:
    gate = threading.Event()
    wire.script = [Answer(["never"], gate=gate)]
    model = model_on(wire, pauses.attempts(most=1), read_timeout=0.1)

    with pytest.raises(ModelTimeoutError):
        await streamed(model)
    gate.set()


async def test_no_attempt_begins_once_patience_is_over(wire: ConverseWire, pauses: Pauses) -> None:
    wire.script = [THROTTLED, Answer(["too late"])]

    with pytest.raises(ModelThrottledError):
        await streamed(model_on(wire, pauses.attempts(patience=0.0)))

    assert len(wire.asked) == 1


async def test_a_server_that_is_not_there_is_unavailable(pauses: Pauses) -> None:
    with converse_wire() as wire:
        pass

    with pytest.raises(ModelUnavailableError):
        await streamed(model_on(wire, pauses.attempts()))

    assert len(pauses.waited) == 2


@pytest.mark.parametrize("stop", ["content_filtered", "guardrail_intervened"])
@pytest.mark.parametrize("how", ["stream", "whole"])
async def test_an_answer_that_was_filtered_away_is_a_refusal(
    how: str, stop: str, wire: ConverseWire, model: BaseChatModel
) -> None:
    wire.script = [Answer(stop=stop)]

    with pytest.raises(ModelRefusedError):
        await (streamed(model) if how == "stream" else model.ainvoke(HELLO))

    assert len(wire.asked) == 1


async def test_a_guardrails_own_words_are_an_answer(wire: ConverseWire, model: BaseChatModel) -> None:
    wire.script = [Answer(["I cannot talk about that."], stop="guardrail_intervened")]

    assert text(await streamed(model)) == "I cannot talk about that."


async def test_an_answer_without_words_is_an_empty_answer(wire: ConverseWire, model: BaseChatModel) -> None:
    wire.script = [Answer()]

    assert text(await streamed(model)) == ""


async def test_a_caller_that_leaves_does_not_wait_for_the_model(wire: ConverseWire, model: BaseChatModel) -> None:
    gate = threading.Event()
    wire.script = [Answer(["first ", "second"], gate=gate, gate_after=1)]
    heard = asyncio.Event()

    async def listen() -> None:
        async for chunk in model.astream(HELLO):
            if chunk.text:
                heard.set()

    listening = asyncio.create_task(listen())
    await heard.wait()
    listening.cancel()

    with pytest.raises(asyncio.CancelledError):
        await listening
    assert not gate.is_set()
    gate.set()


async def test_a_mistake_in_the_program_is_no_fault_of_the_models(model: BaseChatModel) -> None:
    with pytest.raises(TypeError):
        await model.ainvoke(HELLO, no_such_option=1)


def test_waits_grow_and_are_spread() -> None:
    drawn: list[tuple[float, float]] = []

    def spread(low: float, high: float) -> float:
        drawn.append((low, high))
        return 0.25

    attempts = Attempts(first_wait=0.5, longest_wait=3.0, spread=spread)

    assert [attempts.wait_after(failures) for failures in (1, 2, 3, 4)] == [0.25] * 4
    assert drawn == [(0.0, 0.5), (0.0, 1.0), (0.0, 2.0), (0.0, 3.0)]


@pytest.mark.parametrize(
    ("model_id", "base"),
    [
        ("anthropic.claude-sonnet-4-6", "anthropic.claude-sonnet-4-6"),
        ("eu.amazon.nova-lite-v1:0", "amazon.nova-lite-v1:0"),
        ("us-gov.anthropic.claude-3-7-sonnet-20250219-v1:0", "anthropic.claude-3-7-sonnet-20250219-v1:0"),
        (
            "arn:aws:bedrock:eu-central-1:111122223333:inference-profile/eu.amazon.nova-pro-v1:0",
            "amazon.nova-pro-v1:0",
        ),
    ],
)
def test_inference_profiles_and_arns_are_models(model_id: str, base: str, wire: ConverseWire) -> None:
    made = chat_model(client_on(wire), model_id, max_tokens=10)

    assert (made.model_id, made.base_model_id, made.provider) == (model_id, base, base.partition(".")[0])
    assert made.disable_streaming is False


def test_an_application_inference_profile_needs_its_model_named(wire: ConverseWire) -> None:
    client = client_on(wire)
    arn = "arn:aws:bedrock:eu-central-1:111122223333:application-inference-profile/abc123"

    with pytest.raises(ValueError, match="foundation model"):
        chat_model(client, arn, max_tokens=10)

    named = chat_model(client, arn, max_tokens=10, foundation_model_id="anthropic.claude-sonnet-4-6")
    assert named.disable_streaming is False
