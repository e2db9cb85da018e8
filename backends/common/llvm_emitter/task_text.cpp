// task_text.cpp: see task_text.hpp.
#include "backends/common/llvm_emitter/task_text.hpp"

#include <llvm/AsmParser/Parser.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/SourceMgr.h>
#include <llvm/Support/raw_ostream.h>

namespace qd::llvm_emitter {

std::string text_of(const llvm::Module &m) {
  std::string text;
  llvm::raw_string_ostream os(text);
  m.print(os, nullptr);
  return text;
}

std::unique_ptr<llvm::Module> parse(llvm::LLVMContext &context, const std::string &text, std::string &why) {
  llvm::SMDiagnostic problem;
  auto m = llvm::parseAssemblyString(text, problem, context);
  if (!m) {
    llvm::raw_string_ostream os(why);
    problem.print("", os, false);
  }
  return m;
}

std::unique_ptr<llvm::Module> dump_or_replace(const plugin::Host &host, std::string_view dump, std::string_view task,
                                              std::unique_ptr<llvm::Module> ours) {
  const auto theirs = host.dump_override("llvm", dump);
  if (!theirs) {
    host.dump("llvm", dump, text_of(*ours));
    return ours;
  }
  std::string why;
  auto m = parse(ours->getContext(), std::string(theirs.view()), why);  // the parser reads up to a final zero
  if (m) return m;
  throw plugin::Failure(QDB_E_COMPILE, "the LLVM IR that was to replace this task's does not parse: " + why,
                        std::string(task));
}

void verify(const llvm::Module &m, std::string_view task) {
  std::string why;
  llvm::raw_string_ostream os(why);
  if (llvm::verifyModule(m, &os))
    throw plugin::Failure(QDB_E_INTERNAL, "the emitter wrote faulty LLVM IR: " + why, std::string(task));
}

}  // namespace qd::llvm_emitter
