// canonical.cpp: the one form of a unit (docs/ir.md, "Canonical form"). Each function is analysed, then written anew
// through a Builder: effects in their order, and before each the pure values that it is the first to need.
//
// Nothing may depend on the numbers that records and parameters happened to have. Records are told apart by keys (what
// they compute); parameters by colours: what they are, refined by where they are used until no two can be told apart
// that could not be exchanged for one another.
#include <algorithm>
#include <memory>
#include <unordered_map>

#include "core/ir/analysis.hpp"
#include "core/ir/builder.hpp"
#include "core/ir/ir.hpp"

namespace qd::ir {
namespace {

// Number of different colours among the parameters that are used: the others are dropped, and must have no say.
size_t distinct(const std::vector<uint64_t> &colour, const std::vector<char> &used) {
  std::vector<uint64_t> v;
  for (size_t p = 0; p < colour.size(); ++p)
    if (used[p]) v.push_back(colour[p]);
  std::sort(v.begin(), v.end());
  return size_t(std::unique(v.begin(), v.end()) - v.begin());
}

class Canon {
 public:
  explicit Canon(const Unit &u) : u_(u), number_(u.funcs.size(), no_val), param_(u.params.size(), no_val) {}

  Unit run(uint32_t &rewrites);
  std::vector<uint32_t> params, sites;  // old number of each new one

 private:
  void reach(uint32_t func);
  void colour_params();
  void write(const Analysis &a);
  void write_record(const Analysis &a, Val v);
  uint32_t literal(Op op, size_t k, uint32_t old);

  const Unit &u_;
  Builder out_;
  std::vector<uint32_t> order_;   // functions that are called, by first call
  std::vector<uint32_t> number_;  // new number of each function
  std::vector<uint32_t> param_;
  std::unordered_map<uint32_t, uint32_t> site_;  // a site may be any number: no index into a vector
  std::vector<std::unique_ptr<Analysis>> of_;
  std::vector<Val> map_;
  uint32_t decided_ = 0;  // conditionals that were replaced by the arm that runs
};

void Canon::reach(uint32_t func) {
  if (number_[func] != no_val) return;
  number_[func] = uint32_t(order_.size());
  order_.push_back(func);
  of_.push_back(std::make_unique<Analysis>(u_.funcs[func]));
}

void Canon::colour_params() {
  std::vector<uint64_t> colour;
  std::vector<char> used(u_.params.size(), 0);
  for (const Param &p : u_.params)
    colour.push_back(
        mix(mix(uint64_t(p.kind) << 24 | uint64_t(p.type) << 16 | uint64_t(p.rank) << 8 | p.alias, p.count), 1));
  for (auto &a : of_) a->compute_keys(colour), a->mark_used_params(used);
  const size_t n_used = size_t(std::count(used.begin(), used.end(), 1));
  for (size_t before = 0, now = distinct(colour, used); now != before && now < n_used;) {
    std::vector<uint64_t> sum(colour.size(), 0);
    for (size_t k = 0; k < of_.size(); ++k) of_[k]->add_param_uses(sum, k);
    for (size_t p = 0; p < colour.size(); ++p) colour[p] = mix(colour[p], sum[p]);
    for (auto &a : of_) a->compute_keys(colour);
    before = now, now = distinct(colour, used);
  }
}

uint32_t Canon::literal(Op op, size_t k, uint32_t old) {
  if (op == Op::call && k == 0) return number_[old];
  if (op == Op::report && k == 0) {
    const auto [site, is_new] = site_.try_emplace(old, uint32_t(sites.size()));
    if (is_new) sites.push_back(old);
    return site->second;
  }
  const char letter = info(op).sig[k];
  if (letter != 'p' && letter != 's') return old;
  if (param_[old] == no_val) {
    out_.param(u_.params[old], old < u_.debug.params.size() ? u_.debug.params[old] : std::string());
    param_[old] = uint32_t(params.size());
    params.push_back(old);
  }
  return param_[old];
}

void Canon::write_record(const Analysis &a, Val v) {
  Inst i = a.f.code[v];
  const auto sig = info(i.op).sig;
  for (size_t k = 0; k < sig.size(); ++k) {
    if (sig[k] == 'k') break;
    if (!names_record(sig[k])) i.arg[k] = literal(i.op, k, i.arg[k]);
    else if (i.op != Op::operand || i.arg[k] != no_val) i.arg[k] = map_[a.twin[i.arg[k]]];
  }
  map_[v] = out_.emit(i.op, i.type, i.arg);
}

void Canon::write(const Analysis &a) {
  map_.assign(a.f.code.size(), no_val);
  for (Val v = 0; v < a.f.code.size(); ++v) {
    const Inst &i = a.f.code[v];
    const OpInfo &o = info(i.op);
    if (i.op == Op::end && a.live[a.head[v]] && !a.decided[a.head[v]]) out_.emit(Op::end, Type::none);
    if (!a.live[v] || is_pure(i.op) || i.op == Op::operand) continue;
    for (Val p = a.first_pure[v]; p != no_val; p = a.next_pure[p]) write_record(a, p);
    if (o.flags & Takes)
      for (Val t = v - a.taken(v); t < v; ++t) write_record(a, t);
    if (a.decided[a.head[v]]) ++decided_;
    else write_record(a, v);
  }
}

Unit Canon::run(uint32_t &rewrites) {
  reach(0);
  for (size_t k = 0; k < order_.size(); ++k)
    for (Val v = 0; v < of_[k]->f.code.size(); ++v)
      if (of_[k]->live[v] && of_[k]->f.code[v].op == Op::call) reach(of_[k]->f.code[v].arg[0]);
  colour_params();
  for (size_t k = 0; k < order_.size(); ++k) {
    const Func &f = u_.funcs[order_[k]];
    of_[k]->place();
    if (k) out_.open_function(f.n_args, f.n_results);
    write(*of_[k]);
    if (k) out_.close_function();
  }
  rewrites = out_.rewrites() + decided_;
  return std::move(out_).finish(u_.debug.name);
}

// `map` as seen through a second renumbering.
void compose(std::vector<uint32_t> &map, const std::vector<uint32_t> &second) {
  std::vector<uint32_t> both;
  for (const uint32_t old : second) both.push_back(map[old]);
  map = std::move(both);
}

}  // namespace

Unit canonical(const Unit &u, std::vector<uint32_t> *param_map, std::vector<uint32_t> *site_map) {
  Unit result;
  std::vector<uint32_t> params, sites;
  // A value that moved may meet its equal, and a rule may then apply that did not before: what it leaves unused is
  // dropped, and what it makes equal is shared, by going over the code again. Nothing is left to do after the first
  // time, usually.
  for (uint32_t rewrites = 1, round = 0; rewrites != 0 && round < 16; ++round) {
    Canon c(round ? result : u);
    Unit next = c.run(rewrites);
    if (round) compose(params, c.params), compose(sites, c.sites);
    else params = std::move(c.params), sites = std::move(c.sites);
    result = std::move(next);
  }
  if (param_map) *param_map = std::move(params);
  if (site_map) *site_map = std::move(sites);
  return result;
}

}  // namespace qd::ir
