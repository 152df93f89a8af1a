"""Every route of the API with an example of a request, and who may call it. A new route must join."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class RouteCase:
    """One route. audience: anybody, known (any key), tenant (a user's key), tasks (also root for a named user),
    admin (root or the account's administrator), root."""

    route: str
    audience: str
    path: str
    body: Any = None

    @property
    def method(self) -> str:
        return self.route.partition(" ")[0]


ACCOUNT = "acme"
_SESSION = "/api/v1/sessions/talk"
_TASK = "/api/v1/tasks/00000000-0000-0000-0000-000000000000"
_ACCOUNTS = "/api/v1/admin/accounts"
_MESSAGE = {"role": "user", "content": "Hello"}

ROUTES = (
    RouteCase("POST /api/v1/sessions", "tenant", "/api/v1/sessions", {}),
    RouteCase("GET /api/v1/sessions", "tenant", "/api/v1/sessions?limit=1"),
    RouteCase("POST /api/v1/sessions/{session_id}/messages", "tenant", f"{_SESSION}/messages", _MESSAGE),
    RouteCase(
        "POST /api/v1/sessions/{session_id}/messages/batch", "tenant", f"{_SESSION}/messages/batch", {"messages": []}
    ),
    RouteCase("GET /api/v1/sessions/{session_id}", "tenant", _SESSION),
    RouteCase("PATCH /api/v1/sessions/{session_id}/config", "tenant", f"{_SESSION}/config", {}),
    RouteCase("GET /api/v1/sessions/{session_id}/context", "tenant", f"{_SESSION}/context"),
    RouteCase("POST /api/v1/sessions/{session_id}/commit", "tenant", f"{_SESSION}/commit", {}),
    RouteCase("GET /api/v1/sessions/{session_id}/archives", "tenant", f"{_SESSION}/archives"),
    RouteCase("GET /api/v1/sessions/{session_id}/archives/{archive_id}", "tenant", f"{_SESSION}/archives/archive_001"),
    RouteCase("GET /api/v1/sessions/{session_id}/working-memory", "tenant", f"{_SESSION}/working-memory"),
    RouteCase(
        "PUT /api/v1/sessions/{session_id}/working-memory/{section}",
        "tenant",
        f"{_SESSION}/working-memory/open-issues",
        {"content": "- ask Anna"},
    ),
    RouteCase(
        "GET /api/v1/sessions/{session_id}/archives/{archive_id}/working-memory",
        "tenant",
        f"{_SESSION}/archives/archive_001/working-memory",
    ),
    RouteCase(
        "GET /api/v1/sessions/{session_id}/archives/{archive_id}/working-memory/diff",
        "tenant",
        f"{_SESSION}/archives/archive_001/working-memory/diff",
    ),
    RouteCase("GET /api/v1/sessions/{session_id}/tool-results", "tenant", f"{_SESSION}/tool-results"),
    RouteCase(
        "GET /api/v1/sessions/{session_id}/tool-results/{tool_result_id}", "tenant", f"{_SESSION}/tool-results/tr_x"
    ),
    RouteCase(
        "GET /api/v1/sessions/{session_id}/tool-results/{tool_result_id}/search",
        "tenant",
        f"{_SESSION}/tool-results/tr_x/search?q=x",
    ),
    RouteCase("GET /api/v1/sessions/{session_id}/export", "tenant", f"{_SESSION}/export"),
    RouteCase("POST /api/v1/sessions/{session_id}/import", "tenant", f"{_SESSION}/import"),
    RouteCase("DELETE /api/v1/sessions/{session_id}", "tenant", _SESSION),
    RouteCase("GET /api/v1/tasks", "tasks", "/api/v1/tasks"),
    RouteCase("GET /api/v1/tasks/{task_id}", "tasks", _TASK),
    RouteCase("GET /api/v1/tasks/{task_id}/events", "tasks", f"{_TASK}/events"),
    RouteCase("POST /api/v1/tasks/{task_id}/cancel", "tenant", f"{_TASK}/cancel"),
    RouteCase("POST /api/v1/tasks/{task_id}/retry", "tenant", f"{_TASK}/retry"),
    RouteCase("POST /api/v1/tasks/{task_id}/discard", "tenant", f"{_TASK}/discard"),
    RouteCase("POST /api/v1/admin/accounts", "root", _ACCOUNTS, {"account_id": "new", "admin_user_id": "zoe"}),
    RouteCase("GET /api/v1/admin/accounts", "root", _ACCOUNTS),
    RouteCase(
        "POST /api/v1/admin/accounts/{account_id}/users", "admin", f"{_ACCOUNTS}/{ACCOUNT}/users", {"user_id": "kim"}
    ),
    RouteCase("GET /api/v1/admin/accounts/{account_id}/users", "admin", f"{_ACCOUNTS}/{ACCOUNT}/users"),
    RouteCase(
        "POST /api/v1/admin/accounts/{account_id}/users/{user_id}/key", "admin", f"{_ACCOUNTS}/{ACCOUNT}/users/kim/key"
    ),
    RouteCase("GET /api/v1/system/status", "known", "/api/v1/system/status"),
    RouteCase("GET /health", "anybody", "/health"),
    RouteCase("GET /ready", "anybody", "/ready"),
    RouteCase("GET /metrics", "anybody", "/metrics"),
)
