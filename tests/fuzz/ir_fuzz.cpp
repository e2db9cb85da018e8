// ir_fuzz.cpp: any bytes at all into ir::from_wire. What it accepts is printed and read back, brought into canonical form, and
// verified again; the canonical form is stable. The header and the section table are mended, so that most inputs get past them.
#include <cstdlib>
#include <cstring>

#include "core/ir/ir.hpp"
#include "core/support/error.hpp"

namespace {

void check(bool promise) {
  if (!promise) std::abort();
}

// Input: parameters, functions and records by count, then their bytes. Functions are laid end to end.
std::string mended(const uint8_t *data, size_t size) {
  const uint32_t n_params = data[0] % 6, n_funcs = 1 + data[1] % 3;
  data += 2, size -= 2;
  std::string params(n_params * sizeof(QdParam), '\0'), code;
  const size_t taken = std::min(size, params.size());
  std::memcpy(params.data(), data, taken);
  code.assign(reinterpret_cast<const char *>(data + taken), (size - taken) / sizeof(QdInst) * sizeof(QdInst));
  const uint32_t n_code = uint32_t(code.size() / sizeof(QdInst)), each = n_code / n_funcs;
  std::string funcs;
  for (uint32_t f = 0; f < n_funcs; ++f) {
    const uint32_t first = f * each, count = f + 1 < n_funcs ? each : n_code - first;
    const QdFunc row{first, count, f ? 2u : 0u, f ? 1u : 0u};
    funcs.append(reinterpret_cast<const char *>(&row), sizeof row);
  }
  QdWireSection s[3] = {{QD_SECTION_PARAMS, n_params, sizeof(QdWireHeader) + sizeof s},
                        {QD_SECTION_FUNCS, n_funcs, 0},
                        {QD_SECTION_CODE, n_code, 0}};
  s[1].offset = s[0].offset + params.size(), s[2].offset = s[1].offset + funcs.size();
  const QdWireHeader h{QD_WIRE_MAGIC, QD_WIRE_MAJOR, QD_WIRE_MINOR, 3, 0, s[2].offset + code.size()};
  std::string out(reinterpret_cast<const char *>(&h), sizeof h);
  out.append(reinterpret_cast<const char *>(s), sizeof s);
  return out + params + funcs + code;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size < 2) return 0;
  const std::string bytes = data[0] & 0x80 ? std::string(reinterpret_cast<const char *>(data), size) : mended(data, size);
  qd::ir::Unit u;
  try {
    u = qd::ir::from_wire(bytes);
  } catch (const qd::Error &) { return 0; }
  check(!qd::ir::verify(u));
  check(qd::ir::to_wire(u) == bytes);
  const qd::ir::Unit c = qd::ir::canonical(u);
  check(!qd::ir::verify(c));
  const std::string once = qd::ir::to_wire(c);
  check(qd::ir::to_wire(qd::ir::canonical(c)) == once);
  const qd::ir::Unit again = qd::ir::from_wire(once);
  check(qd::ir::print(qd::ir::parse("raw\n" + qd::ir::print(again))) == qd::ir::print(again));
  return 0;
}
