"""`qd.tools.PLYWriter`: meshes and point clouds as PLY files, text or little-endian binary."""

from typing import Any

import numpy as np

# Types of a property in a file, and how NumPy stores them.
_TYPES = {
    "char": "i1", "uchar": "u1", "short": "<i2", "ushort": "<u2", "int": "<i4", "uint": "<u4", "float": "<f4",
    "double": "<f8",
}  # fmt: skip
_CORNERS = {"tri": 3, "quad": 4}


class _Channels:
    """The properties of one kind of element, in order."""

    def __init__(self, what: str, count: int) -> None:
        self.what, self.count = what, count
        self.rows: list[tuple[str, str, np.ndarray]] = []

    def add(self, key: str, data_type: str, data: Any) -> None:
        if data_type not in _TYPES:
            print(f"Unknown type {data_type} detected, skipping this channel")
            return
        values = np.asarray(data).reshape(-1)
        if values.size != self.count:
            raise AssertionError(
                f"The dimension of the {self.what} channel is not correct: {key} has {values.size} values, expected "
                f"{self.count}"
            )
        if any(key == name for name, _, _ in self.rows):
            print(f"The {self.what} channel {key} already exists, skipping this channel")
            return
        self.rows.append((key, data_type, values.astype(_TYPES[data_type])))

    def dtypes(self) -> list[Any]:
        return [(key, _TYPES[data_type]) for key, data_type, _ in self.rows]


