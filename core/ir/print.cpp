// print.cpp: a unit as text (docs/ir.md, "Text form"). What it writes, parse() reads back to the same records; so
// floats are written in their shortest exact form and names that would not survive the way back are replaced by
// numbers.
#include <charconv>
#include <unordered_set>

#include "core/ir/ir.hpp"
#include "core/ir/constants.hpp"
#include "core/ir/text.hpp"
#include "qd/fold.hpp"

namespace qd::ir {
namespace {

template <class... A>
void number(std::string &out, A... a) {
  char s[64];
  out.append(s, std::to_chars(s, s + sizeof s, a...).ptr);
}

void float_constant(std::string &out, Type t, uint64_t bits) {
  const uint64_t quiet = t == Type::f16 ? 0x7e00 : t == Type::f32 ? 0x7fc00000 : uint64_t(0x7ff8) << 48;
  if (bits == quiet) {
    out += "nan";
  } else if (is_nan_bits(t, bits)) {
    out += "bits 0x";
    number(out, bits, 16);
  } else if (t == Type::f64) {
    number(out, std::bit_cast<double>(bits));
  } else if (t == Type::f32) {
    number(out, std::bit_cast<float>(uint32_t(bits)));
  } else {
    fold::half h;
    h.bits = uint16_t(bits);
    number(out, float(h));
  }
}

void constant(std::string &out, const Inst &k) {
  const uint64_t bits = const_bits(k);
  const int unused = 64 - 8 * info(k.type).bytes;
  if (is_float(k.type)) return float_constant(out, k.type, bits);
  if (is_int(k.type)) return number(out, int64_t(bits << unused) >> unused);
  number(out, bits);
}

bool is_name(std::string_view s) {
  if (s.empty() || (s[0] >= '0' && s[0] <= '9')) return false;
  for (const char c : s)
    if (!(c == '_' || c == '.' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')))
      return false;
  return true;
}

std::vector<std::string> param_names(const Unit &u) {
  std::vector<std::string> names;
  std::unordered_set<std::string_view> seen;
  for (size_t i = 0; i < u.params.size(); ++i) {
    const std::string_view given = i < u.debug.params.size() ? std::string_view(u.debug.params[i]) : std::string_view();
    names.push_back("$" + (is_name(given) && seen.insert(given).second ? std::string(given) : std::to_string(i)));
  }
  return names;
}

void param(std::string &out, const Param &p, const std::string &name) {
  out += name + ": ";
  if (p.kind == QD_PARAM_BUFFER) {
    out += p.alias < std::size(alias_words) ? std::string(alias_words[p.alias]) : "alias" + std::to_string(p.alias);
    out += ' ';
  }
  out += info(p.type).name;
  if (p.kind != QD_PARAM_BUFFER) return;
  const uint32_t extra = p.alias >= QD_ALIAS_SCRATCH ? p.count : p.rank;
  if (extra || p.alias == QD_ALIAS_EXTERNAL) out += " " + std::to_string(extra);
}

struct Printer {
  const Unit &u;
  std::vector<std::string> names;
  std::string out;

  void operands(const Inst &i) {
    const auto sig = info(i.op).sig;
    for (size_t k = 0; k < sig.size(); ++k) {
      if (i.op == Op::operand && i.arg[k] == no_val) continue;
      out += k ? ", " : " ";
      if (sig[k] == 'k') constant(out, i);
      else if (names_record(sig[k])) out += '%', number(out, i.arg[k]);
      else if (sig[k] == 'l') number(out, i.arg[k]);
      else out += i.arg[k] < names.size() ? names[i.arg[k]] : "$" + std::to_string(i.arg[k]);
    }
  }

  void body(const Func &f) {
    size_t depth = 1;
    for (Val v = 0; v < f.code.size(); ++v) {
      const Inst &i = f.code[v];
      const OpInfo &o = info(i.op);
      if (o.flags & Closes && depth > 1) --depth;
      out.append(depth * 2, ' ');
      if (o.flags & Opens) ++depth;
      if (i.op == Op::end || i.op == Op::other) {
        out += i.op == Op::end ? "}\n" : "} other {\n";
        continue;
      }
      if (has_name(i.op)) out += '%', number(out, v), out += " = ";
      out += o.name;
      if (i.type != Type::none) out += '.', out += info(i.type).name;
      operands(i);
      out += o.flags & Opens ? " {\n" : "\n";
    }
    out += "}\n";
  }
};

}  // namespace

std::string print(const Unit &u) {
  Printer p{u, param_names(u), {}};
  for (size_t k = 0; k < u.funcs.size(); ++k) {
    const Func &f = u.funcs[k];
    if (k == 0) {
      p.out += "func @" + (is_name(u.debug.name) ? u.debug.name : "_") + "(";
      for (size_t i = 0; i < u.params.size(); ++i) {
        if (i) p.out += ", ";
        param(p.out, u.params[i], p.names[i]);
      }
      p.out += ") {\n";
    } else {
      p.out += "func @f" + std::to_string(k) + "(" + std::to_string(f.n_args) + " args, " +
               std::to_string(f.n_results) + " results) {\n";
    }
    p.body(f);
  }
  return std::move(p.out);
}

}  // namespace qd::ir
