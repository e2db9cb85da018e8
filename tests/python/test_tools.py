"""`qd.tools`: the files that other programs read."""

import sys
import types

import numpy as np
import pytest

import quadrants as qd


def grid_writer(monkeypatch):
    """Stands in for the package pyevtk, an optional one; what it was called with."""
    calls = []
    module = types.ModuleType("pyevtk.hl")
    module.gridToVTK = lambda path, *axes, **data: calls.append((path, axes, data))
    monkeypatch.setitem(sys.modules, "pyevtk", types.ModuleType("pyevtk"))
    monkeypatch.setitem(sys.modules, "pyevtk.hl", module)
    return calls


@pytest.mark.parametrize("shape", [(3, 4), (2, 3, 4)])
def test_vtk_is_a_grid_of_cells(arch, monkeypatch, shape):
    """A value a cell: one coordinate more than cells along each axis, so that readers find as many cells as values."""
    calls = grid_writer(monkeypatch)
    field = qd.field(qd.i32, shape)
    field.from_numpy(np.arange(np.prod(shape), dtype=np.int32).reshape(shape))
    qd.tools.write_vtk(field, "grid")
    ((path, axes, data),) = calls
    assert path == "grid" and list(data) == ["cellData"] and list(data["cellData"]) == ["grid"]
    values = data["cellData"]["grid"]
    assert values.dtype == np.int32 and values.reshape(shape).tolist() == field.to_numpy().tolist()
    assert [a.tolist() for a in axes] == [list(range(n + 1)) for n in (*shape, 1)[:3]]


@pytest.mark.parametrize("shape", [(4,), (), (2, 2, 2, 2)])
def test_vtk_of_other_dimensions(arch, monkeypatch, shape):
    grid_writer(monkeypatch)
    with pytest.raises(ValueError, match="two or three dimensions"):
        qd.tools.write_vtk(qd.field(qd.f32, shape), "grid")


def test_vtk_files(arch, tmp_path):
    pytest.importorskip("pyevtk")
    field = qd.field(qd.f32, (3, 4))
    qd.tools.write_vtk(field, str(tmp_path / "grid"))
    text = (tmp_path / "grid.vtr").read_bytes()
    assert b'WholeExtent="0 3 0 4 0 1"' in text and b"<CellData" in text


def test_ply(tmp_path):
    writer = qd.tools.PLYWriter(num_vertices=4, num_faces=2, face_type="tri")
    writer.add_vertex_pos(np.arange(4.0), np.zeros(4), np.ones(4))
    writer.add_vertex_id()
    writer.add_faces(np.array([0, 1, 2, 1, 2, 3]))
    writer.export_ascii(str(tmp_path / "a.ply"))
    lines = (tmp_path / "a.ply").read_text().split("\n")
    body = lines.index("end_header") + 1
    assert lines[:2] == ["ply", "format ascii 1.0"]
    assert "element vertex 4" in lines and "element face 2" in lines and "property float x" in lines
    assert [line.split() for line in lines[body : body + 2]] == [["0.0", "0.0", "1.0", "0"], ["1.0", "0.0", "1.0", "1"]]
    assert lines[body + 4].split() == ["3", "0", "1", "2"] and lines[body + 5].split() == ["3", "1", "2", "3"]
    writer.export_frame(7, str(tmp_path / "b.ply"))
    head, _, data = (tmp_path / "b_000007.ply").read_bytes().partition(b"end_header\n")
    assert b"binary_little_endian" in head and len(data) == 4 * (3 * 4 + 4) + 2 * (1 + 3 * 4)
    assert np.frombuffer(data[16:28], "<f4").tolist() == [1.0, 0.0, 1.0]
