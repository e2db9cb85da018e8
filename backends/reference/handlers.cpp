// handlers.cpp: what each operation does. Arithmetic is the `meaning` column of ops.def, instantiated per type and nothing else:
// this file holds no second opinion about it. The rest (memory, variables, control, calls, reports) is written out by hand.
#include <chrono>
#include <cmath>

#include "backends/reference/machine.hpp"
#include "qd/fold.hpp"
#include "qd/philox.hpp"

namespace qd::reference {
namespace {

using view::Op;
using view::Type;

template <Type T> struct cpp;
template <> struct cpp<Type::b1> { using type = bool; };
template <> struct cpp<Type::i8> { using type = int8_t; };
template <> struct cpp<Type::i16> { using type = int16_t; };
template <> struct cpp<Type::i32> { using type = int32_t; };
template <> struct cpp<Type::i64> { using type = int64_t; };
template <> struct cpp<Type::f16> { using type = fold::half; };
template <> struct cpp<Type::f32> { using type = float; };
template <> struct cpp<Type::f64> { using type = double; };
template <Type T> using cpp_t = typename cpp<T>::type;

template <class T> T get(uint64_t word) {
  if constexpr (std::is_same_v<T, bool>) return word & 1;
  T v;
  std::memcpy(static_cast<void *>(&v), &word, sizeof v);
  return v;
}
template <class T> uint64_t word(T v) {
  uint64_t w = 0;
  std::memcpy(&w, &v, sizeof v);
  return w;
}

// --- arithmetic: the meaning column -----------------------------------------------------------------------------------

struct NoMeaning {};
#define NOVALUE NoMeaning{}
template <Op> struct Meaning;
#define OP(name, sig, cls, res, eff, flags, meaning, doc)                     \
  template <> struct Meaning<Op::name> {                                      \
    template <class T, class R> static auto value(T x, [[maybe_unused]] T y) { \
      using U [[maybe_unused]] = fold::unsigned_t<T>;                         \
      (void)x;                                                                \
      return meaning;                                                         \
    }                                                                         \
  };
#include "qd/ops.def"

template <Op op, class T, class R> R evaluate(T x, T y) {
  return R(Meaning<op>::template value<T, R>(x, y));
}

template <Op op, class T, class R> const Step *unary(const Step *s, Machine &m) {
  const T x = get<T>(m.r[s->a]);
  m.r[s->dst] = word(evaluate<op, T, R>(x, x));
  return s + 1;
}
template <Op op, class T, class R> const Step *binary(const Step *s, Machine &m) {
  m.r[s->dst] = word(evaluate<op, T, R>(get<T>(m.r[s->a]), get<T>(m.r[s->b])));
  return s + 1;
}
// A truth value is the low bit, whatever the byte holds.
const Step *bitcast_to_b1(const Step *s, Machine &m) {
  m.r[s->dst] = m.r[s->a] & 1;
  return s + 1;
}

// --- memory -----------------------------------------------------------------------------------------------------------

// `imm` is the word of the buffer, `b` the register of the index.
template <class T, bool Wide> T *element(const Step *s, Machine &m) {
  const int64_t index = Wide ? int64_t(m.r[s->b]) : int64_t(int32_t(m.r[s->b]));
  return reinterpret_cast<T *>(uintptr_t(m.args[s->imm]) + uintptr_t(index * int64_t(sizeof(T))));
}
template <class T> T read(const T *p) {
  if constexpr (std::is_same_v<T, bool>) return *reinterpret_cast<const uint8_t *>(p) & 1;
  T v;
  std::memcpy(static_cast<void *>(&v), p, sizeof v);  // external arrays may be unaligned
  return v;
}
template <class T> void write(T *p, T v) { std::memcpy(p, &v, sizeof v); }

template <class T, bool Wide> const Step *load(const Step *s, Machine &m) {
  m.r[s->dst] = word(read(element<T, Wide>(s, m)));
  return s + 1;
}
template <class T, bool Wide> const Step *store(const Step *s, Machine &m) {
  write(element<T, Wide>(s, m), get<T>(m.r[s->c]));
  return s + 1;
}
// One thread runs at a time, so that read-modify-write needs no lock.
template <Op op, class T, bool Wide> const Step *atomic(const Step *s, Machine &m) {
  T *p = element<T, Wide>(s, m);
  const T old = read(p);
  write(p, evaluate<op, T, T>(old, get<T>(m.r[s->c])));
  m.r[s->dst] = word(old);
  return s + 1;
}
template <class T, bool Wide> const Step *compare_swap(const Step *s, Machine &m) {  // `a` is the register of the expected value
  T *p = element<T, Wide>(s, m);
  const T old = read(p);
  if (old == get<T>(m.r[s->a])) write(p, get<T>(m.r[s->c]));
  m.r[s->dst] = word(old);
  return s + 1;
}

// --- plumbing, variables, local arrays --------------------------------------------------------------------------------

const Step *nothing(const Step *s, Machine &) { return s + 1; }
const Step *constant(const Step *s, Machine &m) {
  m.r[s->dst] = s->imm;
  return s + 1;
}
template <class T> const Step *from_args(const Step *s, Machine &m) {
  m.r[s->dst] = word(get<T>(m.args[s->imm]));
  return s + 1;
}
const Step *move(const Step *s, Machine &m) {
  m.r[s->dst] = m.r[s->a];
  return s + 1;
}
const Step *select(const Step *s, Machine &m) {
  m.r[s->dst] = m.r[m.r[s->a] & 1 ? s->b : s->c];
  return s + 1;
}
template <class T> const Step *axis(const Step *s, Machine &m) {
  m.r[s->dst] = word(T(m.axis[s->a]));
  return s + 1;
}
const Step *new_array(const Step *s, Machine &m) {  // `a` words from register `b`
  std::memset(m.r + s->b, 0, size_t(s->a) * 8);
  return s + 1;
}
// `a` is the step of the array; the index was made 64 bits wide with its sign.
template <class I> uint64_t *array_element(const Step *s, Machine &m) {
  const Step &array = m.code->steps[s->a];
  const int64_t index = int64_t(get<I>(m.r[s->b]));
  if (index < 0 || index >= int64_t(array.a))
    throw plugin::Failure(QDB_E_LAUNCH, "record " + std::to_string(s - m.code->steps.data()) + ": index " + std::to_string(index) +
                                            " of a local array of " + std::to_string(array.a) + " elements");
  return m.r + array.b + index;
}
template <class I> const Step *array_get(const Step *s, Machine &m) {
  m.r[s->dst] = *array_element<I>(s, m);
  return s + 1;
}
template <class I> const Step *array_set(const Step *s, Machine &m) {
  *array_element<I>(s, m) = m.r[s->c];
  return s + 1;
}
template <Type T> const Step *random(const Step *s, Machine &m) {
  const uint64_t w = philox_draw(m.args[QD_ARG_RANDOM], uint32_t(m.args[QD_ARG_ORDINAL]), m.iteration, m.draw++);
  uint64_t &d = m.r[s->dst];
  if constexpr (T == Type::f16) d = word(fold::half(draw_f16(w)));
  else if constexpr (T == Type::f32) d = word(draw_f32(w));
  else if constexpr (T == Type::f64) d = word(draw_f64(w));
  else d = word(get<cpp_t<T>>(w));
  return s + 1;
}

// --- regions ----------------------------------------------------------------------------------------------------------

const Step *jump(const Step *s, Machine &) { return s->target; }
const Step *jump_back(const Step *s, Machine &m) {
  m.back_edge();
  return s->target;
}
const Step *when(const Step *s, Machine &m) { return m.r[s->a] & 1 ? s + 1 : s->target; }
// The bound is kept in the register of the `end` (c), which holds no value itself.
template <class T> const Step *loop(const Step *s, Machine &m) {
  const uint64_t first = m.r[s->a], last = m.r[s->b];
  if (!(get<T>(first) < get<T>(last))) return s->target;
  m.r[s->dst] = first;
  m.r[s->c] = last;
  return s + 1;
}
template <class T> const Step *loop_end(const Step *s, Machine &m) {  // `a` is the register of the index, target the body
  m.back_edge();
  const T next = T(get<T>(m.r[s->a]) + 1);  // cannot wrap: the index was below the bound
  if (!(next < get<T>(m.r[s->dst]))) return s + 1;
  m.r[s->a] = word(next);
  return s->target;
}
const Step *stop(const Step *, Machine &) { return nullptr; }

// --- functions, results, reports --------------------------------------------------------------------------------------

// `a` the function, `b` its operands in lists, `c` where its results go.
const Step *call(const Step *s, Machine &m) {
  m.back_edge();
  const Code &callee = m.program->functions[s->a];
  if (m.stack.size() >= max_call_depth)
    throw plugin::Failure(QDB_E_LAUNCH, "function " + std::to_string(s->a) + ": more than " + std::to_string(max_call_depth) +
                                            " calls inside each other; is the end of the recursion missing?");
  uint64_t *frame = m.frames.push(callee.frame);
  for (uint32_t k = 0; k < callee.n_args; k++) frame[callee.n_records + k] = m.r[m.code->lists[s->b + k]];
  m.stack.push_back({s, m.r, m.code});
  m.r = frame, m.code = &callee;
  return callee.steps.data();
}
const Step *ret(const Step *s, Machine &m) {  // `b` the operands
  const Activation back = m.stack.back();
  m.stack.pop_back();
  for (uint32_t k = 0; k < m.code->n_results; k++) back.registers[back.call->c + k] = m.r[m.code->lists[s->b + k]];
  m.frames.pop(m.code->frame);
  m.r = back.registers, m.code = back.code;
  return back.call + 1;
}
const Step *result(const Step *s, Machine &m) {  // `a` the step of the call, `b` which
  m.r[s->dst] = m.r[m.code->steps[s->a].c + s->b];
  return s + 1;
}
const Step *output(const Step *s, Machine &m) {
  auto *slots = reinterpret_cast<uint64_t *>(uintptr_t(m.args[QD_ARG_RESULT]));
  if (!slots) throw plugin::Failure(QDB_E_INVALID, "the task writes results, but the argument block has no result buffer");
  slots[s->a] = m.r[s->b];
  return s + 1;
}
const Step *report(const Step *s, Machine &m) {  // `a` site, `imm` failure, `b` the operands, `c` how many
  auto *header = reinterpret_cast<QdReportHeader *>(uintptr_t(m.args[QD_ARG_REPORT]));
  if (!header) throw plugin::Failure(QDB_E_INVALID, "the task writes reports, but the argument block has no report buffer");
  const uint64_t size = sizeof(QdReportRecord) + 8ull * s->c, at = header->used;
  header->used += size;
  if (s->imm) header->failed = 1;
  if (at > header->capacity || size > header->capacity - at) {
    header->dropped++;
    return s + 1;
  }
  char *place = reinterpret_cast<char *>(header + 1) + at;
  const QdReportRecord record{uint32_t(m.args[QD_ARG_ORDINAL]), s->a, m.iteration, s->c, 0};
  std::memcpy(place, &record, sizeof record);
  for (uint32_t k = 0; k < s->c; k++) std::memcpy(place + sizeof record + 8ull * k, &m.r[m.code->lists[s->b + k]], 8);
  return s + 1;
}

// --- threads of a block: what they do together is done by threads.cpp, once all have come here ------------------------

const Step *wait(const Step *s, Machine &m) {
  m.waiting = s;
  return nullptr;
}
const Step *thread(const Step *s, Machine &m) {
  m.r[s->dst] = m.thread;
  return s + 1;
}
template <class T> const Step *position(const Step *s, Machine &m) {
  m.r[s->dst] = word(T(m.iteration));
  return s + 1;
}
const Step *clock(const Step *s, Machine &m) {
  m.r[s->dst] = uint64_t(std::chrono::steady_clock::now().time_since_epoch().count());
  return s + 1;
}

// --- choice of the function -------------------------------------------------------------------------------------------

template <Type T> struct Tag {
  static constexpr Type type = T;
};
// Calls f with the type as a template argument; NULL for none.
template <class F> Handler with(Type t, F f) {
  switch (t) {
#define TYPE(name, bytes, cls, doc) \
  case Type::name:                  \
    if constexpr (Type::name != Type::none) return f(Tag<Type::name>{}); \
    else break;
#include "qd/types.def"
    case Type::count: break;
  }
  return nullptr;
}

template <Op op, Type T> Handler arithmetic([[maybe_unused]] Type result) {
  constexpr view::OpInfo row = view::info(op);
  if constexpr (!view::in_class(row.operands, T)) {
    return nullptr;
  } else if constexpr (row.result == view::Result::Given) {  // conversions
    return with(result, [](auto r) -> Handler {
      constexpr Type R = decltype(r)::type;
      if constexpr (op == Op::bitcast && R == Type::b1) return bitcast_to_b1;
      else if constexpr (op == Op::bitcast && view::info(T).bytes != view::info(R).bytes) return nullptr;
      else if constexpr (op == Op::frexp_exp && R != Type::i32) return nullptr;
      else return unary<op, cpp_t<T>, cpp_t<R>>;
    });
  } else {
    using R = std::conditional_t<row.result == view::Result::Bool, bool, cpp_t<T>>;
    if constexpr (row.sig.size() == 2) return binary<op, cpp_t<T>, R>;
    else return unary<op, cpp_t<T>, R>;
  }
}

template <Op op, Type T> Handler memory(bool wide) {
  using C = cpp_t<T>;
  if constexpr (op == Op::load || op == Op::volatile_load) {
    return wide ? load<C, true> : load<C, false>;
  } else if constexpr (op == Op::store) {
    return wide ? store<C, true> : store<C, false>;
  } else if constexpr (!view::in_class(view::info(op).operands, T)) {
    return nullptr;
  } else if constexpr (op == Op::atomic_cas) {
    return wide ? compare_swap<C, true> : compare_swap<C, false>;
  } else {
    return wide ? atomic<op, C, true> : atomic<op, C, false>;
  }
}

constexpr bool has_meaning(std::string_view meaning) { return meaning != "NOVALUE"; }

template <class F> Handler with_int(Type t, F f) {
  return with(t, [&](auto tag) -> Handler {
    if constexpr (view::is_int(decltype(tag)::type)) return f(tag);
    else return nullptr;
  });
}

}  // namespace

// `operand` is the type of the first operand, or of the index of a memory operation, or of a local array's index.
Handler handler_of(const view::View &unit, const QdInst &record, Type operand) {
  const Op op = view::op_of(record);
  const Type type = view::type_of(record);
  switch (op) {
#define OP(name, sig, cls, res, eff, flags, meaning, doc)                                                                        \
  case Op::name:                                                                                                                 \
    if constexpr (view::has(Op::name, view::Index))                                                                                    \
      return with(Type(unit.param(record.a).type), [&](auto t) { return memory<Op::name, decltype(t)::type>(operand == Type::i64); }); \
    else if constexpr (has_meaning(#meaning))                                                                                    \
      return with(operand, [&](auto t) { return arithmetic<Op::name, decltype(t)::type>(type); });                               \
    else                                                                                                                         \
      break;
#include "qd/ops.def"
    case Op::count: break;
  }
  switch (op) {
    case Op::const_: return constant;
    case Op::arg:
    case Op::shape: return with(type, [](auto t) -> Handler { return from_args<cpp_t<decltype(t)::type>>; });
    case Op::select: return select;
    case Op::random: return with(type, [](auto t) -> Handler { return random<decltype(t)::type>; });
    case Op::var:
    case Op::get:
    case Op::set:
    case Op::farg: return move;
    case Op::array: return new_array;
    case Op::array_get: return with_int(operand, [](auto t) -> Handler { return array_get<cpp_t<decltype(t)::type>>; });
    case Op::array_set: return with_int(operand, [](auto t) -> Handler { return array_set<cpp_t<decltype(t)::type>>; });
    case Op::axis: return with_int(type, [](auto t) -> Handler { return axis<cpp_t<decltype(t)::type>>; });
    case Op::loop: return with_int(type, [](auto t) -> Handler { return loop<cpp_t<decltype(t)::type>>; });
    case Op::when: return when;
    case Op::other:
    case Op::leave: return jump;
    case Op::parallel: return stop;
    case Op::call: return call;
    case Op::ret: return ret;
    case Op::result: return result;
    case Op::output: return output;
    case Op::report: return report;
    case Op::thread: return thread;
    case Op::position: return with_int(type, [](auto t) -> Handler { return position<cpp_t<decltype(t)::type>>; });
    case Op::clock: return clock;
    case Op::fence: return nothing;  // one thread runs at a time
    case Op::barrier:
    case Op::barrier_vote:
    case Op::shuffle:
    case Op::vote:
    case Op::match:
    case Op::active: return wait;
    case Op::end:  // of a loop over indices of type `operand`; decode() deals with all others
      return operand == Type::none ? nothing : with_int(operand, [](auto t) -> Handler { return loop_end<cpp_t<decltype(t)::type>>; });
    default: return nothing;  // operand, block, repeat
  }
}

const Handler stop_handler = stop, jump_back_handler = jump_back;

}  // namespace qd::reference
