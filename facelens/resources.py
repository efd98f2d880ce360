"""Find assets/, sample_data/ and the pages of the guide from a checkout or from an installed wheel."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent


def assets() -> Path:
    """The folder of icons, fonts and other files the application draws with."""
    return _folder("assets")


def guide() -> Path:
    """The folder of the user's guide, which lies inside the package."""
    return _PACKAGE / "docs"


def sample_data() -> Path:
    """The folder of the sample gallery."""
    return _folder("sample_data")


def sample_models() -> tuple[Path, ...]:
    """The checkpoints that come with the sample gallery, by name."""
    return tuple(sorted((sample_data() / "checkpoints").glob("*.safetensors")))


def sample_transforms() -> dict[str, Path]:
    """Transforms that come with the sample checkpoints: file of each model of the sample ensemble."""
    folder = sample_data() / "checkpoints" / "transforms"
    return {name: folder / f"m2m_{name}.gallery.safetensors" for name in ("plain", "residual")}


def _folder(name: str) -> Path:
    # A wheel carries the folders inside the package. A checkout has no bundle: there they lie beside the package,
    # and the path is returned even while the folder is still to be made.
    bundled = _PACKAGE / "_bundle" / name
    return bundled if bundled.is_dir() else _PACKAGE.parent / name
