// ir_tables.hpp: ops.def and types.def as C++17 tables for plugins. The core has its own copy of this expansion in core/ir; both
// are made of the same rows, so they cannot differ. Nothing here depends on the core.
#pragma once
#include <cstdint>
#include <string_view>

#include "qd/wire.h"

namespace qd::view {

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
  Comm = 1, Opens = 2, Closes = 4, Loopy = 8, Label = 16, Inexact = 32, Takes = 64, Index = 128, Mixed = 256, Atomic = 512, Threads = 1024
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

constexpr std::string_view text_name(std::string_view n) {
  return !n.empty() && n[n.size() - 1] == '_' ? n.substr(0, n.size() - 1) : n;
}

struct OpInfo {
  std::string_view name;  // as the text form writes it
  std::string_view sig;   // one letter per operand field
  Class operands;
  Result result;
  Effect effect;
  uint16_t flags;
};
inline constexpr OpInfo op_table[] = {
#define OP(name, sig, cls, res, eff, flags, meaning, doc) \
  {text_name(#name), sig, Class::cls, Result::res, Effect::eff, uint16_t(flags)},
#include "qd/ops.def"
};

inline constexpr uint32_t n_ops = uint32_t(Op::count), n_types = uint32_t(Type::count);
inline constexpr uint32_t no_value = QD_NO_VALUE;

// Both expect a row number that has been checked (View::read does).
constexpr const TypeInfo &info(Type t) { return type_table[uint32_t(t)]; }
constexpr const OpInfo &info(Op op) { return op_table[uint32_t(op)]; }
constexpr bool is_int(Type t) { return info(t).cls == TypeClass::Int; }
constexpr bool is_float(Type t) { return info(t).cls == TypeClass::Float; }
constexpr bool has(Op op, Flags f) { return (info(op).flags & f) != 0; }

constexpr Op op_of(const QdInst &i) { return Op(i.op); }
constexpr Type type_of(const QdInst &i) { return Type(i.type); }
constexpr uint32_t field(const QdInst &i, uint32_t k) { return k == 0 ? i.a : k == 1 ? i.b : i.c; }
constexpr uint64_t const_bits(const QdInst &i) { return i.a | uint64_t(i.b) << 32; }

// True for signature letters that name a record of the same function.
constexpr bool names_record(char sig) { return sig == 'v' || sig == 'c' || sig == 'h' || sig == 'y'; }
constexpr bool in_class(Class c, Type t) {
  const TypeClass k = info(t).cls;
  switch (c) {
    case Class::Any: return k != TypeClass::None;
    case Class::Num: return k == TypeClass::Int || k == TypeClass::Float;
    case Class::Int: return k == TypeClass::Int;
    case Class::Float: return k == TypeClass::Float;
    case Class::Bits: return k == TypeClass::Int || k == TypeClass::Bool;
  }
  return false;
}
constexpr uint32_t words(const QdParam &p) {  // in an argument block
  return p.alias == QD_ALIAS_SHARED ? 0u : p.kind == QD_PARAM_BUFFER ? 1u + p.rank : 1u;
}

}  // namespace qd::view
