import numpy as np
from PySide6.QtGui import QPolygonF

def arrayToQPolygonF(x: np.ndarray, y: np.ndarray) -> QPolygonF: ...
