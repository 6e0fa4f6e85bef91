"""Chat models on Bedrock's Converse API.

langchain-aws makes the requests and reads the answers; here they are made fit for a streaming server: beside the
event loop, tried again as long as nobody has seen a token, and failing with the product's own errors.
"""

from collections.abc import AsyncIterator
from contextlib import aclosing
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from langchain_aws.chat_models.bedrock_converse import ChatBedrockConverse
from langchain_core.callbacks import AsyncCallbackManagerForLLMRun
from langchain_core.messages import BaseMessage
from langchain_core.outputs import ChatGenerationChunk, ChatResult
from pydantic import Field

from shared.adapters.aws import in_thread, iterate_in_thread
from shared.adapters.bedrock.attempts import Attempts, AttemptsAtCall
from shared.adapters.bedrock.model_ids import foundation_model, provider_of
from shared.domain.errors import ModelRefusedError

if TYPE_CHECKING:
    from mypy_boto3_bedrock_runtime import BedrockRuntimeClient

_REFUSALS: Final = frozenset({"content_filtered", "guardrail_intervened", "refusal"})


def chat_model(
    client: "BedrockRuntimeClient",
    model_id: str,
    *,
    max_tokens: int,
    temperature: float | None = None,
    foundation_model_id: str | None = None,
    attempts: Attempts | None = None,
) -> ChatBedrockConverse:
    """Make a chat model.

    Parameters
    ----------
    client : BedrockRuntimeClient
        Its own retries should be off: they cannot tell whether a stream has begun.
    model_id : str
        A model, an inference profile, or the ARN of either.
    max_tokens : int
        Of one answer.
    temperature : float, optional
        The model's own by default; models that take none are not sent any.
    foundation_model_id : str, optional
        Which model stands behind an application inference profile, whose ARN does not tell.
    attempts : Attempts, optional
        How often to try before the first token.

    Raises
    ------
    ValueError
        When the ARN is of an application inference profile and ``foundation_model_id`` is missing.
    """
    base = foundation_model_id or foundation_model(model_id)
    return BedrockChatModel(
        client=client,
        # Only asked for application inference profiles; given so that no second client is made.
        bedrock_client=client,
        model=model_id,
        base_model=base,
        provider=provider_of(base),
        max_tokens=max_tokens,
        temperature=temperature,
        attempts=attempts or Attempts(),
    )


class BedrockChatModel(ChatBedrockConverse):
    """``ChatBedrockConverse`` whose asynchronous methods retry before the first token and raise ``ModelError``.

    The methods that LangChain's public ones (``ainvoke``, ``astream``, also behind ``bind_tools`` and
    ``with_structured_output``) end in are overridden; the synchronous ones are as langchain-aws has them.

    Parameters
    ----------
    attempts : Attempts
        How often to try.
    """

    attempts: Attempts = Field(default_factory=Attempts, exclude=True)

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,  # noqa: ANN401 - as in LangChain
    ) -> AsyncIterator[ChatGenerationChunk]:
        run = AttemptsAtCall(self.attempts)
        while True:
            # What comes before the first token is held back: after it the call can no longer be made again.
            held: list[ChatGenerationChunk] = []
            spoken = False
            try:
                call = partial(super()._stream, messages, stop, None, **kwargs)
                async with aclosing(iterate_in_thread(call)) as chunks:
                    async for chunk in chunks:
                        _lighten(chunk.message)
                        spoken = spoken or _says_something(chunk.message)
                        held.append(chunk)
                        if not spoken:
                            _refuse_refusals(chunk.message)
                            continue
                        for each in held:
                            yield each
                        held.clear()
            except Exception as error:  # noqa: BLE001 - told apart and raised again in there
                await run.failed(error, final=spoken)
                continue
            for each in held:
                yield each
            return

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,  # noqa: ANN401 - as in LangChain
    ) -> ChatResult:
        run = AttemptsAtCall(self.attempts)
        while True:
            try:
                result = await in_thread(super()._generate, messages, stop, None, **kwargs)
                message = result.generations[0].message
                _lighten(message)
                if not _says_something(message):
                    _refuse_refusals(message)
            except Exception as error:  # noqa: BLE001 - told apart and raised again in there
                await run.failed(error)
                continue
            return result


def _says_something(message: BaseMessage) -> bool:
    # Thoughts and tool calls are content blocks too. What opens and closes a message has none.
    return bool(message.content)  # pyright: ignore[reportUnknownMemberType]


def _refuse_refusals(message: BaseMessage) -> None:
    if message.response_metadata.get("stopReason") in _REFUSALS:
        raise ModelRefusedError("The model refused to answer.")


def _lighten(message: BaseMessage) -> None:
    # Half a kilobyte of HTTP headers on every answer, which would be stored in every checkpoint.
    message.response_metadata.pop("ResponseMetadata", None)
