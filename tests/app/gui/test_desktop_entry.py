import configparser
import shlex
import shutil
from pathlib import Path

import pytest

from app.gui.desktop_entry import install_desktop
from exporters.types import GraphlapError


def test_the_entry_names_a_program_that_is_there_and_its_icon(tmp_path: Path) -> None:
    entry, icon = install_desktop(tmp_path)
    config_parser = configparser.ConfigParser(interpolation=None)
    config_parser.read(entry, "utf-8")
    values = config_parser["Desktop Entry"]
    program = shlex.split(values["exec"])[0]
    assert shutil.which(program)
    assert values["type"] == "Application"
    assert icon.stem == values["icon"]
    assert icon.read_text("utf-8").startswith("<svg")


def test_a_folder_that_cannot_be_written_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "applications").write_text("a file in the way")
    with pytest.raises(GraphlapError, match="XDG_DATA_HOME"):
        install_desktop(tmp_path)
