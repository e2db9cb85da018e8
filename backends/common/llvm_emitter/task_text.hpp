// task_text.hpp: a task's module as text: for dumps, for a user's edit in its place, and for the verifier's complaints.
#pragma once
#include <llvm/IR/Module.h>

#include <memory>
#include <string>
#include <string_view>

#include "qd/plugin.hpp"

namespace qd::llvm_emitter {

std::string text_of(const llvm::Module &);

// Null with the parser's message.
std::unique_ptr<llvm::Module> parse(llvm::LLVMContext &, const std::string &text, std::string &why);

// The user's text in place of ours, when there is one under the name `dump`; ours is dumped only otherwise, so that an
// edit stays. Throws E_COMPILE for the task when the text does not parse.
std::unique_ptr<llvm::Module> dump_or_replace(const plugin::Host &, std::string_view dump, std::string_view task,
                                              std::unique_ptr<llvm::Module> ours);

// Throws E_INTERNAL when the emitter wrote faulty code. Costs as much as a pass: builds with assertions only.
void verify(const llvm::Module &, std::string_view task);

}  // namespace qd::llvm_emitter
