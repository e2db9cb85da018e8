// parse.cpp: the text form read back (docs/ir.md, "Text form"). A line is split into words, and the row of ops.def says
// what each word is: no operation has code of its own. Records go through a Builder, so that text with foldable code
// comes out folded; a text that begins with `raw` is taken as it stands, so that tests of the verifier can write what
// no builder makes.
#include <charconv>
#include <unordered_map>

#include "core/ir/builder.hpp"
#include "core/ir/ir.hpp"
#include "core/ir/constants.hpp"
#include "core/ir/text.hpp"
#include "core/support/error.hpp"
#include "qd/fold.hpp"

namespace qd::ir {
namespace {

using Words = std::vector<std::string_view>;

const std::unordered_map<std::string_view, Op> &op_names() {
  static const auto names = [] {
    std::unordered_map<std::string_view, Op> m;
    for (size_t k = 0; k < size_t(Op::count); ++k) m.emplace(op_table[k].name, Op(k));
    return m;
  }();
  return names;
}

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}
  Unit run();

 private:
  [[noreturn]] void fail(const std::string &why) const {
    throw Error(Kind::value, "line " + std::to_string(line_) + ": " + why);
  }
  bool next_line();
  std::string_view word(const char *expected);
  void entry_header();
  void function_header();
  void param();
  void body();
  void close_names(bool reopen);
  bool record();  // true when it opened a region
  uint32_t operand(char letter, Op op);
  uint64_t constant(Type t);
  uint64_t float_bits(Type t, std::string_view w);
  uint32_t literal(std::string_view w, const char *expected);
  Type type(std::string_view name);
  Val emit(Op op, Type t, const std::array<uint32_t, 3> &arg);

  std::string_view text_;
  Words words_;
  size_t at_ = 0;  // next word
  uint32_t line_ = 0;
  bool raw_ = false;
  Builder builder_;
  Unit unit_;  // of raw text
  std::unordered_map<std::string_view, uint32_t> params_, values_;
  std::vector<std::string_view> named_;  // in order, so that a region's end forgets its names
  std::vector<size_t> scopes_;
  std::string name_;
};

// The next line that holds a word; a comment and punctuation that only pleases the eye are no words.
bool Parser::next_line() {
  words_.clear(), at_ = 0;
  while (words_.empty()) {
    if (text_.empty()) return false;
    ++line_;
    std::string_view line = text_.substr(0, text_.find('\n'));
    text_.remove_prefix(std::min(text_.size(), line.size() + 1));
    line = line.substr(0, line.find(';'));
    constexpr std::string_view blank = " \t\r,():";
    for (size_t i = line.find_first_not_of(blank); i != line.npos; i = line.find_first_not_of(blank)) {
      line.remove_prefix(i);
      const std::string_view w = line.substr(0, line.find_first_of(blank));
      words_.push_back(w);
      line.remove_prefix(w.size());
    }
  }
  return true;
}

std::string_view Parser::word(const char *expected) {
  if (at_ >= words_.size()) fail(std::string("expected ") + expected + ", found the end of the line");
  return words_[at_++];
}

Type Parser::type(std::string_view name) {
  for (size_t k = 1; k < size_t(Type::count); ++k)
    if (type_table[k].name == name) return Type(k);
  fail("unknown type `" + std::string(name) + "`");
}

uint32_t Parser::literal(std::string_view w, const char *expected) {
  uint32_t v = 0;
  const auto [end, error] = std::from_chars(w.data(), w.data() + w.size(), v);
  if (error != std::errc() || end != w.data() + w.size())
    fail(std::string("expected ") + expected + ", found `" + std::string(w) + "`");
  return v;
}

uint64_t Parser::float_bits(Type t, std::string_view w) {
  const uint64_t quiet = t == Type::f16 ? 0x7e00 : t == Type::f32 ? 0x7fc00000 : uint64_t(0x7ff8) << 48;
  if (w == "nan") return quiet;
  if (w == "bits") {
    w = word("0x and the bits");
    uint64_t bits = 0;
    const bool hex =
        w.starts_with("0x") && std::from_chars(w.data() + 2, w.data() + w.size(), bits, 16).ptr == w.data() + w.size();
    if (!hex || (bits & ~width_mask(t)))
      fail("expected bits of " + std::string(info(t).name) + " in hexadecimal, found `" + std::string(w) + "`");
    return bits;
  }
  // Read in the type itself: a detour through a wider one would round twice. Every f16 is a float, so its text is too.
  auto read = [&]<class T>(T v) {
    if (std::from_chars(w.data(), w.data() + w.size(), v).ptr != w.data() + w.size())
      fail("expected a number, found `" + std::string(w) + "`");
    return v;
  };
  if (t == Type::f64) return std::bit_cast<uint64_t>(read(0.0));
  const float v = read(0.0f);
  return t == Type::f32 ? std::bit_cast<uint32_t>(v) : fold::half(v).bits;
}

