"""Where releases come from: a finished run, or own files whose values are gone."""

from sm_ops.release.sources.files import Restricted, from_files
from sm_ops.release.sources.run import from_run, material_of

__all__ = ["Restricted", "from_files", "from_run", "material_of"]
