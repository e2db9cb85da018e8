// simplify.cpp: algebraic rules, one a line, applied by the Builder to every pure record. Each is exact: integers wrap,
// and for floats only what IEEE fixes for every operand, NaN and the zeros included (x + 0 changes -0, so it is not
// here).
#include "core/ir/rules.hpp"

namespace qd::ir {
namespace {

struct Rule {
  Builder &b;
  Op op;
  Type type;  // of the result
  std::array<uint32_t, 3> arg;

  bool konst(Val v, uint64_t &bits) const { return b.constant_value(v, bits); }
  bool is(Val v, uint64_t want) const {
    uint64_t bits;
    return konst(v, bits) && bits == want;
  }
  bool is_zero(Val v) const { return is_int_or_bool(v) && is(v, 0); }
  bool is_one(Val v) const { return is_int_or_bool(v) && is(v, 1); }
  bool is_ones(Val v) const { return is_int_or_bool(v) && is(v, width_mask(b.type_of(v))); }
  bool is_real(Val v, double want) const {
    return is_float(b.type_of(v)) && is(v, convert_constant(b.type_of(v), want));
  }
  bool is_int_or_bool(Val v) const { return !is_float(b.type_of(v)); }
  Val zero() const { return b.constant(type, 0); }
  Val yes(bool v) const { return b.constant(Type::b1, v); }
  // The operand of `v` when it was made by `made`, else no_val.
  Val inner(Val v, Op made) const { return b.at(v).op == made ? b.at(v).arg[0] : no_val; }

  bool is_truth(Val v) const { return b.type_of(v) == Type::b1; }
  // The b1 that the number `v` was cast from, or `v` itself when it is one.
  Val truth(Val v) const {
    if (is_truth(v)) return v;
    const Val from = inner(v, Op::cast);
    return from != no_val && is_truth(from) ? from : no_val;
  }
  Val negated(Val v) const { return v == no_val ? no_val : b.emit(Op::not_, Type::b1, {v, 0, 0}); }

