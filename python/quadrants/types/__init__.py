"""`qd.types`: scalar types, compound types and the annotations of kernel parameters."""

from quadrants._native import f16, f32, f64, i8, i16, i32, i64, u1, u8, u16, u32, u64
from quadrants.types import compound_types, ndarray_type, primitive_types
from quadrants.types.annotations import (
    BufferViewType,
    NDArray,
    NdarrayType,
    Template,
    ndarray,
    sparse_matrix_builder,
    template,
)
from quadrants.types.compound import MatrixType, VectorType, matrix, vector
from quadrants.types.enums import Layout
from quadrants.types.primitive import RefType, ref
from quadrants.types.quant import quant
from quadrants.types.structs import StructType, struct
from quadrants.types.utils import is_integral, is_real, is_signed, is_tensor

float16, float32, float64 = f16, f32, f64
int8, int16, int32, int64 = i8, i16, i32, i64
uint1, uint8, uint16, uint32, uint64 = u1, u8, u16, u32, u64

__all__ = [
    "BufferViewType", "Layout", "MatrixType", "NDArray", "NdarrayType", "RefType", "StructType", "Template",
    "VectorType", "compound_types", "f16", "f32", "f64", "float16", "float32", "float64", "i16", "i32", "i64", "i8", "int16", "int32",
    "int64", "int8", "is_integral", "is_real", "is_signed", "is_tensor", "matrix", "ndarray", "ndarray_type", "primitive_types", "quant", "ref",
    "sparse_matrix_builder", "struct", "template", "u1", "u16", "u32", "u64", "u8", "uint1", "uint16", "uint32",
    "uint64", "uint8", "vector",
]  # fmt: skip
