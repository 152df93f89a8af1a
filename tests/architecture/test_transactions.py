"""One module begins and commits; nothing else opens a connection; nothing is swallowed."""

import ast

from tests.architecture.source_tree import calls, python_files, shown, tree

TRANSACTION = "app/storage/transaction.py"
ADMINISTRATION = {
    "app/storage/inspection.py",
    "app/storage/migrations.py",
    "app/storage/roles.py",
    "app/embedded/postmaster.py",
}
"""Roles, databases, migrations, `doctor`, and asking whether the embedded server answers: no user data, no pool yet."""

OUTER_EDGES = {"app/worker/loop.py", "app/api/errors.py", "app/api/middleware.py"}
OPENS_A_CONNECTION = ("connect", "create_engine", "create_async_engine", "AsyncConnectionPool", "ConnectionPool")
OVER_HTTP = {"client.commit"}


def test_only_one_module_begins_and_commits() -> None:
    ends = {"commit", "rollback", "begin", "begin_nested"}
    elsewhere = [
        f"{shown(path)}:{line} {name}"
        for path in python_files("app")
        if shown(path) != TRANSACTION
        for line, name in calls(path)
        if "." in name and name.rsplit(".", 1)[1] in ends and name not in OVER_HTTP
    ]
    assert elsewhere == []


def test_only_storage_opens_connections() -> None:
    elsewhere = [
        f"{shown(path)}:{line} {name}"
        for path in python_files("app")
        if shown(path) not in {TRANSACTION, *ADMINISTRATION}
        for line, name in calls(path)
        if name.rsplit(".", 1)[-1] in OPENS_A_CONNECTION and ("psycopg" in name or "engine" in name or "Pool" in name)
    ]
    assert elsewhere == []


def test_broad_excepts_stand_at_the_two_outer_edges_only() -> None:
    broad = [
        f"{shown(path)}:{node.lineno}"
        for path in python_files("app")
        if shown(path) not in OUTER_EDGES
        for node in ast.walk(tree(path))
        if isinstance(node, ast.ExceptHandler)
        and (node.type is None or ast.unparse(node.type) in {"Exception", "BaseException"})
        and ast.unparse(node.body[-1]) != "raise"  # cleaning up and passing on swallows nothing
    ]
    assert broad == []


def test_storage_functions_know_whose_rows_they_touch() -> None:
    """A function that takes a transaction takes a scope, a tenant or a job right after it."""
    without_scope = {
        "app/storage/identity.py:create_account": "makes the tenant that it then is",
        "app/storage/health.py:revision": "asks for the migration only",
        "app/storage/model_breakers.py:claim_trial": "is about a service, not about a tenant",
        "app/storage/model_breakers.py:note_failure": "is about a service, not about a tenant",
        "app/storage/model_breakers.py:note_success": "is about a service, not about a tenant",
        "app/storage/model_breakers.py:pause": "is about a service, not about a tenant",
        "app/storage/model_capabilities.py:get": "is about a service, not about a tenant",
        "app/storage/model_capabilities.py:save": "is about a service, not about a tenant",
    }
    missing = []
    for path in python_files("app/storage"):
        for node in tree(path).body:
            if not isinstance(node, ast.AsyncFunctionDef) or node.name.startswith("_"):
                continue
            types = [ast.unparse(argument.annotation or ast.Name("")) for argument in node.args.args[:2]]
            whose = len(types) > 1 and types[1] in {"Scope", "Tenant", "AccountTenant", "Job"}
            if types[:1] == ["Transaction"] and not whose:
                missing.append(f"{shown(path)}:{node.name}")
    assert sorted(missing) == sorted(without_scope)


def test_no_sleep_waits_in_a_test() -> None:
    sleepers = [
        f"{shown(path)}:{line}"
        for path in python_files("tests")
        if "support" not in path.parts
        for line, name in calls(path)
        if name in {"time.sleep", "asyncio.sleep"}
    ]
    assert sleepers == []
