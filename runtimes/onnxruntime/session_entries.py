"""Entries of ONNX Runtime's session configuration: those that options pass on, and ours."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import ClassVar

from exporters.types import InvalidValue
from runtimes.base import Runtime
from runtimes.options import Option, OptionValue

PREFIX = "session."
RECORD_ASSIGNMENT = "session.record_ep_graph_assignment_info"
WEIGHTS_OF_GRAPH = "session.optimized_model_external_initializers_file_name"
WIDE_SUMS = "session.x64quantprecision"
"""Int8 products are added up in 32 bits where a processor without VNNI would saturate at 16."""

WIDENING_FAULT = "Attempt to replace the existing tensor"
"""What ONNX Runtime 1.31 says where that fails, as for some graphs with several products."""

RESERVED_KEYS: Mapping[str, str] = {
    "session.graph_optimization_level": "graph_optimization",
    "session.execution_mode": "execution_mode",
    "session.enable_mem_pattern": "memory_pattern",
    "session.enable_cpu_mem_arena": "memory_arena",
    "session.intra_op_num_threads": "",
    "session.inter_op_num_threads": "",
    "session.enable_profiling": "",
    "session.log_severity_level": "",
    "session.optimized_model_filepath": "",
    WEIGHTS_OF_GRAPH: "",
    RECORD_ASSIGNMENT: "",
}
"""Entries of which the value is ours in every session, with the option that decides it."""
BY_OPTION: Mapping[str, str] = {
    "session.intra_op.allow_spinning": "intra_op_spinning",
    "session.inter_op.allow_spinning": "inter_op_spinning",
    "session.set_denormal_as_zero": "flush_denormals",
}
"""The same of entries that only runtimes with the option set."""


def keys_meant(option: str) -> tuple[str, ...]:
    """The keys that an option `session.KEY` may stand for; of one that itself begins so, the prefix
    may be left out once."""
    key = option.removeprefix(PREFIX)
    return (key, option) if "." in key else (option,)


@dataclass(frozen=True, slots=True)
class SessionEntry(Option):
    """An option of one entry; `refusal` is what to do instead of setting it."""

    refusal: str = ""

    def parse(self, text: str) -> OptionValue:
        if self.refusal:
            raise InvalidValue(f"{self.name} is set by Graphlap itself", self.refusal)
        return text


class PassesEntries(Runtime):
    """A runtime whose options `session.KEY` are entries of its session's configuration."""

    patterns: ClassVar[tuple[Option, ...]] = (
        Option("session.KEY", "", "an entry of ONNX Runtime's session configuration"),
    )

    def options_for(self, option_names: Iterable[str]) -> tuple[Option, ...]:
        names = {*option_names}
        entries = {name for name in names if name.startswith(PREFIX)}
        more = (SessionEntry(n, "", self.patterns[0].help, refusal=self._use(n)) for n in entries)
        return (
            *super().options_for(names - entries),
            *sorted(more, key=lambda option: option.name),
        )

    def _use(self, option: str) -> str:
        """What to use instead of an entry that we set; "" for any other."""
        own_options = {option.name for option in self.options}
        for key in keys_meant(option):
            name = RESERVED_KEYS.get(key, BY_OPTION.get(key, ""))
            if name in own_options:
                return f"use --option {self.name}.{name}"
            if key in RESERVED_KEYS:
                return "use --threads" if key.endswith("_threads") else "leave it out"
        return ""
