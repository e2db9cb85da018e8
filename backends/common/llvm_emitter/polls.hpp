// polls.hpp: loops that may go on for long ask now and then whether to stop. Run behind everything else, so that it
// changes nothing of what the optimiser makes of a loop.
#pragma once
#include <llvm/IR/PassManager.h>

namespace qd::llvm_emitter {

struct Polls {
  llvm::StringRef symbol;   // uint32_t symbol(void): after how many rounds to ask again; empty: nothing asks
  llvm::StringRef task;     // the function that is called for parts of a grid
  unsigned grid_loops = 0;  // how many loops of it, one in the other, walk over such a part, and so end soon
};

// Whether some loop of the function asks.
bool add_polls(llvm::Function &, llvm::FunctionAnalysisManager &, const Polls &);

}  // namespace qd::llvm_emitter
