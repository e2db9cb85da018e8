// variables.cpp: kernel-scope variables and arrays, which no task could see. One that a parallel loop writes becomes
// scratch memory. Any other variable becomes values: outside of control flow its current value is simply known, and a
// serial region that assigns it gets a variable of its own, begun with the value before and read once behind it.
#include <algorithm>

#include "core/split/accumulate.hpp"
#include "core/split/copy.hpp"
#include "core/split/segments.hpp"
#include "core/split/split.hpp"
#include "core/support/error.hpp"

namespace qd::split {
namespace {

using ir::Type;

enum class Home : uint8_t { none, value, scratch, local };  // where a kernel-scope `var` or `array` record went

constexpr uint32_t unrolled_zeros = 16;  // arrays up to this length are cleared by stores, longer ones by a loop

class Resolver {
 public:
  explicit Resolver(const ir::Unit &u)
      : u_(u),
        code_(u.code()),
        r_(regions_of(code_)),
        s_(segments_of(code_, r_)),
        accumulations_(find_accumulations(code_, r_)),
        home_(code_.size()),
        param_(code_.size(), no_val),
        now_(code_.size(), no_val),
        inner_(code_.size(), no_val),
        map_(code_.size(), no_val),
        assigned_in_(code_.size()),
        functions_(b_, u, [](uint32_t k) { return k; }) {}

  ir::Unit run();

 private:
  void choose_homes();
  void declare_params();
  void copy(Val id);
  bool copy_variable(Val id);
  bool copy_scratch(Val id);
  void clear_array(Val id);
  Val zero(Type t) { return b_.constant(t, 0); }
  // True when `h` names a kernel-scope variable or array that went to `home`.
  bool lives(Val h, Home home) const { return home_[h] == home; }

