"""An old path of the scalar types, and sets of them. `int`, `float` and `bool` stand for the default types and `u1`."""

from quadrants._native import f16, f32, f64, i8, i16, i32, i64, u1, u8, u16, u32, u64
from quadrants.types.primitive import RefType as RefType
from quadrants.types.primitive import ref as ref

float16, float32, float64 = f16, f32, f64
int8, int16, int32, int64 = i8, i16, i32, i64
uint1, uint8, uint16, uint32, uint64 = u1, u8, u16, u32, u64

real_types = {f16, f32, f64, float}
integer_types = {i8, i16, i32, i64, u1, u8, u16, u32, u64, int, bool}
all_types = real_types | integer_types
type_ids, real_type_ids, integer_type_ids = (
    {id(one) for one in types} for types in (all_types, real_types, integer_types)
)
