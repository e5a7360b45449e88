"""A run folder as a part of another: its whole rounds, who wrote each, and what is left out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path

from app.cases.case import Case
from app.cases.errors import ResultsError
from app.cases.round import RoundResult
from app.results.folder import TELEMETRY, is_being_written
from app.results.inputs import INPUTS
from app.results.lines import Writer
from app.results.manifest import Begun, MergedRun, read_manifest
from app.results.operators import FOLDER as OPERATORS
from app.results.regular import lies_within
from app.results.run import SAMPLES, Run
from app.results.verify import read_whole


@dataclass(frozen=True, slots=True)
class Source:
    """`name` is what its host is to be called, "" where the folder says that itself. `writers` are
    those of its rounds, by their names. `lost` says in a sentence each what is damaged and left
    out."""

    path: Path
    name: str
    run: Run
    writers: Mapping[str, Writer]
    lost: tuple[str, ...]

    @property
    def folder(self) -> str:
        """What the folder is called."""
        return self.path.resolve().name

    def rounds_of(self, case: Case) -> Iterator[tuple[Writer, RoundResult]]:
        for result in self.run.rounds_of(case):
            yield _writer_of(self.run, result), result

    @property
    def parts(self) -> tuple[MergedRun, ...]:
        """The runs that are in it: itself, or those that it was merged of."""
        manifest = self.run.manifest
        if manifest.merged:
            return manifest.merged
        own = {field.name: getattr(manifest, field.name) for field in fields(Begun)}
        one = MergedRun(
            **own,
            folder=self.folder,
            graphlap_version=manifest.graphlap_version,
            schema_version=manifest.schema_version,
            writers=tuple(self.writers),
            assumed_sizes=manifest.assumed_sizes,
        )
        return (one,)


def read_source(path: Path, name: str = "") -> Source:
    """ResultsError for a folder that is no run, or one that is being measured now."""
    read_manifest(path)
    if is_being_written(path):
        raise ResultsError(f"{path} is being measured", "merge it when it has ended, or stop it")
    found = read_whole(path)
    lost = [f"{path / one.file} {one.what}" for one in found.findings if not one.harmless]
    lost += [f"{one} leads out of the run's folder" for one in _leading_out(path)]
    run, refused = _with_own_samples(found.run)
    results = (result for rounds in run.rounds.values() for result in rounds.values())
    by_name = {writer.writer: writer for writer in (_writer_of(run, one) for one in results)}
    return Source(path, name, run, by_name, (*lost, *refused))


def _with_own_samples(run: Run) -> tuple[Run, list[str]]:
    """The run without rounds whose samples are not a file of its folder, or of which nothing says
    that they are samples; a sentence for each of them."""
    rounds: dict[str, dict[int, RoundResult]] = {}
    refused: list[str] = []
    for case_id, known in run.rounds.items():
        rounds[case_id] = {}
        for number, result in known.items():
            path = run.path / SAMPLES / result.samples
            if result.samples and not lies_within(run.path, path):
                refused.append(f"{path} leads out of the run's folder")
            elif result.samples and result.samples_crc32 is None and not result.iterations:
                refused.append(f"{path} has neither a checksum nor a measured run")
            else:
                rounds[case_id][number] = result
    return replace(run, rounds=rounds), refused


def _leading_out(run: Path) -> Iterator[Path]:
    """Links of a folder to what is somebody's else, which no checksum of the run tells of."""
    for folder in (INPUTS, OPERATORS, TELEMETRY):
        for path in sorted((run / folder).glob("*")):
            if path.is_symlink() and not lies_within(run, path):
                yield path


def _writer_of(run: Run, result: RoundResult) -> Writer:
    """Who wrote a round; where no journal says it, it was the host that began the run."""
    known = run.writers.get(result.case_id, {}).get(result.round)
    if known is not None:
        return known
    manifest = run.manifest
    host = str(manifest.environment.get("host") or "")
    name = f"unsigned-{manifest.run_id}"
    return Writer(name, 0, host, manifest.graphlap_version, manifest.environment)
