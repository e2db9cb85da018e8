// values.hpp: numbers in the headers of .kir files.
#pragma once
#include "core/ir/func.hpp"

namespace qd::ir::testing {

// "1.5", "-3", "nan", "inf"; throws std::runtime_error. Integers and floats take what their type can hold.
uint64_t parse_value(Type t, const std::string &word);
std::string show_value(Type t, uint64_t bits);
// Whether `found` is what was expected: any NaN for a NaN; the same bits, or within `tolerance` relative to max(1,
// |expected|).
bool agrees(Type t, uint64_t found, uint64_t expected, double tolerance);

}  // namespace qd::ir::testing
