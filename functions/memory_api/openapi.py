"""The memory API's OpenAPI document: ``python -m functions.memory_api.openapi`` writes it."""

import json
from pathlib import Path
from typing import Any, Final

from functions.memory_api.app import routed_app

DOCUMENT: Final = Path(__file__).parents[2] / "docs" / "api" / "memory_api.openapi.json"


def document() -> dict[str, Any]:
    """Give the document of the app as it is."""
    schema = routed_app().openapi()
    for methods in schema["paths"].values():
        for operation in methods.values():
            # FastAPI's own answer to what does not fit; here paths hold text, and what does not fit is a 400 or 404.
            operation["responses"].pop("422", None)
    for unused in ("HTTPValidationError", "ValidationError"):
        schema["components"]["schemas"].pop(unused, None)
    schema["components"]["securitySchemes"] = {
        "idToken": {"type": "http", "scheme": "bearer", "description": "An ID token of the user pool."}
    }
    schema["security"] = [{"idToken": []}]
    return schema


def text() -> str:
    """Give the document as it is committed: keys sorted, one line end."""
    return json.dumps(document(), indent=2, sort_keys=True, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    DOCUMENT.parent.mkdir(parents=True, exist_ok=True)
    DOCUMENT.write_text(text(), encoding="utf-8")
