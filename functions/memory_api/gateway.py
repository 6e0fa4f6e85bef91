"""What Mangum leaves undone between an API Gateway event and an ASGI app."""

from urllib.parse import unquote

from mangum.handlers.api_gateway import APIGateway
from mangum.types import LambdaConfig, LambdaContext, LambdaEvent, Scope


class RestApi(APIGateway):
    """Reads events of a REST API.

    REST APIs hand the path on as it was sent, percent-encoded (HTTP APIs decode it), while ASGI wants it decoded;
    Mangum takes it as it is for both. Decoded once here: ``%25`` becomes ``%`` and stays one.
    """

    @classmethod
    def infer(cls, event: LambdaEvent, context: LambdaContext, config: LambdaConfig) -> bool:
        """Say whether the event is one of these."""
        return "httpMethod" in event and "resource" in event

    @property
    def scope(self) -> Scope:
        """The request as an ASGI scope."""
        scope = super().scope
        encoded = scope["path"]
        return {**scope, "path": unquote(encoded), "raw_path": encoded.encode()}