class PLYWriter:
    """Collects channels of `num_vertices` vertices and `num_faces` faces (`face_type`: `tri` or `quad`), and writes them.

    Arrays are flat, one number an element (faces: the corners of each, one behind the other). AssertionError for another
    length or face type.
    """

    def __init__(
        self, num_vertices: int, num_faces: int = 0, face_type: str = "tri", comment: str = "created by PLYWriter"
    ) -> None:
        if face_type not in _CORNERS:
            raise AssertionError(f"Only tri and quad faces are supported for now, found {face_type!r}")
        self.num_vertices, self.num_faces, self.face_type, self.comment = num_vertices, num_faces, face_type, comment
        self._vertices, self._faces = _Channels("vertex", num_vertices), _Channels("face", num_faces)
        self._corners: np.ndarray | None = None

    def add_vertex_channel(self, key: str, data_type: str, data: Any) -> None:
        """A property of vertices; `data_type` is a type of PLY: char uchar short ushort int uint float double."""
        self._vertices.add(key, data_type, data)

    def add_face_channel(self, key: str, data_type: str, data: Any) -> None:
        """A property of faces, as `add_vertex_channel`."""
        self._faces.add(key, data_type, data)

    def _add_floats(self, **channels: Any) -> None:
        for key, data in channels.items():
            self._vertices.add(key, "float", data)

    def add_vertex_pos(self, x: Any, y: Any, z: Any) -> None:
        """Positions."""
        self._add_floats(x=x, y=y, z=z)

    def add_vertex_normal(self, nx: Any, ny: Any, nz: Any) -> None:
        """Normals."""
        self._add_floats(nx=nx, ny=ny, nz=nz)

    def add_vertex_color(self, r: Any, g: Any, b: Any) -> None:
        """Colours, from 0 to 1."""
        self._add_floats(red=r, green=g, blue=b)

    def add_vertex_alpha(self, alpha: Any) -> None:
        """Opacity, from 0 to 1."""
        self._add_floats(Alpha=alpha)

    def add_vertex_rgba(self, r: Any, g: Any, b: Any, a: Any) -> None:
        """Colours and opacity, from 0 to 1."""
        self._add_floats(red=r, green=g, blue=b, Alpha=a)

    def add_vertex_vel(self, vx: Any, vy: Any, vz: Any) -> None:
        """Velocities."""
        self._add_floats(vx=vx, vy=vy, vz=vz)

    def add_vertex_id(self) -> None:
        """The number of each vertex, from 0."""
        self._vertices.add("id", "int", np.arange(self.num_vertices))

    def add_vertex_piece(self, piece: Any) -> None:
        """The part that each vertex belongs to: an integer."""
        self._vertices.add("piece", "int", piece)

    def add_faces(self, indices: Any) -> None:
        """The corners of all faces: numbers of vertices."""
        corners = np.asarray(indices).reshape(-1)
        if corners.size != self.num_faces * _CORNERS[self.face_type]:
            raise AssertionError(
                f"The dimension of the face vertices is not correct: {corners.size} numbers, expected "
                f"{self.num_faces} x {_CORNERS[self.face_type]}"
            )
        self._corners = corners.reshape(self.num_faces, -1).astype("<i4")

    def add_face_id(self) -> None:
        """The number of each face, from 0."""
        self._faces.add("id", "int", np.arange(self.num_faces))

    def add_face_piece(self, piece: Any) -> None:
        """The part that each face belongs to: an integer."""
        self._faces.add("piece", "int", piece)

    def sanity_check(self) -> None:
        """AssertionError unless there are positions, and corners if there are faces."""
        if not {"x", "y", "z"} <= {key for key, _, _ in self._vertices.rows}:
            raise AssertionError("The vertex pos channel is missing: call add_vertex_pos")
        if self.num_faces and self._corners is None:
            raise AssertionError("The face vertices are missing: call add_faces")

    def _header(self, form: str) -> str:
        lines = ["ply", f"format {form} 1.0", f"comment {self.comment}", f"element vertex {self.num_vertices}"]
        lines += [f"property {data_type} {key}" for key, data_type, _ in self._vertices.rows]
        if self.num_faces:
            lines += [f"element face {self.num_faces}", "property list uchar int vertex_indices"]
            lines += [f"property {data_type} {key}" for key, data_type, _ in self._faces.rows]
        return "\n".join([*lines, "end_header", ""])

    def print_header(self, path: str, _format: str) -> None:
        """Writes the header alone to a file; `_format` is `ascii` or `binary_little_endian`."""
        with open(path, "w") as file:
            file.write(self._header(_format))

    def export_ascii(self, path: str) -> None:
        """Writes a text file."""
        self.sanity_check()
        columns = [values.tolist() for _, _, values in self._vertices.rows]
        lines = ["".join(f"{value} " for value in row) for row in zip(*columns)]
        if self.num_faces and self._corners is not None:
            more = [values.tolist() for _, _, values in self._faces.rows]
            for k, corners in enumerate(self._corners.tolist()):
                lines.append("".join(f"{value} " for value in (len(corners), *corners, *(one[k] for one in more))))
        with open(path, "w") as file:
            file.write(self._header("ascii") + "".join(line + "\n" for line in lines))

    def export(self, path: str) -> None:
        """Writes a binary file."""
        self.sanity_check()
        vertices = np.empty(self.num_vertices, self._vertices.dtypes())
        for key, _, values in self._vertices.rows:
            vertices[key] = values
        parts = [vertices.tobytes()]
        if self.num_faces and self._corners is not None:
            corners = self._corners.shape[1]
            faces = np.empty(self.num_faces, [("count", "u1"), ("corners", "<i4", (corners,)), *self._faces.dtypes()])
            faces["count"], faces["corners"] = corners, self._corners
            for key, _, values in self._faces.rows:
                faces[key] = values
            parts.append(faces.tobytes())
        with open(path, "wb") as file:
            file.write(self._header("binary_little_endian").encode() + b"".join(parts))

    def export_frame(self, series_num: int, path: str) -> None:
        """Writes a binary file of a series: `name.ply` becomes `name_000007.ply`."""
        self.export(_numbered(path, series_num))

    def export_frame_ascii(self, series_num: int, path: str) -> None:
        """Writes a text file of a series, as `export_frame`."""
        self.export_ascii(_numbered(path, series_num))


def _numbered(path: str, series_num: int) -> str:
    return f"{path.removesuffix('.ply')}_{series_num:06d}.ply"


def write_vtk(scalar_field: Any, filename: str) -> None:
    """Writes a 2-D or 3-D scalar field as `filename.vtr`, for ParaView: a grid of unit cells, whose values are called
    `filename`. ValueError for other dimensions. Needs the package pyevtk (ImportError)."""
    try:
        from pyevtk.hl import gridToVTK
    except ImportError:
        raise ImportError(
            "qd.tools.write_vtk needs the package pyevtk, which is not installed: `pip install pyevtk`"
        ) from None
    values = scalar_field if isinstance(scalar_field, np.ndarray) else scalar_field.to_numpy()
    if values.ndim not in (2, 3):
        raise ValueError(f"write_vtk takes a field of two or three dimensions, found {values.ndim}")
    values = np.ascontiguousarray(values.reshape(*values.shape, *([1] * (3 - values.ndim))))
    axes = [np.arange(extent + 1) for extent in values.shape]
    gridToVTK(filename, *axes, cellData={filename: values})
