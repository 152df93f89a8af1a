"""The pages a person sees in a browser: for now a plain front page and the list of routes.

Everything comes from this server: no script, one style sheet, and a policy that allows nothing else.
"""

from pathlib import Path
from typing import Any, Final

from fastapi import APIRouter, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from app.bootstrap import Services

_FOLDER: Final = Path(__file__).parent
_STYLE: Final = (_FOLDER / "static" / "console.css").read_bytes()
_HEADERS: Final = {
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-cache",
}
_templates: Final = Environment(
    loader=FileSystemLoader(_FOLDER / "templates"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)

router: Final = APIRouter(include_in_schema=False)


@router.get("/")
async def front_door() -> RedirectResponse:
    """Lead whoever opens the address that `serve` prints to the page for people."""
    return RedirectResponse("/console")


@router.get("/console")
async def front_page(request: Request) -> HTMLResponse:
    """Say what this server is and what of it works."""
    services: Services = request.app.state.services
    return _page(
        "front.html",
        version=request.app.version,
        provider=services.provider,
        auth_mode=services.auth_mode,
    )


@router.get("/docs")
async def route_list(request: Request) -> HTMLResponse:
    """List every route with what it takes, from the same description as /openapi.json."""
    description = request.app.openapi()
    return _page("routes.html", version=request.app.version, routes=_routes(description))


@router.get("/console/static/console.css")
async def style() -> Response:
    return Response(_STYLE, media_type="text/css", headers=_HEADERS)


def _page(template: str, **values: object) -> HTMLResponse:
    return HTMLResponse(_templates.get_template(template).render(values), headers=_HEADERS)


def _routes(description: dict[str, Any]) -> list[dict[str, Any]]:
    schemas = description["components"]["schemas"]
    return [
        {
            "method": method.upper(),
            "path": path,
            "summary": operation.get("summary", ""),
            "description": operation.get("description", ""),
            "parameters": [_parameter(one) for one in operation.get("parameters", [])],
            "fields": _fields(operation.get("requestBody"), schemas),
        }
        for path, operations in description["paths"].items()
        for method, operation in operations.items()
    ]


def _parameter(parameter: dict[str, Any]) -> dict[str, str]:
    return {"name": parameter["name"], "place": parameter["in"], "note": parameter.get("description", "")}


def _fields(body: dict[str, Any] | None, schemas: dict[str, Any]) -> list[str]:
    if body is None:
        return []
    name = body["content"]["application/json"]["schema"]["$ref"].rsplit("/", 1)[-1]
    return list(schemas[name]["properties"])
