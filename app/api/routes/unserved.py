"""Routes of OpenViking that are not served: an honest 501 in the envelope, so that clients fall back or say why."""

from typing import Final

from fastapi import APIRouter, Request, Response

from app.api.auth import AnyCaller
from app.domain.errors import NotImplementedHere

_METHODS: Final = ["GET", "POST", "PUT", "PATCH", "DELETE"]
FAMILIES: Final = (
    "acl", "content", "debug", "fs", "git", "observer", "ovpack", "privacy", "resources", "search", "skills", "stats",
    "system/wait", "watches",
)  # fmt: skip
OF_A_SESSION: Final = ("used", "extract")

router: Final = APIRouter(include_in_schema=False)


async def not_served(request: Request, caller: AnyCaller) -> Response:
    """Say that this route is known and not served, to callers who may ask at all."""
    raise NotImplementedHere(
        f"{request.method} {request.url.path} is not served by this release of Cairn; /docs lists the routes that are.",
        {"route": request.url.path},
    )


for family in FAMILIES:
    router.add_api_route(f"/api/v1/{family}", not_served, methods=_METHODS)
    router.add_api_route(f"/api/v1/{family}/{{rest:path}}", not_served, methods=_METHODS)
for name in OF_A_SESSION:
    router.add_api_route(f"/api/v1/sessions/{{session_id}}/{name}", not_served, methods=["POST"])
