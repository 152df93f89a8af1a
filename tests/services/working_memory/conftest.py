"""A fake model service, and services and a worker that ask it over HTTP."""

from tests.support.over_http import model_server, open_scene, superuser

__all__ = ["model_server", "open_scene", "superuser"]
