"""Run folders of strangers in a merge: nothing but what a run measured comes along."""

from __future__ import annotations

import json
from pathlib import Path

from app.cases.round import RoundResult
from app.run_folder.folder import RunFolder
from tests.app.run_folder.resealed import reseal_manifest
from tests.app.run_folder.runs import CASE, manifest_of
from tests.app.runs.merging.machines import OTHER, machine, made, measured, merged


def test_samples_of_somebody_else_are_not_taken_along(tmp_path: Path) -> None:
    """Neither by a link nor as samples that nothing vouches for."""
    secret = tmp_path / "id_rsa"
    secret.write_bytes(b"-----SECRET KEY-----" * 8)
    manifest = manifest_of((CASE, OTHER), rounds=2)
    with RunFolder.create(tmp_path / "evil", manifest) as folder:
        folder.begin(machine("evil"))
        measured(folder, CASE, 0, 10.0)
        linked_round = RoundResult(CASE.case_id, 1, "ok", samples=f"{CASE.case_id}.1.bin")
        (folder.samples / linked_round.samples).touch()
        bare = RoundResult(OTHER.case_id, 0, "ok", samples=f"{OTHER.case_id}.0.bin")
        (folder.samples / bare.samples).write_bytes(secret.read_bytes()[:32])
        folder.record(linked_round, bare)
    sample = tmp_path / "evil" / "samples" / linked_round.samples
    sample.unlink()
    sample.symlink_to(secret)
    whole = merged(tmp_path / "c", tmp_path / "evil")
    assert any(str(sample) in damage for damage in whole.damage)
    assert any(bare.samples in damage for damage in whole.damage)
    contents = [path.read_bytes() for path in (tmp_path / "c").rglob("*") if path.is_file()]
    assert not any(b"SECRET" in content for content in contents)
    assert secret.stat().st_nlink == 1
    assert len(list((tmp_path / "c" / "samples").iterdir())) == 1


def test_a_run_whose_name_is_none_of_a_plan_is_merged(tmp_path: Path) -> None:
    a = made(tmp_path / "a", machine("board"))
    manifest = json.loads((a / "manifest.json").read_bytes())
    (a / "manifest.json").write_text(json.dumps({**manifest, "name": "no name/of \x1b a plan"}))
    reseal_manifest(a / "manifest.json")
    assert merged(tmp_path / "c", a).run.manifest.name == "sweep"
