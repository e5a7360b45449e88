"""The operators of a graph's nodes, read by a child: a measuring process has no onnx."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping

from exporters import own
from runtimes.request import Request


def graph_operators(request: Request) -> Mapping[str, str]:
    """Name -> operator of the file's nodes; none where it can't be read."""
    axes = json.dumps(dict(request.axes))
    command = own.starter_command("exporters.files.node_graph", request.model.path, axes)
    environment = own.child_environment()
    done = subprocess.run(command, env=environment, capture_output=True, check=False)
    try:
        return {node["name"]: node["op"] for node in json.loads(done.stdout)["nodes"]}
    except (ValueError, KeyError, TypeError):
        return {}
