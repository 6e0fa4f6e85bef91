"""Real Bedrock behind the local model's address.

The functions of the local cloud carry the emulator's credentials, which Bedrock would refuse. So their requests
come here and go on signed with the credentials of whoever started the local product; the credentials stay in this
one process. Bytes are passed on as they are, in both directions. Only embeddings stay here: an index holds vectors of
one model, and the local one is to outlive a change of what answers the chat.
"""

from collections.abc import AsyncIterator

import httpx
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.session import Session
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from local.model.server import embedding_route

_PASSED_BACK = ("content-type", "x-amzn-requestid", "x-amzn-errortype")


class NoCredentialsError(RuntimeError):
    """``MODEL=bedrock`` without AWS credentials or region."""


def bedrock_app(session: Session | None = None, *, client: httpx.AsyncClient | None = None) -> Starlette:
    """Build the server that passes requests on to Bedrock.

    Parameters
    ----------
    session : botocore.session.Session, optional
        Where credentials and region come from; by default the machine's own (environment, profile, SSO).
    client : httpx.AsyncClient, optional
        For tests.

    Raises
    ------
    NoCredentialsError
        When the session has no credentials or no region.
    """
    session = session or Session()
    credentials = session.get_credentials()
    region = session.get_config_variable("region")
    if credentials is None or not region:
        raise NoCredentialsError("MODEL=bedrock needs AWS credentials and a region (AWS_PROFILE, AWS_REGION).")
    endpoint = f"https://bedrock-runtime.{region}.amazonaws.com"
    http = client or httpx.AsyncClient(timeout=httpx.Timeout(300, connect=5))

    async def pass_on(request: Request) -> Response:
        raw_path = request.scope["raw_path"].decode("ascii")
        body = await request.body()
        signed = AWSRequest(
            method="POST",
            url=endpoint + raw_path,
            data=body,
            headers={
                "content-type": request.headers.get("content-type", "application/json"),
                "accept": request.headers.get("accept", "*/*"),
            },
        )
        SigV4Auth(credentials.get_frozen_credentials(), "bedrock", region).add_auth(signed)
        prepared = signed.prepare()
        outgoing = http.build_request("POST", prepared.url, content=body, headers=dict(prepared.headers))
        try:
            answer = await http.send(outgoing, stream=True)
        except httpx.HTTPError as error:
            return JSONResponse(
                {"message": f"Bedrock in {region} cannot be reached: {type(error).__name__}."},
                status_code=503,
                headers={"x-amzn-errortype": "ServiceUnavailableException"},
            )
        headers = {name: answer.headers[name] for name in _PASSED_BACK if name in answer.headers}
        return StreamingResponse(_body(answer), status_code=answer.status_code, headers=headers)

    return Starlette(routes=[embedding_route(), Route("/model/{rest:path}", pass_on, methods=["POST"])])


async def _body(answer: httpx.Response) -> AsyncIterator[bytes]:
    try:
        async for chunk in answer.aiter_bytes():
            yield chunk
    finally:
        await answer.aclose()
