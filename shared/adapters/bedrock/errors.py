"""What can go wrong with a model, in the product's words."""

from typing import Final

from botocore.exceptions import BotoCoreError, ClientError, ConnectTimeoutError, ReadTimeoutError

from shared.domain.errors import ModelError, ModelRefusedError, ModelThrottledError, ModelTimeoutError

_KINDS: Final[dict[str, type[ModelError]]] = {
    "throttlingexception": ModelThrottledError,
    "servicequotaexceededexception": ModelThrottledError,
    "serviceunavailableexception": ModelThrottledError,
    "modelnotreadyexception": ModelThrottledError,
    "modeltimeoutexception": ModelTimeoutError,
    "validationexception": ModelRefusedError,
    "accessdeniedexception": ModelRefusedError,
    "resourcenotfoundexception": ModelRefusedError,
}


def model_error_of(error: Exception) -> ModelError:
    """Say what an error of a model call means.

    Parameters
    ----------
    error : Exception
        Whatever the call, or the reading of its answer, raised.

    Returns
    -------
    ModelError
        Of the nearest kind, with a message that repeats nothing of the request or the answer. To be raised
        ``from`` the error.
    """
    if isinstance(error, ModelError):
        return error
    if isinstance(error, ReadTimeoutError | ConnectTimeoutError | TimeoutError):
        return ModelTimeoutError("The model did not answer in time.")
    if isinstance(error, ClientError):
        # Errors inside an event stream carry the same codes with a small first letter.
        code = error.response.get("Error", {}).get("Code", "ClientError")
        return _KINDS.get(code.lower(), ModelError)(f"The model call failed with {code}.")
    if isinstance(error, BotoCoreError):
        return ModelError(f"The model call failed with {type(error).__name__}.")
    return ModelError("The model's answer could not be read.")
