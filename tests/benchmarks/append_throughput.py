"""How much of PostgreSQL's speed an append keeps on its way through HTTP: both on one server, in one run.

    python -m tests.benchmarks.append_throughput [--seconds 10] [--connections 16] [--api-workers 2] [--json FILE]

HTTP: POST …/messages to a real `cairn serve`, raw connections kept open, one request at a time on each.
PostgreSQL: pgbench calling the shipped append function as the application's login, under row-level security.
Once with one hot session, once with 1,000 sessions. At the end every counter is recounted.
"""

import argparse
import asyncio
import json
import os
import statistics
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import uvloop

from app.cli.database import Addresses, open_database
from app.domain.messages import MessageRole, NewMessage
from app.providers.tokenizer import build_token_counter
from app.settings import Settings
from app.storage.inspection import recount
from tests.support.http_load import Load, post, run_load
from tests.support.pgbench_load import append_statement, find_pgbench, run_pgbench, run_python
from tests.support.served import Served, serving

TEXT = "We moved the tide tables on Monday; Ana checks the port tomorrow, then the old server can go. " * 2
ROUNDS = {"one hot session": 1, "1,000 sessions": 1_000}
MOST_REQUESTS = 500_000
WARM_UP_SECONDS = 2


@dataclass(frozen=True)
class Figures:
    """One side of one comparison; latencies in milliseconds."""

    per_second: float
    p50_ms: float
    p99_ms: float
    answered: int
    refused: int

    @classmethod
    def of(cls, load: Load) -> "Figures":
        cuts = statistics.quantiles(load.latencies, n=100)
        return cls(
            per_second=round(load.per_second, 1),
            p50_ms=round(cuts[49] * 1e3, 2),
            p99_ms=round(cuts[98] * 1e3, 2),
            answered=len(load.latencies),
            refused=len(load.refusals),
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=int, default=10, help="length of each of the four measurements")
    parser.add_argument("--connections", type=int, default=16)
    parser.add_argument("--api-workers", type=int, default=min(2, os.cpu_count() or 1))
    parser.add_argument("--json", type=Path, help="write the figures to this file too")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "home"
        workers = ("--api-workers", str(options.api_workers))
        with (
            serving(home, *workers, CAIRN_LOG_LEVEL="warning") as server,
            open_database(Settings(home=home)) as addresses,
        ):
            report = measure(server, addresses, options)
    print(shown(report))
    if options.json:
        options.json.write_text(json.dumps(report, indent=2) + "\n")


def measure(server: Served, addresses: Addresses, options: argparse.Namespace) -> dict[str, Any]:
    """Return the figures of all rounds, and what they were taken with."""
    pgbench = find_pgbench()
    report: dict[str, Any] = {
        "cpus": os.cpu_count(),
        "seconds": options.seconds,
        "connections": options.connections,
        "api_workers": options.api_workers,
        "load_into_postgresql": "pgbench" if pgbench else "a loop in Python: pgbench is not installed",
        "rounds": {},
    }
    message = NewMessage(MessageRole.USER, ({"type": "text", "text": TEXT},))
    call = append_statement(addresses.app_url, message, build_token_counter("o200k_base")(TEXT))
    for name, sessions in ROUNDS.items():
        through_http(server, sessions, WARM_UP_SECONDS, options.connections)
        into_postgresql(pgbench, addresses.app_url, call, sessions, WARM_UP_SECONDS, options.connections)
        http = through_http(server, sessions, options.seconds, options.connections)
        direct = into_postgresql(pgbench, addresses.app_url, call, sessions, options.seconds, options.connections)
        report["rounds"][name] = {
            "http": asdict(Figures.of(http)),
            "postgresql": asdict(Figures.of(direct)),
            "ratio": round(http.per_second / direct.per_second, 3),
        }
    report["faults_in_recount"] = len(recount(addresses.owner_url))
    return report


def through_http(server: Served, sessions: int, seconds: int, connections: int) -> Load:
    body = json.dumps({"role": "user", "content": TEXT}).encode()
    requests = [post(server.url, f"/api/v1/sessions/http-{n}/messages", body) for n in range(1, sessions + 1)]
    return uvloop.run(run_load(server.url, requests, connections=connections, seconds=seconds, at_most=MOST_REQUESTS))


def into_postgresql(pgbench: Path | None, dsn: str, call: str, sessions: int, seconds: int, connections: int) -> Load:
    if pgbench is not None:
        return run_pgbench(pgbench, dsn, call, sessions=sessions, connections=connections, seconds=seconds)
    return asyncio.run(run_python(dsn, call, sessions=sessions, connections=connections, seconds=seconds))


def shown(report: dict[str, Any]) -> str:
    lines = [
        f"{report['cpus']} CPUs, {report['api_workers']} API processes, {report['connections']} connections, "
        f"{report['seconds']} s each, PostgreSQL driven by {report['load_into_postgresql']}"
    ]
    for name, figures in report["rounds"].items():
        lines.append(f"{name}: ratio {figures['ratio']:.2f}")
        for side, unit in (("http", "req/s"), ("postgresql", "tps")):
            f = figures[side]
            lines.append(
                f"  {side:>10}  {f['per_second']:>8,.0f} {unit:<6} p50 {f['p50_ms']:7.2f} ms  p99 {f['p99_ms']:7.2f} ms"
                f"  {f['answered']:,} answered, {f['refused']} refused"
            )
    lines.append(f"recount: {report['faults_in_recount']} faults")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