  Val commutative(Val x, Val y) const;  // rules tried with the operands both ways round
  Val ordered(Val x, Val y) const;
  Val unary(Val x) const;
  Val conversion(Val x) const;
  Val choice(Val c, Val x, Val y) const;
};

Val Rule::commutative(Val x, Val y) const {
  switch (op) {
    case Op::add: return is_zero(y) ? x : is_real(y, -0.0) ? x : no_val;
    case Op::mul: return is_zero(y) ? y : is_one(y) || is_real(y, 1) ? x : no_val;
    case Op::and_: return is_zero(y) ? y : is_ones(y) || x == y ? x : no_val;
    case Op::or_: return is_ones(y) ? y : is_zero(y) || x == y ? x : no_val;
    case Op::xor_: return is_zero(y) ? x : x == y ? zero() : is_ones(y) ? b.emit(Op::not_, type, {x, 0, 0}) : no_val;
    case Op::min:
    case Op::max:
    case Op::umin:
    case Op::umax: return x == y ? x : no_val;
    case Op::eq:
      return x == y && is_int_or_bool(x) ? yes(true)
             : is_zero(y)                ? negated(truth(x))
             : is_truth(x) && is_one(y)  ? x
                                         : no_val;
    case Op::ne:
      return x == y && is_int_or_bool(x) ? yes(false)
             : is_zero(y)                ? truth(x)
             : is_truth(x) && is_one(y)  ? negated(x)
                                         : no_val;
    default: return no_val;
  }
}

Val Rule::ordered(Val x, Val y) const {
  const bool whole = is_int_or_bool(x);
  switch (op) {
    case Op::sub: return is_zero(y) || is_real(y, 0) ? x : whole && x == y ? zero() : no_val;
    case Op::fdiv: return is_real(y, 1) ? x : no_val;
    case Op::idiv:
    case Op::udiv:
    case Op::floordiv: return is_zero(y) || is_zero(x) ? zero() : is_one(y) ? x : no_val;
    case Op::irem:
    case Op::urem:
    case Op::floormod: return is_zero(y) || is_zero(x) || is_one(y) || x == y ? zero() : no_val;
    case Op::shl:
    case Op::shr:
    case Op::sar: return is_zero(y) || is_zero(x) ? x : no_val;
    case Op::le: return whole && x == y ? yes(true) : no_val;
    case Op::lt:
    case Op::ult: return whole && x == y ? yes(false) : is_zero(y) && op == Op::ult ? yes(false) : no_val;
    case Op::ule: return x == y || is_zero(x) ? yes(true) : no_val;
    case Op::ipow: return is_one(y) || is_one(x) ? x : is_zero(y) ? b.constant(type, 1) : no_val;
    default: return no_val;
  }
}

Val Rule::unary(Val x) const {
  switch (op) {
    case Op::neg: return inner(x, Op::neg);
    case Op::not_: return inner(x, Op::not_);
    case Op::abs: return inner(x, Op::abs) != no_val ? x : no_val;
    case Op::floor:
    case Op::ceil:
    case Op::trunc:
    case Op::roundeven: return inner(x, op) != no_val ? x : no_val;
    default: return no_val;
  }
}

// Whether every value of `from` survives the way to `to` and back: a wider type of the same class.
bool keeps(Type from, Type to) { return info(from).cls == info(to).cls && info(from).bytes <= info(to).bytes; }

Val Rule::conversion(Val x) const {
  const Type from = b.type_of(x);
  if (from == type) return x;
  const Inst made = b.at(x);
  if (op == Op::bitcast) return made.op == op ? b.emit(op, type, {made.arg[0], 0, 0}) : no_val;
  // Without a sign to extend or to read the two conversions are one, and it is written `cast`.
  const bool signless = !(is_int(from) && (is_float(type) || (is_int(type) && info(type).bytes > info(from).bytes))) &&
                        !(is_float(from) && is_int(type));
  if (op == Op::ucast && signless) return b.emit(Op::cast, type, {x, 0, 0});
  if (made.op != Op::cast && made.op != Op::ucast) return no_val;
  const Type first = b.type_of(made.arg[0]);
  if (first == Type::b1) return b.emit(Op::cast, type, {made.arg[0], 0, 0});  // 0 and 1 survive every type
  // Narrowing reads low bits only: they are those of the first value, or its extension's.
  if (is_int(first) && is_int(from) && is_int(type) && info(type).bytes < info(from).bytes)
    return b.emit(made.op, type, {made.arg[0], 0, 0});
  if (keeps(first, from) && (made.op == op || is_float(first))) return b.emit(op, type, {made.arg[0], 0, 0});
  return no_val;
}

Val Rule::choice(Val c, Val x, Val y) const {
  if (x == y) return x;
  uint64_t bits;
  if (konst(c, bits)) return bits ? x : y;
  if (type == Type::b1 && is_one(x) && is_zero(y)) return c;
  if (type == Type::b1 && is_zero(x) && is_one(y)) return b.emit(Op::not_, type, {c, 0, 0});
  if (const Val n = inner(c, Op::not_); n != no_val) return b.emit(Op::select, type, {n, y, x});
  return no_val;
}

}  // namespace

Val simplify(Builder &b, Op op, Type type, const std::array<uint32_t, 3> &arg) {
  const Rule r{b, op, type, arg};
  const auto sig = info(op).sig;
  if (sig == "cvv") return r.choice(arg[0], arg[1], arg[2]);
  if (sig == "vv") {
    if (!(info(op).flags & Comm)) return r.ordered(arg[0], arg[1]);
    const Val v = r.commutative(arg[0], arg[1]);
    return v != no_val ? v : r.commutative(arg[1], arg[0]);
  }
  if (sig != "v") return no_val;
  return op == Op::cast || op == Op::ucast || op == Op::bitcast ? r.conversion(arg[0]) : r.unary(arg[0]);
}

}  // namespace qd::ir
