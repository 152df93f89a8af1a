"""Run the embedded server of a home folder until standard input ends: `python -m tests.support.hold_cluster HOME`."""

import json
import sys
from pathlib import Path

from app.embedded.cluster import Cluster
from app.embedded.postmaster import read_postmaster

with Cluster(Path(sys.argv[1])) as cluster:
    postmaster = read_postmaster(cluster.folder / "data")
    print(json.dumps({"port": cluster.port, "owned": cluster.owned, "postmaster": postmaster.pid}), flush=True)
    sys.stdin.read()
