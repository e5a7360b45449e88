"""A job's line as a host's worker is told it: what the carrier named becomes paths of the host."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from app.carriers.contract import ENGINES, FILE, SAMPLES, CarrierError, HostJob
from app.carriers.store import plain


def line_there(job: HostJob, folder: Path, samples: Path, engines: Path) -> dict[str, Any]:
    """The values of the line, its files in `folder`; CarrierError for a line that can't be read."""
    known = {file.sha256: file.name for file in job.files}

    def placed(value: Any) -> Any:
        match value:
            case str() if value.startswith(FILE):
                rest = value.removeprefix(FILE)
                sha256, _, name = rest.partition("/")
                name, colon, function = name.partition(":")
                if known.get(sha256) != name:
                    raise CarrierError(
                        f"the job {job.id} names the file {name!r:.80}, which it did not bring",
                        "use the same Graphlap on both sides",
                    )
                return f"{folder / plain(name)}{colon}{function}"
            case str() if value == SAMPLES:
                return str(samples)
            case str() if value == ENGINES:
                return str(engines)
            case dict():
                return {key: placed(one) for key, one in value.items()}
            case list():
                return [placed(one) for one in value]
        return value

    try:
        values = json.loads(job.line)
    except ValueError:
        values = None
    if not isinstance(values, dict):
        raise CarrierError(f"the job {job.id} is no JSON", "use the same Graphlap on both sides")
    told: dict[str, Any] = placed(values)
    return told
