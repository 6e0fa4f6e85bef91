"""The chat API's OpenAPI document: ``python -m functions.chat.openapi`` writes it."""

import json
from pathlib import Path
from typing import Any, Final

from functions.chat.app import routed_app
from shared.adapters.routes import routes_of

DOCUMENT: Final = Path(__file__).parents[2] / "docs" / "api" / "chat.openapi.json"


def document() -> dict[str, Any]:
    """Give the document of the app as it is."""
    schema = routed_app().openapi()
    schema["components"]["securitySchemes"] = {
        "idToken": {"type": "http", "scheme": "bearer", "description": "An ID token of the user pool."}
    }
    for route in routes_of("chat"):
        schema["paths"][route.path][route.method.lower()]["security"] = [] if route.public else [{"idToken": []}]
    return schema


def text() -> str:
    """Give the document as it is committed: keys sorted, one line end."""
    return json.dumps(document(), indent=2, sort_keys=True, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    DOCUMENT.parent.mkdir(parents=True, exist_ok=True)
    DOCUMENT.write_text(text(), encoding="utf-8")