  const ir::Unit &u_;
  const std::vector<Inst> &code_;
  const Regions r_;
  const Segments s_;
  const Accumulations accumulations_;
  std::vector<Home> home_;
  std::vector<uint32_t> param_;                // of scratch homes
  std::vector<Val> now_;                       // current value of a variable at depth 0, in the new unit
  std::vector<Val> inner_;                     // its variable in the serial region being copied
  std::vector<Val> map_;                       // old record to new
  std::vector<std::vector<Val>> assigned_in_;  // variables that a region statement assigns, by its first record
  ir::Builder b_;
  FunctionCopier functions_;
};

void Resolver::choose_homes() {
  for (Val id = 0; id < code_.size(); ++id)
    if (r_.parent[id] == no_val && (code_[id].op == Op::var || code_[id].op == Op::array))
      home_[id] = code_[id].op == Op::var ? Home::value : Home::local;
  for (Val id = 0; id < code_.size(); ++id) {
    const Op op = code_[id].op;
    if (op != Op::get && op != Op::set && op != Op::array_get && op != Op::array_set) continue;
    const Val h = code_[id].arg[0];
    if (home_[h] == Home::none) continue;
    if (op == Op::set && s_.parallel[s_.of[id]]) home_[h] = Home::scratch;
    if ((op == Op::array_get || op == Op::array_set) && s_.of[id] != s_.of[h]) home_[h] = Home::scratch;
  }
  for (Val id = 0; id < code_.size(); ++id) {
    const Val statement = r_.statement[id];
    if (code_[id].op != Op::set || statement == id || !lives(code_[id].arg[0], Home::value)) continue;
    auto &list = assigned_in_[statement];
    if (inner_[code_[id].arg[0]] != statement) list.push_back(code_[id].arg[0]);
    inner_[code_[id].arg[0]] = statement;  // only a mark against repetition here
  }
  std::fill(inner_.begin(), inner_.end(), no_val);
}

void Resolver::declare_params() {
  for (size_t i = 0; i < u_.params.size(); ++i)
    b_.param(u_.params[i], i < u_.debug.params.size() ? u_.debug.params[i] : std::string());
  for (Val id = 0; id < code_.size(); ++id)
    if (home_[id] == Home::scratch)
      param_[id] = b_.param({QD_PARAM_BUFFER, code_[id].type, 0, QD_ALIAS_SCRATCH,
                             code_[id].op == Op::array ? std::max(code_[id].arg[0], 1u) : 1u});
}

void Resolver::clear_array(Val id) {
  const Type t = code_[id].type;
  const uint32_t n = code_[id].arg[0];
  if (n <= unrolled_zeros) {
    for (uint32_t i = 0; i < n; ++i) b_.emit(Op::store, Type::none, {param_[id], b_.constant(Type::i32, i), zero(t)});
    return;
  }
  const Val i = b_.emit(Op::loop, Type::i32, {zero(Type::i32), b_.constant(Type::i32, n), 0});
  b_.emit(Op::store, Type::none, {param_[id], i, zero(t)});
  b_.emit(Op::end, Type::none);
}

// Records about a variable or array in scratch memory.
bool Resolver::copy_scratch(Val id) {
  const Inst &in = code_[id];
  if (home_[id] == Home::scratch) {
    if (in.op == Op::array) clear_array(id);
    else b_.emit(Op::store, Type::none, {param_[id], zero(Type::i32), map_[in.arg[0]]});
    return true;
  }
  if (in.op != Op::get && in.op != Op::set && in.op != Op::array_get && in.op != Op::array_set) return false;
  if (!lives(in.arg[0], Home::scratch)) return false;
  const uint32_t p = param_[in.arg[0]];
  const bool element = in.op == Op::array_get || in.op == Op::array_set;
  const Val index = element ? map_[in.arg[1]] : zero(Type::i32);
  if (in.op == Op::get || in.op == Op::array_get) {
    map_[id] = b_.emit(Op::load, b_.unit().params[p].type, {p, index, 0});
    return true;
  }
  if (const Accumulation *a = accumulations_.at(id)) {
    if (a->atomic == Op::count) return true;
    const Type t = b_.unit().params[p].type;
    Val x = a->operand == no_val ? b_.constant(t, ~uint64_t(0)) : map_[a->operand];
    if (a->negate) x = b_.emit(Op::neg, Type::none, {x, 0, 0});
    if (a->cast) x = b_.emit(Op::cast, t, {x, 0, 0});
    b_.emit(a->atomic, t, {p, index, x});
  } else {
    b_.emit(Op::store, Type::none, {p, index, map_[in.arg[element ? 2 : 1]]});
  }
  return true;
}

// Records about a variable that has become values.
bool Resolver::copy_variable(Val id) {
  const Inst &in = code_[id];
  if (home_[id] == Home::value) {
    now_[id] = map_[in.arg[0]];
    return true;
  }
  if ((in.op != Op::get && in.op != Op::set) || !lives(in.arg[0], Home::value)) return false;
  const Val h = in.arg[0];
  if (in.op == Op::get) map_[id] = inner_[h] != no_val ? b_.emit(Op::get, Type::none, {inner_[h], 0, 0}) : now_[h];
  else if (inner_[h] != no_val) b_.emit(Op::set, Type::none, {inner_[h], map_[in.arg[1]], 0});
  else now_[h] = map_[in.arg[1]];
  return true;
}

void Resolver::copy(Val id) {
  const Inst &in = code_[id];
  const Val statement = r_.statement[id];
  if (id == statement)
    for (Val h : assigned_in_[id]) inner_[h] = b_.emit(Op::var, Type::none, {now_[h], 0, 0});
  if (!copy_variable(id) && !copy_scratch(id))
    map_[id] = copy_entry_record(b_, u_, id,
                           {[&](Val v) { return map_[v]; }, [](uint32_t p) { return p; },
                            [&](uint32_t f) { return functions_.number(f); }});
  if (in.op == Op::end && r_.parent[id] == no_val)
    for (Val h : assigned_in_[statement]) now_[h] = b_.emit(Op::get, Type::none, {inner_[h], 0, 0}), inner_[h] = no_val;
}

ir::Unit Resolver::run() {
  choose_homes();
  declare_params();
  for (Val id = 0; id < code_.size(); ++id) copy(id);
  return std::move(b_).finish(u_.debug.name);
}

}  // namespace

ir::Unit resolve_variables(const ir::Unit &kernel) { return Resolver(kernel).run(); }

}  // namespace qd::split
