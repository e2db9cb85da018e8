// func.hpp: the whole IR as C++ sees it. A unit is a parameter list and a table of functions, the entry first; a function is
// one flat array of 16-byte records, and a value is the index of its record. Regions are written inline (`loop ... end`).
// Names live in Debug, beside the code, and take no part in equality, hashing or the wire form. Meaning: docs/ir.md.
#pragma once
#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "qd/wire.h"

namespace qd::ir {

enum class Type : uint8_t {
#define TYPE(name, ...) name,
#include "qd/types.def"
  count
};

enum class Op : uint16_t {
#define OP(name, ...) name,
#include "qd/ops.def"
  count
};

enum class TypeClass : uint8_t { None, Bool, Int, Float };
enum class Class : uint8_t { Any, Num, Int, Float, Bits };
enum class Result : uint8_t { None, Same, Bool, Given };
enum class Effect : uint8_t { Pure, Read, Write, Control, Attach };
enum Flags : uint16_t {
  Comm = 1, Opens = 2, Closes = 4, Loopy = 8, Label = 16, Inexact = 32, Takes = 64, Index = 128, Mixed = 256, Atomic = 512,
  Threads = 1024
};

struct TypeInfo {
  std::string_view name;
  uint8_t bytes;
  TypeClass cls;
};
inline constexpr TypeInfo type_table[] = {
#define TYPE(name, bytes, cls, doc) {#name, bytes, TypeClass::cls},
#include "qd/types.def"
};
constexpr const TypeInfo &info(Type t) { return type_table[size_t(t)]; }
constexpr bool is_int(Type t) { return info(t).cls == TypeClass::Int; }
constexpr bool is_float(Type t) { return info(t).cls == TypeClass::Float; }

struct OpInfo {
  std::string_view name;  // as the text form writes it
  std::string_view sig;
  Class operands;
  Result result;
  Effect effect;
  uint16_t flags;
};
constexpr std::string_view text_name(std::string_view n) { return n.ends_with('_') ? n.substr(0, n.size() - 1) : n; }
inline constexpr OpInfo op_table[] = {
#define OP(name, sig, cls, res, eff, flags, meaning, doc) \
  {text_name(#name), sig, Class::cls, Result::res, Effect::eff, uint16_t(flags)},
#include "qd/ops.def"
};
constexpr const OpInfo &info(Op op) { return op_table[size_t(op)]; }

using Val = uint32_t;
inline constexpr Val no_val = QD_NO_VALUE;

// True for signature letters that name a record of this function.
constexpr bool names_record(char sig) { return sig == 'v' || sig == 'c' || sig == 'h' || sig == 'y'; }

struct Inst {
  Op op{};
  Type type{};
  uint8_t aux = 0;
  std::array<uint32_t, 3> arg{};
  bool operator==(const Inst &) const = default;
};
static_assert(sizeof(Inst) == sizeof(QdInst));
constexpr uint64_t const_bits(const Inst &k) { return k.arg[0] | uint64_t(k.arg[1]) << 32; }

struct Param {
  uint8_t kind = QD_PARAM_SCALAR;
  Type type{};
  uint8_t rank = 0;
  uint8_t alias = QD_ALIAS_EXTERNAL;
  uint32_t count = 0;
  bool operator==(const Param &) const = default;
};
static_assert(sizeof(Param) == sizeof(QdParam));
constexpr uint32_t words(const Param &p) {  // in an argument block
  return p.alias == QD_ALIAS_SHARED ? 0u : p.kind == QD_PARAM_BUFFER ? 1u + p.rank : 1u;
}

struct Func {
  std::vector<Inst> code;
  uint32_t n_args = 0, n_results = 0;
  bool operator==(const Func &) const = default;
};

struct Loop {
  std::string name;      // for people
  uint32_t section = 0;  // loops of different sections may run side by side; 0: in order with all
};

struct Debug {
  std::string name;
  std::vector<std::string> params;
  std::map<uint32_t, Loop> loops;  // by record of a `parallel` of the entry
};

struct Unit {
  std::vector<Param> params;
  std::vector<Func> funcs;  // funcs[0] is the entry
  Debug debug;
  const std::vector<Inst> &code() const { return funcs[0].code; }
};

}  // namespace qd::ir
