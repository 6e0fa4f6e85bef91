"""The chat API's documents: ``python -m functions.chat.openapi`` writes its OpenAPI and the pages of its tables."""

import json
from pathlib import Path
from typing import Any, Final

from ag_ui.core import RunAgentInput

from functions.chat import compatibility
from functions.chat.app import routed_app
from shared.adapters.langgraph_api.run_options import as_markdown
from shared.adapters.routes import routes_of

_FOLDER: Final = Path(__file__).parents[2] / "docs" / "api"
DOCUMENT: Final = _FOLDER / "chat.openapi.json"
RUN_OPTIONS: Final = _FOLDER / "run-options.md"
COMPATIBILITY: Final = _FOLDER / "compatibility.md"

_PREFACE: Final = """# What each option of a run means

For runs in a thread; the options of runs without one are in [compatibility.md](compatibility.md). *Honoured* does what
LangGraph's own server does; *accepted* means what is said here and nothing else; *refused* is a 422 that names the
option. What is not in the table is refused by its name. Null is the same as not given. This page is made of the table
that the API itself reads (`make openapi`).

"""


def document() -> dict[str, Any]:
    """Give the document of the app as it is."""
    schema = routed_app().openapi()
    schema["components"]["securitySchemes"] = {
        "idToken": {"type": "http", "scheme": "bearer", "description": "An ID token of the user pool."}
    }
    _describe_agui(schema)
    for route in routes_of("chat"):
        schema["paths"][route.path][route.method.lower()]["security"] = [] if route.public else [{"idToken": []}]
    return schema


def _describe_agui(schema: dict[str, Any]) -> None:
    """Add the body that the app itself reads without FastAPI, so as to load the protocol only when it is spoken."""
    body = RunAgentInput.model_json_schema(ref_template="#/components/schemas/Agui{model}")
    parts = body.pop("$defs")
    schema["components"]["schemas"].update({f"Agui{name}": part for name, part in parts.items()})
    schema["paths"]["/agui"]["post"]["requestBody"] = {
        "required": True,
        "content": {"application/json": {"schema": body}},
    }


def text() -> str:
    """Give the document as it is committed: keys sorted, one line end."""
    return json.dumps(document(), indent=2, sort_keys=True, ensure_ascii=False) + "\n"


def run_options() -> str:
    """Give the page of run options as it is committed."""
    return _PREFACE + as_markdown()


if __name__ == "__main__":
    _FOLDER.mkdir(parents=True, exist_ok=True)
    DOCUMENT.write_text(text(), encoding="utf-8")
    RUN_OPTIONS.write_text(run_options(), encoding="utf-8")
    COMPATIBILITY.write_text(compatibility.page(document()), encoding="utf-8")
