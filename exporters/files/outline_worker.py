"""`python -m exporters.files.outline_worker`: `OutlineRequest` lines in, `OutlineReply` lines out.

A plan asks it and reads no model itself: a file that hangs, kills or fills whoever parses it
costs one row, not the plan.
"""

from __future__ import annotations

import json

from exporters.codec import from_json, to_json
from exporters.files.outline import outline
from exporters.files.outline_request import OutlineReply, OutlineRequest
from exporters.talk import requests_and_replies
from exporters.types import GraphlapError


def answer(line: str) -> OutlineReply:
    try:
        return OutlineReply(outline(from_json(OutlineRequest, json.loads(line))))
    except GraphlapError as error:
        return OutlineReply(cause=error.cause, remedy=error.remedy)
    except Exception as error:
        cause = f"the file could not be read ({type(error).__name__}: {error})"
        return OutlineReply(cause=cause, remedy="export it again")


def main() -> None:
    """Serve until standard input ends."""
    requests, reply = requests_and_replies()
    for line in requests:
        reply(to_json(answer(line)))


if __name__ == "__main__":
    main()
