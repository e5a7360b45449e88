"""The catalogue of diagnostics: every code, with its entry.

To add a diagnostic, add an entry to the table of its subject (`statistics_entries.py`,
`machine_entries.py`, ...) and raise it with `diagnostic("its_code", figure=1.0)`. Regenerate
`docs/diagnostics.md` with `python -m app.results.diagnostics_page`.
"""

from __future__ import annotations

from exporters.diagnostics.diagnostic import Diagnostic, Parameter
from exporters.diagnostics.engine_entries import ENGINE
from exporters.diagnostics.entry import Entries
from exporters.diagnostics.machine_entries import GPU, HOSTS, PROCESSOR
from exporters.diagnostics.output_entries import EXPORT, OUTPUTS
from exporters.diagnostics.protocol_entries import CONDITIONS, IMPORTS, LOAD, ROUNDS
from exporters.diagnostics.statistics_entries import STATISTICS

TABLES: dict[str, Entries] = {
    "Statistics": STATISTICS,
    "Rounds": ROUNDS,
    "Load": LOAD,
    "Conditions": CONDITIONS,
    "Machine": PROCESSOR,
    "GPU": GPU,
    "Hosts": HOSTS,
    "Engine": ENGINE,
    "Outputs": OUTPUTS,
    "Export": EXPORT,
    "Imported results": IMPORTS,
}
"""The entries by subject, as the documentation shows them."""
CATALOGUE: Entries = {code: entry for table in TABLES.values() for code, entry in table.items()}


def diagnostic(code: str, subject: str = "", **parameters: Parameter) -> Diagnostic:
    """A diagnostic of the catalogue; its parameters are exactly those that the entry declares.

    KeyError for another code, ValueError for other parameters or values of another kind.
    """
    entry = CATALOGUE[code]
    if parameters.keys() != entry.units.keys():
        expected = ", ".join(entry.units) or "none"
        given = ", ".join(parameters) or "none"
        raise ValueError(f"{code}: parameters {expected} expected, got {given}")
    for name, value in parameters.items():
        try:
            entry.units[name].text([value])
        except (TypeError, ValueError) as error:
            raise ValueError(f"{code}: parameter {name}: {error}") from None
    return Diagnostic(code, entry.severity, subject, parameters)
