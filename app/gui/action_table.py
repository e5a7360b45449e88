"""Every action of the window as a row of a table: menus, tool bar and shortcut sheet follow it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ActionSpec:
    """`slot` is a method of the window or of one of its parts; `icon` is a name in `glyphs`."""

    key: str
    text: str
    slot: str
    shortcut: str = ""
    tip: str = ""
    icon: str = ""
    checkable: bool = False


_FILE = (
    ActionSpec(
        "open_run",
        "&Open run folder…",
        "files.open_run",
        "Ctrl+O",
        "Open a run of this machine or another, also one that is still being written",
        "open",
    ),
    ActionSpec(
        "compare",
        "Co&mpare with run…",
        "files.compare_run",
        "Ctrl+D",
        "Lay a second run beside the open one: ratios of p50 and p99, and what differs around them",
    ),
    ActionSpec(
        "baseline_run",
        "Add run as &baseline…",
        "files.baseline_run",
        "Ctrl+Shift+B",
        "Draw another run in grey behind the open one, and tell every case's distance from it",
    ),
    ActionSpec(
        "rename_baseline",
        "Re&name baseline…",
        "named.ask_for_name",
        "F2",
        "Type another name for a baseline, in the list below the series",
    ),
    ActionSpec(
        "merge_runs",
        "Merge with ru&n…",
        "files.merge_runs",
        "Ctrl+Shift+M",
        "Make one run of the open one and another's, such as of two machines, or of all that were "
        "dropped together; the same case on two hosts stands side by side",
    ),
    ActionSpec(
        "drop_baselines",
        "&Drop all baselines",
        "drop_baselines",
        "",
        "Draw and compare with no baseline any more",
    ),
    ActionSpec(
        "open_plan",
        "Open &plan…",
        "files.open_plan",
        "Ctrl+Shift+O",
        "Open a sweep from a TOML file in the editor",
    ),
    ActionSpec(
        "save_plan",
        "&Save plan…",
        "files.save_plan",
        "Ctrl+S",
        "Save the sweep in the editor as a TOML file",
    ),
    ActionSpec(
        "export",
        "&Export view…",
        "looks.export_view",
        "Ctrl+E",
        "Save the view in front as PNG, SVG or CSV, on a light background",
    ),
    ActionSpec(
        "export_samples",
        "Export &marked samples…",
        "files.export_samples",
        "",
        "Save the samples that were marked with Shift and the mouse as CSV: case, round, "
        "iteration, start, latency",
    ),
    ActionSpec(
        "report",
        "Save repor&t…",
        "files.write_report",
        "",
        "One HTML page of the open run, or of two that are compared, for whoever has no Graphlap",
    ),
    ActionSpec(
        "runs_folder",
        "Choose runs &folder…",
        "files.choose_runs_folder",
        "",
        "Where runs that are started here are written",
    ),
    ActionSpec(
        "quit",
        "&Quit",
        "close",
        "Ctrl+Q",
        "Close the window; a sweep that is being measured goes on",
    ),
)
_EDIT = (
    ActionSpec(
        "copy_command",
        "&Copy as command line",
        "files.copy_command",
        "Ctrl+Shift+C",
        "Copy the command that measures the same cases without a window",
    ),
    ActionSpec(
        "copy_picture",
        "Copy &picture of the view",
        "looks.copy_picture",
        "Ctrl+Shift+E",
        "Put the view in front on the clipboard, on a light background",
    ),
    ActionSpec(
        "find",
        "&Find anything…",
        "finder.find_anything",
        "Ctrl+K",
        "Every action, view, case, model, term and recent run by a few letters",
    ),
)
_RUN = (
    ActionSpec(
        "run",
        "&Run sweep",
        "runs.run_sweep",
        "F5",
        "Measure the sweep in the editor",
        "run",
    ),
    ActionSpec(
        "pause",
        "&Pause",
        "runs.pause_or_resume",
        "F6",
        "Pause between rounds, and go on",
        "pause",
    ),
    ActionSpec(
        "stop",
        "&Stop",
        "runs.stop",
        "Shift+F5",
        "End after the block in flight; the run can be resumed",
        "stop",
    ),
    ActionSpec(
        "queue",
        "Add to &queue",
        "runs.queue_sweep",
        "Ctrl+F5",
        "Measure the sweep in the editor after those that run or wait",
    ),
    ActionSpec(
        "resume_run",
        "Resume open r&un",
        "runs.resume_open_run",
        "Ctrl+R",
        "Measure what the open run folder still lacks",
    ),
    ActionSpec(
        "follow",
        "&Follow the measurement",
        "rows.follow_measurement",
        "Ctrl+L",
        "Drop the selection and show the cases that are measured now",
    ),
)
_VIEW = (
    ActionSpec(
        "measure",
        "Page &Measure",
        "layouts.page_measure",
        "Ctrl+1",
        "Compose a sweep and watch its distributions grow",
        "measure",
        True,
    ),
    ActionSpec(
        "results",
        "Page &Results",
        "layouts.page_results",
        "Ctrl+2",
        "Compare models, runtimes, devices and batch sizes",
        "results",
        True,
    ),
    ActionSpec(
        "inspect",
        "Page &Inspect",
        "layouts.page_inspect",
        "Ctrl+3",
        "Look into a model, and into the card that ran it",
        "inspect",
        True,
    ),
    ActionSpec(
        "editor",
        "S&weep",
        "layouts.toggle_editor",
        "F9",
        "Fold the editor away, or bring it back to where it was; a run that starts folds it",
        "editor",
        True,
    ),
    ActionSpec(
        "fill",
        "&One view full",
        "looks.fill_window",
        "F11",
        "Give the view in front the whole window; F11 or Escape brings the others back",
        "",
        True,
    ),
    ActionSpec(
        "dark",
        "&Dark theme",
        "toggle_theme",
        "Ctrl+T",
        "Change between the light and the dark theme",
        "",
        True,
    ),
    ActionSpec(
        "series",
        "&Series list",
        "toggle_series",
        "F8",
        "Names the series beside their plots: hide, show alone, order and colour them",
    ),
    ActionSpec(
        "reset_layout",
        "Reset to &default layout",
        "layouts.reset",
        "Ctrl+Shift+R",
        "Put the docks of this page back where they were at first",
    ),
    ActionSpec(
        "keep_layout",
        "&Keep as custom layout",
        "layouts.keep",
        "",
        "Keep this page's arrangement to come back to",
    ),
    ActionSpec(
        "custom_layout",
        "Back to &custom layout",
        "layouts.bring_custom",
        "Ctrl+Shift+L",
        "Bring back the arrangement that was kept for this page",
    ),
)
_HELP = (
    ActionSpec(
        "shortcuts",
        "Keyboard &shortcuts",
        "help.show_shortcuts",
        "F1",
        "All keyboard shortcuts on one sheet",
    ),
    ActionSpec(
        "terms",
        "&Terms",
        "help.show_terms",
        "Shift+F1",
        "What p99, spacing, boundary and the other words mean",
    ),
    ActionSpec("about", "&About Graphlap", "help.show_about"),
)
ACTIONS = {"&File": _FILE, "&Edit": _EDIT, "&Run": _RUN, "&View": _VIEW, "&Help": _HELP}
"""By the menu that holds them, each in its order there."""
