// pure.cpp: every pure row with a meaning, and select, in every type: operands from memory in a loop that a target may vectorise,
// one operand that is the same in all iterations, one that is a constant, and serial code.
#include <stdexcept>

#include "core/ir/constants.hpp"
#include "tests/conformance/accuracy.hpp"
#include "tests/conformance/operands.hpp"
#include "tests/conformance/suite.hpp"
#include "tests/ir/values.hpp"

namespace qd::conformance {
namespace {

struct Form {
  Op op;
  Type from, to;
  bool binary() const { return ir::info(op).sig != "v"; }
};

std::vector<Form> forms() {
  std::vector<Form> out;
  for (uint16_t k = 0; k < uint16_t(Op::count); ++k) {
    const Op op = Op(k);
    const auto &row = ir::info(op);
    if (row.effect != ir::Effect::Pure || !(has_meaning(op) || op == Op::select)) continue;
    for (const Type from : all_types)
      for (const Type to : all_types) {
        if (!in_class(row.operands, from)) continue;
        if (row.result == ir::Result::Same && to != from) continue;
        if (row.result == ir::Result::Bool && to != Type::b1) continue;
        const bool same_size = ir::info(from).bytes == ir::info(to).bytes && (from == Type::b1) == (to == Type::b1);
        if (op == Op::bitcast && !same_size) continue;
        if (op == Op::frexp_exp && to != Type::i32) continue;
        out.push_back({op, from, to});
      }
  }
  return out;
}

std::string dot(Type t) { return "." + std::string(ir::info(t).name); }

// `%v<tag> = op %x, y`
std::string operation(const Form &f, const std::string &y, const std::string &tag = "") {
  std::string s = "%v" + tag + " = " + std::string(ir::info(f.op).name) + dot(f.to) + " ";
  if (f.op == Op::select) s += "%c, ";
  return s + "%x" + (f.binary() ? ", " + y : "") + "\n";
}

std::string header(const Form &f, const std::string &y, const std::string &open) {
  const std::string t(ir::info(f.from).name), r(ir::info(f.to).name);
  return "raw\nfunc @p($x: buf " + t + " 1, $y: " + y + t + (y.empty() ? "" : " 1") + ", $c: buf b1 1, $z: buf " + r +
         " 1) {\n%zero = const.i32 0\n%n = shape.i32 $x, 0\n" + open;
}
const std::string parallel = "operand %zero, %n\nparallel.i32 1, 0 {\n%i = axis.i32 0\n";

std::string operands(const Form &f, bool load_y) {
  std::string s = "%x = load" + dot(f.from) + " $x, %i\n";
  if (f.op == Op::select) s += "%c = load.b1 $c, %i\n";
  if (f.binary() && load_y) s += "%y = load" + dot(f.from) + " $y, %i\n";
  return s;
}

std::string array_text(const Form &f) {
  return header(f, "buf ", parallel) + operands(f, true) + operation(f, "%y") + "store $z, %i, %v\n}\n}\n";
}
std::string serial_text(const Form &f) {
  return header(f, "buf ", "%i = loop.i32 %zero, %n {\n") + operands(f, true) + operation(f, "%y") +
         "store $z, %i, %v\n}\n}\n";
}
std::string uniform_text(const Form &f) {
  return header(f, "", "%y = arg" + dot(f.from) + " $y\n" + parallel) + operands(f, false) + operation(f, "%y") +
         "store $z, %i, %v\n}\n}\n";
}
// Element i * count + k of z is the operation of x[i] and constant k.
std::string constant_text(const Form &f, const Bits &constants) {
  std::string s = header(f, "", "%count = const.i32 " + std::to_string(constants.size()) + "\n" + parallel) +
                  operands(f, false) + "%row = mul.i32 %i, %count\n";
  for (size_t k = 0; k < constants.size(); ++k) {
    const std::string id = std::to_string(k);
    s += "%k" + id + " = const" + dot(f.from) + " " + ir::testing::show_value(f.from, constants[k]) + "\n" +
         operation(f, "%k" + id, id) + "%j" + id + " = const.i32 " + id + "\n%at" + id + " = add.i32 %row, %j" + id +
         "\nstore $z, %at" + id + ", %v" + id + "\n";
  }
  return s + "}\n}\n";
}

// What fast math leaves open (docs/accuracy.md): without signs of zero there is no telling 1/0 from 1/-0, and where results are
// approximate a subnormal operand may count as zero.
void keep_to_fast_math(const Form &f, Bits &v) {
  if (!ir::is_float(f.from)) return;
  const uint64_t sign = ir::width_mask(f.from) / 2 + 1;
  const uint64_t normal = f.from == Type::f32 ? 0x00800000 : f.from == Type::f64 ? 0x0010000000000000 : 1;
  for (uint64_t &b : v)
    if (b == sign || (allowed_ulp(f.op, f.to, true) > 0 && (b & ~sign) < normal)) b = 0;
}

class Trial {
 public:
  Trial(Bench &b, const Form &f) : b_(b), f_(f) {}

