from pathlib import Path

from PySide6.QtCore import QByteArray, QSettings

from app.gui.look.preferences import Settings


def test_layouts_come_back_and_recent_runs_are_newest_first(tmp_path: Path) -> None:
    settings = Settings(tmp_path / "window.ini")
    settings.save_layout("measure", QByteArray(b"docks"))
    for name in ("a", "b", "a"):
        (tmp_path / name).mkdir(exist_ok=True)
        settings.add_recent(tmp_path / name)
    settings.sync()
    again = Settings(tmp_path / "window.ini")
    assert again.layout("measure") == QByteArray(b"docks")
    assert [path.name for path in again.recent_runs()] == ["a", "b"]


def test_a_layout_of_another_version_is_forgotten_and_nothing_else(tmp_path: Path) -> None:
    settings = Settings(tmp_path / "window.ini")
    settings.save_layout("measure", QByteArray(b"docks"))
    settings.theme = "dark"
    settings.save_preset("mine", 'name = "x"')
    settings.sync()
    store = QSettings(str(tmp_path / "window.ini"), QSettings.Format.IniFormat)
    store.setValue("layout/version", 0)
    store.sync()
    again = Settings(tmp_path / "window.ini")
    assert again.layout("measure").isEmpty()
    assert again.theme == "dark"
    assert again.presets() == {"mine": 'name = "x"'}


def test_a_run_that_is_gone_is_not_offered(tmp_path: Path) -> None:
    settings = Settings(tmp_path / "window.ini")
    (tmp_path / "run").mkdir()
    settings.add_recent(tmp_path / "run")
    (tmp_path / "run").rmdir()
    assert settings.recent_runs() == ()


def test_damaged_values_count_as_not_there(tmp_path: Path) -> None:
    (tmp_path / "window.ini").write_text(
        "[General]\ntheme=@Variant(\\0)\nrecent_runs=@Invalid()\n[layout]\nversion=1\nmeasure=7\n"
    )
    settings = Settings(tmp_path / "window.ini")
    assert settings.theme == "light"
    assert settings.recent_runs() == ()
    assert settings.layout("measure").isEmpty()
