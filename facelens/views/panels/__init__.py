"""One file per panel of the stage. PANELS is in display order."""

from __future__ import annotations

from facelens.views.panels.doctor import DoctorPanel
from facelens.views.panels.gallery import GalleryPanel
from facelens.views.panels.models import ModelsPanel

PANELS = (GalleryPanel, DoctorPanel, ModelsPanel)