uint64_t Parser::constant(Type t) {
  const std::string_view w = word("a constant");
  if (is_float(t)) return float_bits(t, w);
  const bool minus = w.starts_with('-');
  uint64_t magnitude = 0;
  const auto [end, error] = std::from_chars(w.data() + minus, w.data() + w.size(), magnitude);
  const uint64_t top = width_mask(t), limit = minus ? (top >> 1) + 1 : top;
  if (error != std::errc() || end != w.data() + w.size() || magnitude > limit)
    fail("expected a constant of type " + std::string(info(t).name) + ", found `" + std::string(w) + "`");
  return (minus ? 0 - magnitude : magnitude) & top;
}

uint32_t Parser::operand(char letter, Op op) {
  if (op == Op::operand && at_ >= words_.size()) return no_val;
  if (letter == 'l') return literal(word("a number"), "a number");
  const bool is_param = letter == 'p' || letter == 's';
  const std::string_view w = word(is_param ? "a parameter" : "a value");
  const auto &known = is_param ? params_ : values_;
  if (const auto it = known.find(w); it != known.end()) return it->second;
  // A number names the record or parameter itself: that is how raw text says what does not exist.
  if (raw_ && w.size() > 1 && w[0] == (is_param ? '$' : '%')) return literal(w.substr(1), "a known name");
  fail("unknown " + std::string(is_param ? "parameter" : "value") + " `" + std::string(w) + "`");
}

Val Parser::emit(Op op, Type t, const std::array<uint32_t, 3> &arg) {
  if (!raw_) return builder_.emit(op, t, arg);
  auto &code = unit_.funcs.back().code;
  const OpInfo &o = info(op);
  if (t == Type::none && o.result == Result::Bool) t = Type::b1;
  const uint32_t first = arg[o.sig.starts_with('c') ? 1 : 0];
  if (t == Type::none && o.result == Result::Same && first < code.size()) t = code[first].type;
  code.push_back({op, t, 0, arg});
  return Val(code.size() - 1);
}

bool Parser::record() {
  std::string_view result;
  if (words_.size() > 1 && words_[1] == "=") result = words_[0], at_ = 2;
  if (!result.empty() && result[0] != '%') fail("expected %name before `=`, found `" + std::string(result) + "`");
  const std::string_view w = word("an operation");
  const size_t dot = w.find('.');
  const auto it = op_names().find(w.substr(0, dot));
  if (it == op_names().end()) fail("unknown operation `" + std::string(w.substr(0, dot)) + "`");
  const Op op = it->second;
  const OpInfo &o = info(op);
  const Type t = dot == w.npos ? Type::none : type(w.substr(dot + 1));
  if (o.result == Result::Given && t == Type::none && !raw_)
    fail("`" + std::string(o.name) + "` needs a type: " + std::string(o.name) + ".i32");
  const bool brace = words_.back() == "{";
  if (brace) words_.pop_back();
  if (brace != ((o.flags & Opens) != 0))
    fail(brace ? "`{` after an operation that opens no region" : "expected `{` at the end of the line");
  std::array<uint32_t, 3> arg{0, 0, 0};
  for (size_t k = 0; k < o.sig.size(); ++k) {
    if (o.sig[k] != 'k') {
      arg[k] = operand(o.sig[k], op);
    } else {
      const uint64_t bits = constant(t);
      arg = {uint32_t(bits), uint32_t(bits >> 32), 0};
    }
  }
  if (at_ != words_.size())
    fail("`" + std::string(words_[at_]) + "` is one operand too many for `" + std::string(o.name) + "`");
  const Val v = emit(op, t, arg);
  if (!result.empty() && !has_name(op)) fail("`" + std::string(o.name) + "` gives no value");
  if (brace) scopes_.push_back(named_.size());
  if (result.empty()) return brace;
  if (!values_.insert_or_assign(result, v).second && !raw_) fail("a second value named `" + std::string(result) + "`");
  named_.push_back(result);
  return brace;
}

