"""Call the routes that ask the model without the web framework's layers around each route.

FastAPI wraps each route in the parsing of parameters, the injection of dependencies and the
handling of errors. These routes use none of it: they take the request and the names in the path,
and raise RequestError alone. It costs more CPU than reading the request and writing the answer.
"""

from fastapi import FastAPI, Request
from fastapi.routing import APIRoute
from starlette.routing import Match

from plumbline.serving.errors import RequestError
from plumbline.serving.guards import App, Receive, Scope, Send
from plumbline.serving.responses import handle_request_error

NAMES = ("invocations", "infer")  # of the routes


class DirectRoutes:
    """ASGI middleware in front of the framework's router, which gets all other requests."""

    def __init__(self, app: App, routes: list[APIRoute]) -> None:
        self._app = app
        self._routes = routes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request to one of the routes, or pass it on."""
        if scope["type"] == "http" and scope["method"] == "POST":
            for route in self._routes:
                match, found = route.matches(scope)
                if match is Match.FULL:
                    scope.update(found)
                    return await _call_route(route, Request(scope, receive, send))
        return await self._app(scope, receive, send)


def add_direct_routes(app: FastAPI) -> None:
    """Add the middleware, for those routes that `app` has by now."""
    routes = [route for route in app.routes if isinstance(route, APIRoute)]
    app.add_middleware(DirectRoutes, routes=[route for route in routes if route.name in NAMES])


async def _call_route(route: APIRoute, request: Request) -> None:
    try:
        response = await route.endpoint(request, **request.path_params)
    except RequestError as error:
        response = await handle_request_error(request, error)
    await response(request.scope, request.receive, request._send)
