"""Sweeps that wait for their turn, first in, first out; the order can be changed."""

from __future__ import annotations

from PySide6.QtCore import QObject, Signal

from app.plan.plan import Plan


class SweepQueue(QObject):
    """A held queue gives nothing out until `release`."""

    changed = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.plans: list[Plan] = []
        self.held = False

    def add(self, plan: Plan) -> None:
        self.plans.append(plan)
        self.changed.emit()

    def take(self) -> Plan | None:
        """The first plan, taken out; None if there is none or the queue is held."""
        if self.held or not self.plans:
            return None
        plan = self.plans.pop(0)
        self.changed.emit()
        return plan

    def remove(self, index: int) -> None:
        del self.plans[index]
        self.changed.emit()

    def move(self, index: int, to: int) -> None:
        """Put the plan at `index` to place `to`."""
        self.plans.insert(to, self.plans.pop(index))
        self.changed.emit()

    def hold(self) -> None:
        self.held = bool(self.plans)
        self.changed.emit()

    def release(self) -> None:
        self.held = False
        self.changed.emit()
