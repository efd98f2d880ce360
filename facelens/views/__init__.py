"""What the user sees; the only home of PySide6 and pyqtgraph."""

from facelens.views import binding

binding.mend()
