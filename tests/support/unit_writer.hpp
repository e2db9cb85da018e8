// unit_writer.hpp: writes compile units record by record for tests of what reads them, with nothing in between: no folding, no
// checks, and any damage that a test wants. Tests of the core use its Builder.
#pragma once
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <string>
#include <vector>

#include "qd/ir_tables.hpp"

namespace qd::test {

using view::Op;
using view::Type;

class UnitWriter {
 public:
  UnitWriter() { function(0, 0); }

  uint32_t scalar(Type t) { return param({QD_PARAM_SCALAR, uint8_t(t), 0, 0, 0}); }
  uint32_t buffer(Type t, uint8_t rank = 1, uint8_t alias = QD_ALIAS_EXTERNAL) { return param({QD_PARAM_BUFFER, uint8_t(t), rank, alias, 0}); }
  uint32_t param(QdParam p) {
    params.push_back(p);
    return uint32_t(params.size() - 1);
  }

  // Further records go to this function. Returns its number.
  uint32_t function(uint32_t n_args, uint32_t n_results) {
    funcs.push_back({n_args, n_results, {}});
    current = uint32_t(funcs.size() - 1);
    return current;
  }
  void select(uint32_t function) { current = function; }

  uint32_t add(Op op, Type t = Type::none, uint32_t a = 0, uint32_t b = 0, uint32_t c = 0) {
    auto &code = funcs[current].code;
    code.push_back({uint16_t(op), uint8_t(t), 0, a, b, c});
    return uint32_t(code.size() - 1);
  }
  uint32_t constant(Type t, uint64_t bits) { return add(Op::const_, t, uint32_t(bits), uint32_t(bits >> 32)); }
  void operands(std::initializer_list<uint32_t> values) {
    const std::vector<uint32_t> v(values);
    for (size_t i = 0; i < v.size(); i += 3)
      add(Op::operand, Type::none, v[i], i + 1 < v.size() ? v[i + 1] : QD_NO_VALUE, i + 2 < v.size() ? v[i + 2] : QD_NO_VALUE);
  }

  std::string bytes() const {
    std::vector<QdFunc> table;
    std::vector<QdInst> code;
    for (const Func &f : funcs) {
      table.push_back({uint32_t(code.size()), uint32_t(f.code.size()), f.n_args, f.n_results});
      code.insert(code.end(), f.code.begin(), f.code.end());
    }
    QdWireSection s[3] = {{QD_SECTION_PARAMS, uint32_t(params.size()), sizeof(QdWireHeader) + sizeof s},
                          {QD_SECTION_FUNCS, uint32_t(table.size()), 0},
                          {QD_SECTION_CODE, uint32_t(code.size()), 0}};
    s[1].offset = s[0].offset + params.size() * sizeof(QdParam);
    s[2].offset = s[1].offset + table.size() * sizeof(QdFunc);
    const QdWireHeader header{QD_WIRE_MAGIC, QD_WIRE_MAJOR, QD_WIRE_MINOR, 3, 0, s[2].offset + code.size() * sizeof(QdInst)};
    std::string out;
    const auto put = [&](const void *data, size_t size) { out.append(static_cast<const char *>(data), size); };
    put(&header, sizeof header), put(s, sizeof s);
    put(params.data(), params.size() * sizeof(QdParam)), put(table.data(), table.size() * sizeof(QdFunc));
    put(code.data(), code.size() * sizeof(QdInst));
    return out;
  }

  struct Func {
    uint32_t n_args, n_results;
    std::vector<QdInst> code;
  };
  std::vector<QdParam> params;
  std::vector<Func> funcs;
  uint32_t current = 0;
};

}  // namespace qd::test
