"""With which settings the embedded server runs: small, durable, and silent about what people wrote."""

import os
from pathlib import Path

from app.embedded.binaries import Binaries

MIB = 1024 * 1024
SMALLEST_BUFFERS_MIB, LARGEST_BUFFERS_MIB = 64, 512
CONTAINER_LIMIT = Path("/sys/fs/cgroup/memory.max")


def server_settings(binaries: Binaries, *, port: int, max_connections: int, durable: bool) -> dict[str, str]:
    """Return the settings for the command line of `postgres`.

    durable=False is for throw-away servers of tests: a crash of the machine may then damage the data.
    """
    memory = _memory_mib()
    safe = "on" if durable else "off"
    settings = {
        "listen_addresses": "127.0.0.1",
        "port": str(port),
        "unix_socket_directories": "",
        "max_connections": str(max_connections),
        "shared_buffers": f"{max(SMALLEST_BUFFERS_MIB, min(memory // 8, LARGEST_BUFFERS_MIB))}MB",
        "effective_cache_size": f"{max(SMALLEST_BUFFERS_MIB * 2, memory // 2)}MB",
        "random_page_cost": "1.1",
        "jit": "off",
        "fsync": safe,
        "synchronous_commit": safe,
        "full_page_writes": safe,
        "timezone": "UTC",
        "log_timezone": "UTC",
        "log_line_prefix": "%m [%p] %u ",
        # Statements and details carry what users wrote; the log must not.
        "log_min_error_statement": "panic",
        "log_error_verbosity": "terse",
    }
    if binaries.has_library("pg_stat_statements"):
        settings["shared_preload_libraries"] = "pg_stat_statements"
    return settings


def _memory_mib() -> int:
    machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    try:
        limit = int(CONTAINER_LIMIT.read_text())
    except (OSError, ValueError):  # no container, another system, or "max"
        limit = machine
    return min(machine, limit) // MIB
