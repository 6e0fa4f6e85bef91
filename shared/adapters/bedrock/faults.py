"""What Bedrock's errors mean to the product.

Bedrock's own texts stay in the exception chain: they can quote the request, which no client and no log may see.
"""

from collections.abc import Mapping
from typing import Final

from botocore.exceptions import BotoCoreError, ClientError, ConnectTimeoutError, HTTPClientError, ReadTimeoutError
from botocore.exceptions import ConnectionError as NoConnectionError
from urllib3.exceptions import HTTPError
from urllib3.exceptions import ReadTimeoutError as StreamTimeoutError

from shared.domain.errors import (
    ModelError,
    ModelForbiddenError,
    ModelRefusedError,
    ModelThrottledError,
    ModelTimeoutError,
    ModelUnavailableError,
)

# Names as the service has them, without "Exception": in a stream they begin with a small letter.
_BY_NAME: Final[Mapping[str, type[ModelError]]] = {
    "throttling": ModelThrottledError,
    "toomanyrequests": ModelThrottledError,
    "servicequotaexceeded": ModelThrottledError,
    "modeltimeout": ModelTimeoutError,
    "requesttimeout": ModelTimeoutError,
    "modelnotready": ModelUnavailableError,
    "modelerror": ModelUnavailableError,
    "modelstreamerror": ModelUnavailableError,
    "internalserver": ModelUnavailableError,
    "internalfailure": ModelUnavailableError,
    "serviceunavailable": ModelUnavailableError,
    "validation": ModelRefusedError,
    "accessdenied": ModelForbiddenError,
    "resourcenotfound": ModelForbiddenError,
}

_TEXTS: Final[Mapping[type[ModelError], str]] = {
    ModelThrottledError: "The model is over its quota at the moment.",
    ModelTimeoutError: "The model did not answer in time.",
    ModelUnavailableError: "The model cannot be reached at the moment.",
    ModelRefusedError: "The model refused the request.",
    ModelForbiddenError: "The model may not be used, or is not there.",
    ModelError: "The model gave nothing that can be used.",
}

_CALLERS_FAULT: Final = range(400, 500)


def model_error(error: Exception) -> ModelError | None:
    """Say what an error of a model call means.

    Parameters
    ----------
    error : Exception
        Whatever botocore, its HTTP client or langchain-aws raised.

    Returns
    -------
    ModelError or None
        Its ``retryable`` says whether another attempt may succeed. ``None`` for what is no fault of the model's
        but of the program's.
    """
    if isinstance(error, ModelError):
        return error
    kind = _kind(error)
    return None if kind is None else kind(_TEXTS[kind])


def _kind(error: Exception) -> type[ModelError] | None:
    match error:
        case ClientError():
            return _kind_of_answer(error)
        case ReadTimeoutError() | ConnectTimeoutError() | StreamTimeoutError():
            return ModelTimeoutError
        # ConnectionError is what langchain-aws says of a stream that stopped in the middle.
        case NoConnectionError() | HTTPClientError() | HTTPError() | ConnectionError():
            return ModelUnavailableError
        # ValueError is what langchain-aws makes of an answer that it cannot read.
        case BotoCoreError() | ValueError():
            return ModelError
        case _:
            return None


def _kind_of_answer(error: ClientError) -> type[ModelError]:
    name = error.response.get("Error", {}).get("Code", "").lower().removesuffix("exception")
    if name in _BY_NAME:
        return _BY_NAME[name]
    # An error in mid-stream has no status, and no name either when botocore does not know it.
    status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
    return ModelRefusedError if status in _CALLERS_FAULT else ModelUnavailableError
