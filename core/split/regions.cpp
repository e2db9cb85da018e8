// regions.cpp: one scan with a stack of open regions, and liveness as marking from the effects. A label that is live
// needs every `leave` that ends it, and a variable that is read needs every `set`: these two are what plain use chains
// miss.
#include "core/split/regions.hpp"

#include "core/support/error.hpp"

namespace qd::split {

Regions regions_of(std::span<const Inst> code) {
  const Val n = Val(code.size());
  Regions r{std::vector<Val>(n, no_val), std::vector<Val>(n), std::vector<Val>(n), std::vector<Val>(n, no_val),
            std::vector<Val>(n, no_val)};
  std::vector<Val> open;
  Val first_operand = no_val, statement = 0;
  for (Val id = 0; id < n; ++id) {
    const auto &row = ir::info(code[id].op);
    r.consumer[id] = id;
    if (open.empty()) statement = id;
    if (row.flags & ir::Closes) {
      QD_ASSERT(!open.empty());
      r.opener[id] = open.back();
      r.closer[open.back()] = id;
      open.pop_back();
      r.parent[id] = open.empty() ? no_val : open.back();
    } else {
      r.parent[id] = open.empty() ? no_val : open.back();
    }
    r.statement[id] = statement;
    if (code[id].op == Op::leave) {
      uint32_t left = code[id].arg[0];
      for (size_t i = open.size(); i-- > 0 && r.opener[id] == no_val;)
        if (ir::info(code[open[i]].op).flags & ir::Label && left-- == 0) r.opener[id] = open[i];
      QD_ASSERT(r.opener[id] != no_val);
    }
    if (row.flags & ir::Opens) open.push_back(id);
    if (row.effect == ir::Effect::Attach) {
      if (first_operand == no_val) first_operand = id;
    } else if (first_operand != no_val) {
      for (Val k = first_operand; k < id; ++k) r.consumer[k] = id, r.statement[k] = r.statement[id];
      first_operand = no_val;
    }
  }
  QD_ASSERT(open.empty() && first_operand == no_val);
  return r;
}

namespace {

bool is_root(const Inst &in) {
  return (ir::info(in.op).effect == ir::Effect::Write && in.op != Op::set && in.op != Op::array_set) ||
         in.op == Op::ret;
}

// Records that become live together with another: what assigns a variable, what leaves a label.
std::vector<std::vector<Val>> followers_of(std::span<const Inst> code, const Regions &r) {
  std::vector<std::vector<Val>> f(code.size());
  for (Val id = 0; id < code.size(); ++id) {
    if (code[id].op == Op::set || code[id].op == Op::array_set) f[code[id].arg[0]].push_back(id);
    if (code[id].op == Op::leave) f[r.opener[id]].push_back(id);
    if (r.consumer[id] != id) f[r.consumer[id]].push_back(id);
  }
  return f;
}

}  // namespace

std::vector<char> live_records(std::span<const Inst> code, const Regions &r) {
  const auto followers = followers_of(code, r);
  std::vector<char> live(code.size());
  std::vector<Val> todo;
  const auto mark = [&](Val id) {
    if (id != no_val && !live[id]) live[id] = 1, todo.push_back(id);
  };
  for (Val id = 0; id < code.size(); ++id)
    if (is_root(code[id])) mark(id);
  while (!todo.empty()) {
    const Val id = todo.back();
    todo.pop_back();
    each_use(code[id], [&](Val v, size_t) { mark(v); });
    mark(r.parent[id]);
    mark(r.closer[id]);
    mark(r.consumer[id]);
    if (ir::info(code[id].op).flags & ir::Closes) mark(r.opener[id]);
    for (Val f : followers[id]) mark(f);
  }
  return live;
}

}  // namespace qd::split
