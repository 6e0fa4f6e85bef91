"""InvokeModel for embeddings: Titan's request and reply, with the small model of this machine behind it."""

import asyncio
import json
import math
from typing import Any, Final

from local.model.minilm.model import DIMENSION, MiniLmMissingError, embed
from local.model.reply import ModelFailure

EMBEDDING_MODEL: Final = "local.all-minilm-l6-v2"
"""The id by which the product asks for it, with ``DIMENSION`` numbers a vector."""

# Titan's own limits: what is refused in the cloud is refused here.
_MOST_CHARACTERS: Final = 50_000
_MOST_TOKENS: Final = 8_192
_FIELDS: Final = frozenset({"inputText", "dimensions", "normalize", "embeddingTypes"})


async def invoke_embedding(raw: bytes) -> dict[str, Any]:
    """Answer one request.

    Parameters
    ----------
    raw : bytes
        The body as it came.

    Raises
    ------
    ModelFailure
        As Bedrock would refuse it, or when the model is not installed.
    """
    request = _read(raw)
    try:
        embedded = await asyncio.to_thread(embed, request["inputText"])
    except MiniLmMissingError as error:
        raise ModelFailure("ResourceNotFoundException", str(error)) from error
    if embedded.pieces > _MOST_TOKENS:
        raise ModelFailure("ValidationException", f"Too many input tokens: {embedded.pieces} of {_MOST_TOKENS}.")
    vector = _unit(embedded.vector) if request.get("normalize", True) else embedded.vector
    return {
        "embedding": vector,
        "embeddingsByType": {"float": vector},
        "inputTextTokenCount": embedded.pieces,
    }


def _read(raw: bytes) -> dict[str, Any]:
    try:
        request = json.loads(raw)
    except ValueError as error:
        raise ModelFailure("ValidationException", "The body is no JSON.") from error
    if not isinstance(request, dict) or request.keys() - _FIELDS:
        raise ModelFailure("ValidationException", f"The body takes {', '.join(sorted(_FIELDS))}.")
    text = request.get("inputText")
    if not isinstance(text, str) or not text.strip() or len(text) > _MOST_CHARACTERS:
        raise ModelFailure("ValidationException", f"inputText must have 1 to {_MOST_CHARACTERS} characters.")
    if request.get("dimensions", DIMENSION) != DIMENSION:
        raise ModelFailure("ValidationException", f"This model has {DIMENSION} dimensions, and no others.")
    if request.get("embeddingTypes", ["float"]) != ["float"]:
        raise ModelFailure("ValidationException", "This model gives floats only.")
    return request


def _unit(vector: list[float]) -> list[float]:
    length = math.hypot(*vector)
    return [number / length for number in vector] if length else vector
