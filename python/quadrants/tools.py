"""`qd.tools`: writers of geometry files."""

from quadrants.lang.ply import PLYWriter as PLYWriter
from quadrants.lang.ply import write_vtk as write_vtk


def __dir__() -> list[str]:
    return ["PLYWriter", "write_vtk"]
