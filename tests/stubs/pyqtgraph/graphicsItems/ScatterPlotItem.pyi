from PySide6.QtGui import QPainterPath

Symbols: dict[str, QPainterPath]
