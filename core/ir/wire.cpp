// wire.cpp: a unit as bytes and back. There is one way to write a unit (three sections in ascending order, packed,
// without slack), and the reader accepts only that way: what it returns, written again, gives the same bytes. It trusts
// nothing: counts and offsets are checked before they are used, and the code is verified before it is returned.
#include <cstring>

#include "core/ir/ir.hpp"
#include "core/support/error.hpp"

namespace qd::ir {
namespace {

constexpr uint32_t n_sections = 3;
constexpr size_t body_offset = sizeof(QdWireHeader) + n_sections * sizeof(QdWireSection);
constexpr size_t element_size[] = {0, sizeof(QdParam), sizeof(QdFunc), sizeof(QdInst)};

[[noreturn]] void refuse(const std::string &what) { throw Error(Kind::internal, "malformed unit: " + what); }

void append_bytes(std::string &out, const void *data, size_t size) {
  if (size) out.append(static_cast<const char *>(data), size);
}

template <class T>
std::vector<T> read_array(std::string_view bytes, const QdWireSection &s) {
  std::vector<T> v(s.count);
  if (s.count) std::memcpy(v.data(), bytes.data() + s.offset, s.count * sizeof(T));
  return v;
}

void check_header(std::string_view bytes, QdWireHeader &h) {
  if (bytes.size() < body_offset)
    refuse("expected at least " + std::to_string(body_offset) + " bytes, found " + std::to_string(bytes.size()));
  std::memcpy(&h, bytes.data(), sizeof h);
  if (h.magic != QD_WIRE_MAGIC) refuse("it does not begin with the magic number of a unit");
  if (h.major != QD_WIRE_MAJOR || h.minor > QD_WIRE_MINOR)
    refuse("version " + std::to_string(h.major) + "." + std::to_string(h.minor) + ", this build reads up to " +
           std::to_string(QD_WIRE_MAJOR) + "." + std::to_string(QD_WIRE_MINOR));
  if (h.n_sections != n_sections) refuse("expected 3 sections, found " + std::to_string(h.n_sections));
  if (h.reserved != 0) refuse("the reserved header field is not 0");
  if (h.size != bytes.size())
    refuse("its header says " + std::to_string(h.size) + " bytes, found " + std::to_string(bytes.size()));
}

void check_sections(std::string_view bytes, QdWireSection (&s)[n_sections]) {
  std::memcpy(s, bytes.data() + sizeof(QdWireHeader), sizeof s);
  uint64_t at = body_offset;
  for (uint32_t i = 0; i < n_sections; ++i) {
    if (s[i].kind != i + 1) refuse("section " + std::to_string(i) + " has kind " + std::to_string(s[i].kind));
    if (s[i].offset != at) refuse("section " + std::to_string(i) + " is not where the one before it ends");
    at += uint64_t(s[i].count) * element_size[i + 1];
    if (at > bytes.size()) refuse("section " + std::to_string(i) + " reaches beyond the end");
  }
  if (at != bytes.size()) refuse("bytes after the last section");
}

}  // namespace

std::string to_wire(const Unit &u) {
  uint64_t n_inst = 0;
  for (const Func &f : u.funcs) n_inst += f.code.size();
  QdWireSection sections[n_sections] = {{QD_SECTION_PARAMS, uint32_t(u.params.size()), body_offset},
                                        {QD_SECTION_FUNCS, uint32_t(u.funcs.size()), 0},
                                        {QD_SECTION_CODE, uint32_t(n_inst), 0}};
  for (uint32_t i = 1; i < n_sections; ++i)
    sections[i].offset = sections[i - 1].offset + sections[i - 1].count * element_size[i];
  const QdWireHeader header{
      QD_WIRE_MAGIC, QD_WIRE_MAJOR, QD_WIRE_MINOR, n_sections, 0, sections[2].offset + n_inst * sizeof(QdInst)};

  std::string out;
  out.reserve(header.size);
  append_bytes(out, &header, sizeof header);
  append_bytes(out, sections, sizeof sections);
  append_bytes(out, u.params.data(), u.params.size() * sizeof(QdParam));
  uint32_t first = 0;
  for (const Func &f : u.funcs) {
    const QdFunc row{first, uint32_t(f.code.size()), f.n_args, f.n_results};
    append_bytes(out, &row, sizeof row);
    first += row.count;
  }
  for (const Func &f : u.funcs) append_bytes(out, f.code.data(), f.code.size() * sizeof(QdInst));
  return out;
}

Unit from_wire(std::string_view bytes) {
  QdWireHeader header;
  QdWireSection sections[n_sections];
  check_header(bytes, header);
  check_sections(bytes, sections);
  Unit u;
  u.params = read_array<Param>(bytes, sections[0]);
  u.debug.params.resize(u.params.size());
  const auto rows = read_array<QdFunc>(bytes, sections[1]);
  if (rows.empty()) refuse("no function");
  const char *code = bytes.data() + sections[2].offset;
  uint64_t next = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].first != next || rows[i].count > sections[2].count - next)
      refuse("function " + std::to_string(i) +
             " does not begin where the one before it ends, or reaches beyond the code");
    Func &f = u.funcs.emplace_back(Func{std::vector<Inst>(rows[i].count), rows[i].n_args, rows[i].n_results});
    if (rows[i].count) std::memcpy(f.code.data(), code + next * sizeof(QdInst), rows[i].count * sizeof(QdInst));
    next += rows[i].count;
  }
  if (next != sections[2].count) refuse("records that belong to no function");
  if (const auto fault = verify(u))
    refuse("function " + std::to_string(fault->func) + ", record " + std::to_string(fault->record) + ": " +
           fault->message);
  return u;
}

}  // namespace qd::ir