// Raw text keeps the names: using a value whose region is closed is one of the things it is there to say.
void Parser::close_names(bool reopen) {
  for (; named_.size() > scopes_.back(); named_.pop_back())
    if (!raw_) values_.erase(named_.back());
  if (!reopen) scopes_.pop_back();
}

void Parser::body() {
  values_.clear(), named_.clear(), scopes_.clear();
  uint32_t depth = 0;
  while (next_line()) {
    if (words_[0] != "}") {
      depth += record();
      continue;
    }
    const bool other = words_.size() == 3 && words_[1] == "other" && words_[2] == "{";
    if (words_.size() > 1 && !other) fail("expected `}` or `} other {`");
    if (depth == 0 && other) fail("`other` outside a region");
    if (depth == 0) return;
    if (!other) --depth;
    close_names(other);
    emit(other ? Op::other : Op::end, Type::none, {0, 0, 0});
  }
  fail("expected `}`, found the end of the text");
}

void Parser::param() {
  const std::string_view name = word("a parameter");
  if (!name.starts_with('$')) fail("expected $name of a parameter, found `" + std::string(name) + "`");
  Param p;
  std::string_view w = word("a type");
  for (uint8_t k = 0; k < std::size(alias_words); ++k)
    if (w == alias_words[k]) p.kind = QD_PARAM_BUFFER, p.alias = k;
  p.type = type(p.kind == QD_PARAM_BUFFER ? word("a type") : w);
  const bool more = at_ < words_.size() && words_[at_][0] != '$' && words_[at_] != "{";
  if (p.kind == QD_PARAM_BUFFER && p.alias == QD_ALIAS_EXTERNAL && !more)
    fail("expected the rank of `" + std::string(name) + "`");
  if (more) {
    const uint32_t n = literal(words_[at_++], p.alias >= QD_ALIAS_SCRATCH ? "a count" : "a rank");
    if (p.kind != QD_PARAM_BUFFER || (p.alias < QD_ALIAS_SCRATCH && n > 255))
      fail("`" + std::to_string(n) + "` is no rank");
    if (p.alias >= QD_ALIAS_SCRATCH) p.count = n;
    else p.rank = uint8_t(n);
  }
  const uint32_t number = uint32_t(params_.size());
  if (!params_.emplace(name, number).second) fail("a second parameter named `" + std::string(name) + "`");
  if (raw_) unit_.params.push_back(p), unit_.debug.params.emplace_back(name.substr(1));
  else builder_.param(p, std::string(name.substr(1)));
}

void Parser::entry_header() {
  if (words_.size() < 3 || words_[0] != "func" || !words_[1].starts_with('@') || words_.back() != "{")
    fail("expected `func @name(...) {`");
  name_ = words_[1].substr(1);
  if (raw_) unit_.funcs.emplace_back();
  for (at_ = 2; at_ + 1 < words_.size();) param();
  body();
}

void Parser::function_header() {
  const bool shaped = words_.size() == 7 && words_[0] == "func" && words_[1].starts_with('@') && words_[3] == "args" &&
                      words_[5] == "results" && words_[6] == "{";
  if (!shaped) fail("expected `func @name(2 args, 1 results) {`");
  const uint32_t n_args = literal(words_[2], "a number of arguments"),
                 n_results = literal(words_[4], "a number of results");
  if (raw_) unit_.funcs.push_back({{}, n_args, n_results});
  else builder_.open_function(n_args, n_results);
  body();
  if (!raw_) builder_.close_function();
}

Unit Parser::run() {
  if (!next_line()) fail("expected `func @name(...) {`, found no text");
  if (words_.size() == 1 && words_[0] == "raw") {
    raw_ = true;
    if (!next_line()) fail("expected `func @name(...) {` after `raw`");
  }
  entry_header();
  while (next_line()) function_header();
  if (!raw_) return std::move(builder_).finish(name_);
  unit_.debug.name = name_;
  return std::move(unit_);
}

}  // namespace

Unit parse(std::string_view text) { return Parser(text).run(); }

}  // namespace qd::ir
