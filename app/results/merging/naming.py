"""What each machine is called: its own name, where it is the only one of that name.

A machine is a host's name and what does not change while it is one: processor, cores, memory.
Two that share a name, as containers do, are told apart by their folders.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from app.cases.errors import PlanError
from app.results.lines import Writer
from app.results.merging.sources import Source

_HARDWARE = ("cpu", "cores_logical", "cores_physical", "virtual_machine")
_GIB = 1 << 30

Machine = tuple[object, ...]


@dataclass(frozen=True, slots=True)
class Names:
    """`by_writer` has the host of each journal, `sentences` say of a name how it came about."""

    by_writer: Mapping[str, str]
    sentences: tuple[str, ...]

    @property
    def hosts(self) -> tuple[str, ...]:
        """Each once, in the order of the folders; what was imported is of none."""
        return tuple(dict.fromkeys(filter(None, self.by_writer.values())))


def names_of(sources: Sequence[Source]) -> Names:
    """A journal that is in several folders has one name; PlanError for a name that is given to a
    folder of several hosts."""
    given = _given(sources)
    found: dict[str, str] = {}
    called: dict[tuple[str, Machine], str] = {}
    taken = {name: _machine(writer) for name, writer in given.values()}
    shared = _shared_names(sources, given)
    for source in sources:
        for name, writer in source.writers.items():
            if name in found:
                continue
            if name in given:
                found[name] = given[name][0]
                continue
            key = (writer.host, _machine(writer))
            if key not in called:
                free = writer.host not in shared and taken.get(writer.host, key[1]) == key[1]
                own = writer.host if free else _apart(writer.host, source.folder, taken, key[1])
                called[key] = own
                taken[own] = key[1]
            found[name] = called[key]
    return Names(found, tuple(_sentences(called)))


def _given(sources: Sequence[Source]) -> dict[str, tuple[str, Writer]]:
    """By journal the name that was given for its folder."""
    given: dict[str, tuple[str, Writer]] = {}
    for source in sources:
        writers = source.writers
        hosts = dict.fromkeys(writer.host for writer in writers.values())
        if source.name and len(hosts) > 1:
            raise PlanError(
                f"{source.path} is of several hosts, {', '.join(hosts)}, and {source.name} is one "
                "name",
                "give the folder without a name",
            )
        for name, writer in writers.items() if source.name else ():
            given.setdefault(name, (source.name, writer))
    return given


def _shared_names(sources: Sequence[Source], given: Mapping[str, object]) -> set[str]:
    """The hosts' names that several machines have."""
    machines: dict[str, set[Machine]] = {}
    for source in sources:
        for name, writer in source.writers.items():
            if name not in given:
                machines.setdefault(writer.host, set()).add(_machine(writer))
    return {host for host, known in machines.items() if len(known) > 1}


def _machine(writer: Writer) -> Machine:
    told = writer.environment
    memory = told.get("memory_bytes")
    # Kernels keep another little part of it to themselves.
    return *map(told.get, _HARDWARE), round(memory / _GIB) if memory else None


def _apart(host: str, folder: str, taken: Mapping[str, Machine], machine: Machine) -> str:
    name, number = f"{host} ({folder})", 2
    while taken.get(name, machine) != machine:
        name, number = f"{host} ({folder} {number})", number + 1
    return name


def _sentences(called: Mapping[tuple[str, Machine], str]) -> list[str]:
    of: dict[str, list[str]] = {}
    for (host, _), name in called.items():
        of.setdefault(host, []).append(name)
    return [
        f"{host or 'a host without a name'} is the name of several machines, which are called "
        f"{' and '.join(names)}: name them as NAME=FOLDER"
        for host, names in of.items()
        if names != [host]
    ]
