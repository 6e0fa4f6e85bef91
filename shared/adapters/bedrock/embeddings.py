"""Embeddings on Bedrock, one text a call: Titan's model takes no more."""

import json
from typing import TYPE_CHECKING, Any, Final

from shared.adapters.aws import in_thread
from shared.adapters.bedrock.attempts import Attempts, AttemptsAtCall
from shared.domain.errors import ModelError
from shared.domain.kb.hits import Vector

if TYPE_CHECKING:
    from mypy_boto3_bedrock_runtime import BedrockRuntimeClient

_JSON: Final = "application/json"


class TitanEmbeddings:
    """Titan Text Embeddings V2, or what answers as it does; implements the port ``Embedder``.

    langchain-aws has a class for this too; it gives up a whole list of texts when one is throttled.

    Parameters
    ----------
    client : BedrockRuntimeClient
        Its own retries should be off: these attempts are counted here.
    model_id : str
        ``amazon.titan-embed-text-v2:0``, or an inference profile of it.
    dimension : int
        How many numbers each vector has; Titan's gives 256, 512 or 1,024.
    attempts : Attempts, optional
        How often to try a text.
    """

    def __init__(
        self,
        client: "BedrockRuntimeClient",
        model_id: str,
        *,
        dimension: int = 1024,
        attempts: Attempts | None = None,
    ) -> None:
        self._client = client
        self._model_id = model_id
        self._dimension = dimension
        self._attempts = attempts or Attempts()

    @property
    def dimension(self) -> int:
        """How many numbers each vector has."""
        return self._dimension

    async def embed(self, text: str) -> Vector:
        """Give the vector of one text, of length 1.

        Parameters
        ----------
        text : str
            Of at most 8,192 tokens. Blank ones are refused.

        Raises
        ------
        ModelError
            When the model gives no vector of the dimension; ``retryable`` says whether it may later.
        """
        attempts = AttemptsAtCall(self._attempts)
        while True:
            try:
                return await in_thread(self._invoke, text)
            except Exception as error:  # noqa: BLE001 - told apart and raised again in there
                await attempts.failed(error)

    def _invoke(self, text: str) -> Vector:
        body = {"inputText": text, "dimensions": self._dimension, "normalize": True}
        reply = self._client.invoke_model(
            modelId=self._model_id, body=json.dumps(body), contentType=_JSON, accept=_JSON
        )
        answer: Any = json.loads(reply["body"].read())
        vector = answer.get("embedding") if isinstance(answer, dict) else None  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
        if not isinstance(vector, list) or len(vector) != self._dimension:  # pyright: ignore[reportUnknownArgumentType]
            raise ModelError(f"The model gave no vector of {self._dimension} numbers.")
        return vector  # pyright: ignore[reportUnknownVariableType]
