"""The routes by which tests steer the scripted source. Loopback only, like everything of the local model."""

from pydantic import ValidationError
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from local.model.script import Script
from local.model.scripted import ScriptedSource

PREFIX = "/_control"


def control_routes(source: ScriptedSource) -> list[BaseRoute]:
    """Give the control routes of a source.

    Returns
    -------
    list of BaseRoute
        ``POST /_control/scripts`` puts a script up and answers its id, ``DELETE /_control/scripts/{id}`` takes it
        down; ``GET /_control/gates/{gate}`` tells how many replies wait there, ``POST`` opens it;
        ``GET /_control/requests?contains=…`` gives the recorded requests.
    """

    async def add(request: Request) -> Response:
        try:
            script = Script.model_validate_json(await request.body())
        except ValidationError as error:
            return JSONResponse({"message": str(error)}, status_code=400)
        source.add(script)
        return JSONResponse({"id": script.id}, status_code=201)

    async def remove(request: Request) -> Response:
        source.remove(request.path_params["script_id"])
        return Response(status_code=204)

    async def waiting(request: Request) -> Response:
        return JSONResponse({"waiting": source.waiting.get(request.path_params["gate"], 0)})

    async def open_gate(request: Request) -> Response:
        source.open(request.path_params["gate"])
        return Response(status_code=204)

    async def recorded(request: Request) -> Response:
        records = source.recorded(request.query_params.get("contains"))
        return JSONResponse([record.model_dump() for record in records])

    return [
        Route(f"{PREFIX}/scripts", add, methods=["POST"]),
        Route(f"{PREFIX}/scripts/{{script_id}}", remove, methods=["DELETE"]),
        Route(f"{PREFIX}/gates/{{gate}}", waiting, methods=["GET"]),
        Route(f"{PREFIX}/gates/{{gate}}", open_gate, methods=["POST"]),
        Route(f"{PREFIX}/requests", recorded, methods=["GET"]),
    ]