  // z has `each` results per element of x; y[i * each + k] is the other operand of its k-th.
  std::string run(const ir::Unit &u, Bits x, Bits y, size_t each = 1) const {
    if (b_.load_only) return b_.plugin.load(u), "";
    if (b_.fast_math) keep_to_fast_math(f_, x), keep_to_fast_math(f_, y);
    Bits c = random_bits(Type::b1, x.size(), 9);
    Memory m;
    const auto bind = [&](const char *name, Type t, const Bits &v) {
      m.arrays[name] = {t, {int64_t(v.size())}, pack(t, v)};
    };
    bind("x", f_.from, x);
    bind("y", f_.from, y);
    bind("c", Type::b1, c);
    bind("z", f_.to, Bits(x.size() * each, f_.to == Type::b1 ? 1 : 0x55));
    m.scalars["y"] = y[0];
    Memory expected = m;
    b_.plugin.run({u}, m);
    b_.reference.run({u}, expected);
    const Bits found = unpack(f_.to, m.arrays["z"].bytes), want = unpack(f_.to, expected.arrays["z"].bytes);
    for (size_t i = 0; i < found.size(); ++i) {
      const Result r{f_.op, f_.from, f_.to, x[i / each], y[i % y.size()], found[i], want[i]};
      if (!is_right(r, b_.fast_math)) return describe(r);
    }
    return "";
  }

 private:
  Bench &b_;
  const Form &f_;
};

Bits few_constants(Type t) {
  const Bits all = edges(t);
  Bits out;
  for (size_t k = 0; k < all.size(); k += all.size() < 16 ? 1 : all.size() / 6) out.push_back(all[k]);
  return out;
}

void run_form(Bench &b, const Form &f) {
  const Trial trial(b, f);
  const Bits ends = edges(f.from);
  const auto enter = [&](const char *variant, auto test) {
    b.enter(f.op, f.from, std::string(variant) + ", to " + std::string(ir::info(f.to).name), test);
  };
  Pairs all = f.binary() ? binary_operands(f.from) : Pairs{unary_operands(f.from), {}};
  if (!f.binary()) all.y = all.x;
  enter("arrays", [&] { return trial.run(unit_of(array_text(f)), all.x, all.y); });
  Pairs some{all.x, all.y};
  some.x.resize(std::min<size_t>(some.x.size(), 3000)), some.y.resize(some.x.size());
  enter("serial", [&] { return trial.run(unit_of(serial_text(f)), some.x, some.y); });
  if (!f.binary()) return;
  Bits constants = few_constants(f.from);
  if (b.fast_math) keep_to_fast_math(f, constants);
  enter("constant", [&] {
    return trial.run(unit_of(constant_text(f, constants)), ends, constants, constants.size());
  });
  enter("uniform", [&] {
    const ir::Unit u = unit_of(uniform_text(f));
    for (const uint64_t y : ends)
      if (std::string fault = trial.run(u, ends, {y}); !fault.empty() || b.load_only) return fault;
    return std::string();
  });
}

}  // namespace

void run_pure(Bench &b) {
  for (const Form &f : forms()) run_form(b, f);
}

}  // namespace qd::conformance
