// make_device_math.cpp: a program of the build. Takes a library of bitcode (libdevice or libclc) and writes, for every
// function of math.def and both precisions, a small module with that function and what it calls, named qd_<op>_<type>,
// as bytes in a C++ source. So a task links what it uses, and parses nothing else.
//
//   make_device_math nv|clc LIBRARY.bc OUT.cpp
#include <llvm/Bitcode/BitcodeReader.h>
#include <llvm/Bitcode/BitcodeWriter.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/DebugInfo.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/raw_ostream.h>

#include <cstdio>
#include <cstdlib>
#include <set>
#include <string>

namespace {

[[noreturn]] void die(const std::string &message) {
  std::fprintf(stderr, "make_device_math: %s\n", message.c_str());
  std::exit(1);
}

std::string library_name(bool nv, const char *nv_name, const char *clc_name, int operands, bool f64) {
  if (nv) return std::string(nv_name) + (f64 ? "" : "f");
  const std::string name = clc_name;
  return "_Z" + std::to_string(name.size()) + name + std::string(size_t(operands), f64 ? 'd' : 'f');
}

// The library asks what it should be like: subnormals are kept, square roots and quotients are exact.
void answer_questions(llvm::Module &m) {
  auto *ask = m.getFunction("__nvvm_reflect");
  if (!ask) return;
  while (!ask->use_empty()) {
    auto *call = llvm::dyn_cast<llvm::CallInst>(*ask->user_begin());
    if (!call) die("__nvvm_reflect is not only called");
    const auto *name = llvm::dyn_cast<llvm::GlobalVariable>(call->getArgOperand(0)->stripPointerCasts());
    const auto *text = name ? llvm::dyn_cast<llvm::ConstantDataArray>(name->getInitializer()) : nullptr;
    const std::string question = text ? text->getAsCString().str() : "";
    const int answer = question == "__CUDA_PREC_SQRT" || question == "__CUDA_PREC_DIV";
    call->replaceAllUsesWith(llvm::ConstantInt::get(call->getType(), uint64_t(answer)));
    call->eraseFromParent();
  }
  ask->eraseFromParent();
}

// Everything that `root` reaches.
void reach(llvm::GlobalValue *root, std::set<llvm::GlobalValue *> &seen) {
  if (!seen.insert(root).second) return;
  std::set<llvm::Constant *> constants;
  const auto visit = [&](auto &&self, llvm::Constant *c) -> void {
    if (!constants.insert(c).second) return;
    if (auto *g = llvm::dyn_cast<llvm::GlobalValue>(c)) return reach(g, seen);
    for (llvm::Use &u : c->operands())
      if (auto *k = llvm::dyn_cast<llvm::Constant>(u.get())) self(self, k);
  };
  if (auto *f = llvm::dyn_cast<llvm::Function>(root)) {
    for (auto &block : *f)
      for (auto &i : block)
        for (llvm::Use &u : i.operands())
          if (auto *k = llvm::dyn_cast<llvm::Constant>(u.get())) visit(visit, k);
  } else if (auto *v = llvm::dyn_cast<llvm::GlobalVariable>(root)) {
    if (v->hasInitializer()) visit(visit, v->getInitializer());
  }
}

void keep_only(llvm::Module &m, const std::set<llvm::GlobalValue *> &kept) {
  for (auto &f : llvm::make_early_inc_range(m.functions()))
    if (!kept.count(&f)) f.deleteBody(), f.replaceAllUsesWith(llvm::PoisonValue::get(f.getType())), f.eraseFromParent();
  for (auto &v : llvm::make_early_inc_range(m.globals()))
    if (!kept.count(&v)) v.replaceAllUsesWith(llvm::PoisonValue::get(v.getType())), v.eraseFromParent();
  while (!m.named_metadata_empty()) m.eraseNamedMetadata(&*m.named_metadata_begin());
}

llvm::SmallVector<char, 0> extract(const llvm::MemoryBuffer &library, const std::string &name, const std::string &as) {
  llvm::LLVMContext context;
  auto parsed = llvm::parseBitcodeFile(library.getMemBufferRef(), context);
  if (!parsed) die("not bitcode that this LLVM reads");
  llvm::Module &m = **parsed;
  llvm::Function *root = m.getFunction(name);
  if (!root || root->isDeclaration()) die("the library has no function " + name);
  answer_questions(m);
  llvm::StripDebugInfo(m);
  std::set<llvm::GlobalValue *> kept;
  reach(root, kept);
  keep_only(m, kept);
  for (llvm::GlobalValue *g : kept) {
    if (g->isDeclaration() && !g->getName().starts_with("llvm."))
      die("the library's " + name + " needs " + g->getName().str() + ", which is in another one");
    if (g->isDeclaration()) continue;
    if (auto *o = llvm::dyn_cast<llvm::GlobalObject>(g)) o->setComdat(nullptr);
    g->setLinkage(llvm::GlobalValue::InternalLinkage);
  }
  for (llvm::GlobalValue *g : kept)
    if (auto *f = llvm::dyn_cast<llvm::Function>(g)) f->removeFnAttr("target-cpu"), f->removeFnAttr("target-features");
  root->setLinkage(llvm::GlobalValue::ExternalLinkage);
  root->setName(as);
  llvm::SmallVector<char, 0> out;
  llvm::raw_svector_ostream os(out);
  llvm::WriteBitcodeToFile(m, os);
  return out;
}

}  // namespace

int main(int argc, char **argv) {
  if (argc != 4) die("usage: make_device_math nv|clc LIBRARY.bc OUT.cpp");
  const bool nv = std::string(argv[1]) == "nv";
  auto library = llvm::MemoryBuffer::getFile(argv[2]);
  if (!library) die(std::string("cannot read ") + argv[2]);
  std::FILE *out = std::fopen(argv[3], "w");
  if (!out) die(std::string("cannot write ") + argv[3]);
  std::fprintf(out, "#include \"backends/cuda/device_math_blobs.hpp\"\nnamespace qd::cuda {\n");
  const auto write = [&](const std::string &name, const std::string &as) {
    const auto bytes = extract(**library, name, as);
    std::fprintf(out, "alignas(8) static const unsigned char %s[] = {", as.c_str());
    for (size_t k = 0; k < bytes.size(); k++)
      std::fprintf(out, "%s%u,", k % 32 ? "" : "\n", unsigned(uint8_t(bytes[k])));
    std::fprintf(out, "};\n");
  };
#define MATH(op, operands, nv_name, clc_name)                                    \
  write(library_name(nv, nv_name, clc_name, operands, false), "qd_" #op "_f32"); \
  write(library_name(nv, nv_name, clc_name, operands, true), "qd_" #op "_f64");
#include "backends/cuda/math.def"
  std::fprintf(out, "const DeviceFunction device_functions[] = {\n");
#define MATH(op, operands, nv_name, clc_name)                                            \
  std::fprintf(out, "  {\"qd_" #op "_f32\", qd_" #op "_f32, sizeof qd_" #op "_f32},\n"); \
  std::fprintf(out, "  {\"qd_" #op "_f64\", qd_" #op "_f64, sizeof qd_" #op "_f64},\n");
#include "backends/cuda/math.def"
  std::fprintf(out, "};\nconst size_t n_device_functions = sizeof device_functions / sizeof *device_functions;\n}\n");
  return std::fclose(out) ? 1 : 0;
}
