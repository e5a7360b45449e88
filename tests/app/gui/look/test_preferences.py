from pathlib import Path

from PySide6.QtCore import QByteArray, QSettings

from app.gui.look.preferences import Preferences


def test_layouts_come_back_and_recent_runs_are_newest_first(tmp_path: Path) -> None:
    preferences = Preferences(tmp_path / "window.ini")
    preferences.save_layout("measure", QByteArray(b"docks"))
    for name in ("a", "b", "a"):
        (tmp_path / name).mkdir(exist_ok=True)
        preferences.add_recent(tmp_path / name)
    preferences.sync()
    again = Preferences(tmp_path / "window.ini")
    assert again.layout("measure") == QByteArray(b"docks")
    assert [path.name for path in again.recent_runs()] == ["a", "b"]


def test_a_layout_of_another_version_is_forgotten_and_nothing_else(tmp_path: Path) -> None:
    preferences = Preferences(tmp_path / "window.ini")
    preferences.save_layout("measure", QByteArray(b"docks"))
    preferences.theme = "dark"
    preferences.save_preset("mine", 'name = "x"')
    preferences.sync()
    store = QSettings(str(tmp_path / "window.ini"), QSettings.Format.IniFormat)
    store.setValue("layout/version", 0)
    store.sync()
    again = Preferences(tmp_path / "window.ini")
    assert again.layout("measure").isEmpty()
    assert again.theme == "dark"
    assert again.presets() == {"mine": 'name = "x"'}


def test_a_run_that_is_gone_is_not_offered(tmp_path: Path) -> None:
    preferences = Preferences(tmp_path / "window.ini")
    (tmp_path / "run").mkdir()
    preferences.add_recent(tmp_path / "run")
    (tmp_path / "run").rmdir()
    assert preferences.recent_runs() == ()


def test_damaged_values_count_as_not_there(tmp_path: Path) -> None:
    (tmp_path / "window.ini").write_text(
        "[General]\ntheme=@Variant(\\0)\nrecent_runs=@Invalid()\n[layout]\nversion=1\nmeasure=7\n"
    )
    preferences = Preferences(tmp_path / "window.ini")
    assert preferences.theme == "light"
    assert preferences.recent_runs() == ()
    assert preferences.layout("measure").isEmpty()
