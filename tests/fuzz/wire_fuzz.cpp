// wire_fuzz.cpp: any bytes at all into the reader of compile units. What it accepts is walked as a code generator would.
// The first byte of the input chooses the options; the header's magic and size are mended, so that most inputs get past them.
#include <cstdlib>

#include "qd/ir_view.hpp"

namespace {

void check(bool promise) {
  if (!promise) std::abort();
}

void walk(const qd::view::View &u) {
  using namespace qd::view;
  for (uint32_t f = 0; f < u.n_functions(); f++) {
    const Function &g = u.function(f);
    for (uint32_t i = 0; i < g.count; i++) {
      const QdInst &r = g.code[i];
      check(r.op < n_ops && r.type < n_types);
      const Op op = op_of(r);
      for (uint32_t k = 0; k < info(op).sig.size(); k++)
        check(!names_record(info(op).sig[k]) || field(r, k) < i || (op == Op::operand && field(r, k) == no_value));
      if (has(op, Opens) || op == Op::end || op == Op::leave) check(g.match[i] < g.count);
      if (!has(op, Takes)) continue;
      const Operands o = u.operands_before(g, i);
      for (uint32_t k = 0; k < o.count; k++) check(o[k] < i);
    }
  }
  if (u.parallel()) u.bounds_are_pure(*u.parallel());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size < 1 + sizeof(QdWireHeader)) return 0;
  qd::view::ReadOptions options;
  options.task = data[0] & 1, options.allow_recursion = data[0] & 2;
  std::vector<uint8_t> bytes(data + 1, data + size);
  QdWireHeader header;
  std::memcpy(&header, bytes.data(), sizeof header);
  header.magic = QD_WIRE_MAGIC, header.major = QD_WIRE_MAJOR, header.minor = QD_WIRE_MINOR, header.n_sections = 3;
  header.reserved = 0, header.size = bytes.size();
  std::memcpy(bytes.data(), &header, sizeof header);
  qd::view::View u;
  qd::view::Fault fault;
  if (u.read(bytes.data(), bytes.size(), fault, options)) walk(u);
  return 0;
}
