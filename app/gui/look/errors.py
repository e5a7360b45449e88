"""Work in another thread; errors as a dialog whose text can be copied, and hooks that lead there.

A `GraphlapError` is shown as its sentence; anything else is a fault of the program and
brings its traceback along.
"""

from __future__ import annotations

import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from types import FunctionType, TracebackType
from typing import Any

from PySide6.QtCore import QObject, Qt, QThreadPool, Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QMessageBox, QWidget

from exporters.types import GraphlapError


class Errand(QObject):
    """`done` carries the errand and what `work` returned, or the GraphlapError that ended it. It
    belongs to no widget, which may be gone by then."""

    done = Signal(object, object)

    def __init__(self, work: Callable[[], Any]) -> None:
        super().__init__()
        self._work = work

    def begin(self) -> None:
        QThreadPool.globalInstance().start(self._run)

    def _run(self) -> None:
        try:
            result = self._work()
        except GraphlapError as error:
            result = error
        self.done.emit(self, result)


class ErrorDialog(QMessageBox):
    """One sentence, its remedy, and details where there are any; all of it can be copied."""

    def __init__(self, sentence: str, remedy: str, details: str, parent: QWidget | None) -> None:
        super().__init__(parent)
        self.setWindowTitle("Graphlap")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.whole = "\n".join(filter(None, (sentence, remedy, details)))
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.setText(sentence[:1].upper() + sentence[1:])
        self.setInformativeText(remedy[:1].upper() + remedy[1:])
        self.setDetailedText(details)
        self.setStandardButtons(QMessageBox.StandardButton.Close)
        self.copy_button = self.addButton("&Copy", QMessageBox.ButtonRole.ActionRole)
        self.copy_button.setAccessibleName("copy the error's text")
        self.copy_button.clicked.disconnect()  # its window stays
        self.copy_button.clicked.connect(lambda: QGuiApplication.clipboard().setText(self.whole))


@contextmanager
def errors_to(tell: Callable[[GraphlapError], object]) -> Iterator[None]:
    """An error of ours in the block ends it and is told; all others go on."""
    try:
        yield
    except GraphlapError as error:
        tell(error)


def show_error(error: BaseException, parent: QWidget | None = None) -> ErrorDialog:
    """Open the dialog for `error` without blocking, and return it."""
    if isinstance(error, GraphlapError):
        dialog = ErrorDialog(error.cause, error.remedy, "", parent)
    else:
        trace = "".join(traceback.format_exception(error))
        sentence = f"something went wrong in the window: {type(error).__name__}: {error}"
        remedy = "measurements that are running are not touched; please report the text below"
        dialog = ErrorDialog(sentence, remedy, trace, parent)
    dialog.open()
    return dialog


class ErrorHooks(QObject):
    """Leads what nobody caught, in any Python thread, to one dialog in the window's thread.

    While one dialog is open, further errors only go to standard error: a fault in a timer
    must not bury the screen.
    """

    _error_raised = Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._window = parent
        self.dialog: ErrorDialog | None = None
        self._hooks_before = (sys.excepthook, threading.excepthook)
        self._error_raised.connect(self._show)
        sys.excepthook = self._from_main
        threading.excepthook = self._from_thread

    def remove(self) -> None:
        """Put back the hooks that were there before."""
        sys.excepthook, threading.excepthook = self._hooks_before

    def _from_main(
        self, kind: type[BaseException], error: BaseException, trace: TracebackType | None
    ) -> None:
        sys.__excepthook__(kind, error, trace)
        if not issubclass(kind, KeyboardInterrupt):
            self._error_raised.emit(error)

    def _from_thread(self, arguments: threading.ExceptHookArgs) -> None:
        if arguments.exc_value is not None:
            self._from_main(arguments.exc_type, arguments.exc_value, arguments.exc_traceback)

    def _show(self, error: BaseException) -> None:
        if self.dialog is not None:
            return
        self.dialog = show_error(error, self._window)
        self.dialog.destroyed.connect(self._on_close)

    def _on_close(self) -> None:
        self.dialog = None


def catch_in_overrides(kind: type) -> None:
    """Catch and raise again what is raised in place of Qt's methods, in all subclasses so far.

    In Python 3.11 what C code raises, such as a division by zero, is an exception only once it is
    caught. PySide 6.11 takes it for one before: the process ends with a segmentation fault.
    """
    subclasses: list[type] = kind.__subclasses__()
    for subclass in subclasses:
        bases = [base for base in subclass.__mro__ if base.__module__.startswith("PySide6")]
        for name, method in [*vars(subclass).items()]:
            is_new = isinstance(method, FunctionType) and not hasattr(method, "__wrapped__")
            if is_new and name[0] != "_" and any(name in vars(base) for base in bases):
                setattr(subclass, name, _caught(method))
        catch_in_overrides(subclass)


def _caught(method: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(method)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return method(*args, **kwargs)
        except BaseException:
            raise

    return call
