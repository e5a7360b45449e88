"""The layers of an engine from what its builder said of them, where the engine can't be loaded.

An engine for a GPU that is not here has no inspector. Its builder tells the same at its most
talkative, as text of which nothing is promised: a text of another form gives no layers.
"""

from __future__ import annotations

import json
import re

BEGIN = "Layers:\n"
"""How the builder's message starts."""
_LAYER = re.compile(
    r"^Name: (?P<Name>.*?), LayerType: (?P<LayerType>\w+), (?P<rest>.*)$", re.MULTILINE
)
_PART = re.compile(r"(?:^|, )(Inputs|Constants|Outputs|TacticName|StreamId|Metadata): ")
_TENSOR = re.compile(r"\{ Name: (?P<Name>.*?), Dimensions: .*?Datatype: (?P<DataType>\w+)")


def layers_json_of(message: str) -> str:
    """What the inspector would tell, in its form; no layers where the message has another."""
    return json.dumps({"Layers": [*map(_layer, _LAYER.finditer(message))]})


def _layer(line: re.Match[str]) -> dict[str, object]:
    _, *parts = _PART.split(line["rest"])
    told = dict(zip(parts[::2], parts[1::2], strict=True))
    return {
        "Name": line["Name"],
        "LayerType": line["LayerType"],
        "TacticName": told.get("TacticName", ""),
        "Metadata": told.get("Metadata", ""),
        **{
            side: [tensor.groupdict() for tensor in _TENSOR.finditer(told.get(side, ""))]
            for side in ("Inputs", "Constants", "Outputs")
        },
    }
