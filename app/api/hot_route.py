"""A route for requests that come many times a second."""

from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import Request, Response
from fastapi.routing import APIRoute


class HotRoute(APIRoute):
    """A route whose function gets the request and its path parameters and returns a Response, with nothing between.

    Dependencies do not work here: the function authenticates the caller and reads the body itself. It is documented
    like every other route.
    """

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        endpoint = self.endpoint

        async def handle(request: Request) -> Response:
            response: Response = await endpoint(request, **request.path_params)
            return response

        return handle
