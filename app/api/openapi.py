"""The description of the API: what FastAPI finds, and the bodies that our routes read themselves."""

from collections.abc import Callable
from typing import Any, Final

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic.json_schema import models_json_schema

from app.api.known_fields import BODIES

_REFERENCE: Final = "#/components/schemas/{model}"
_OPTIONAL: Final = frozenset({"commit", "sessions", "key"})
_UNUSED: Final = ("HTTPValidationError", "ValidationError")
_KEYS: Final = {
    "ApiKey": {"type": "apiKey", "in": "header", "name": "X-API-Key"},
    "Bearer": {"type": "http", "scheme": "bearer"},
}


def describe(app: FastAPI) -> Callable[[], dict[str, Any]]:
    """Return the function that FastAPI asks for the description; it is built once."""

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            app.openapi_schema = _built(app)
        return app.openapi_schema

    return openapi


def _built(app: FastAPI) -> dict[str, Any]:
    document = get_openapi(title=app.title, version=app.version, description=app.description, routes=app.routes)
    schemas = document.setdefault("components", {}).setdefault("schemas", {})
    _, bodies = models_json_schema([(body, "validation") for body in set(BODIES.values())], ref_template=_REFERENCE)
    schemas.update(bodies.get("$defs", {}))
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            operation["responses"].pop("422", None)
            body = BODIES.get(f"{method.upper()} {path}")
            if body is not None:
                operation["requestBody"] = _request_body(body.__name__, path)
            if path.startswith("/api/"):
                operation["security"] = [{name: []} for name in _KEYS]
    for name in _UNUSED:
        schemas.pop(name, None)
    document["components"]["securitySchemes"] = _KEYS
    return document


def _request_body(schema: str, path: str) -> dict[str, Any]:
    reference = {"$ref": _REFERENCE.format(model=schema)}
    required = path.rsplit("/", 1)[-1] not in _OPTIONAL
    return {"required": required, "content": {"application/json": {"schema": reference}}}
