// codegen.cpp: the way to the code generator.
#include "backends/common/codegen_object.hpp"
#include "backends/cpu/cpu.hpp"

namespace qd::cpu {

const QdxCpuCodegen &code_generator() {
  return backends::code_generator<QdxCpuCodegen>({"cpu", QDX_CPU_CODEGEN_SYMBOL, QDX_CPU_CODEGEN_VERSION});
}

plugin::Artifact Instance::compile(const Call &call, const plugin::Request &r) {
  return {"elf", backends::generate(call, r, [&](const QdbCompileReq *request, QdbArtifactOut *out) {
            return code_generator().compile(call.host.table(), call.host.context(), request, out, call.slot);
          })};
}

plugin::Artifact Instance::finish(const Call &, std::string_view, const QdbArtifact &) {
  throw plugin::Failure(QDB_E_UNSUPPORTED, "code of the cpu backend needs no finishing");
}

}  // namespace qd::cpu
