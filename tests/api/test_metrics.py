"""Counters of several processes on one port add up."""

import os
import subprocess
import sys

REQUEST = """
from app.api.metrics import Metrics
metrics = Metrics()
metrics.observe("/health", "GET", 200, 0.01)
print(metrics.exposition([("working_memory", "ready", 2)]).decode())
"""


def ask_a_process(**environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", REQUEST], env={**os.environ, **environment}, capture_output=True, text=True, check=True
    )
    return done.stdout


def test_processes_that_share_a_folder_count_together(tmp_path):
    pages = [ask_a_process(PROMETHEUS_MULTIPROC_DIR=str(tmp_path)) for _ in range(3)]
    for number, page in enumerate(pages, 1):
        assert f'cairn_http_requests_total{{method="GET",route="/health",status="200"}} {number}.0' in page
        assert 'cairn_jobs{kind="working_memory",state="ready"} 2.0' in page


def test_a_process_alone_counts_for_itself():
    assert 'route="/health",status="200"} 1.0' in ask_a_process()
