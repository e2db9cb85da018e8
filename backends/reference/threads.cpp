// threads.cpp: threads of a block that work together. A thread is a machine of its own, and runs until it is done or waits for
// others (Machine::waiting). When all run out, what the waiting ones have come together for is done, and they go on. So the order
// is fixed, and what depends on no order is what every other backend must give.
#include <bit>

#include "backends/reference/reference.hpp"

namespace qd::reference {
namespace {

using view::Op;

enum class State : uint8_t { ready, waiting, done };

struct Thread {
  Machine m;
  State state = State::ready;
};

Op op_of(const Step *s) { return Op(s->imm >> 32); }
bool of_block(const Step *s) { return op_of(s) == Op::barrier_vote || (op_of(s) == Op::barrier && s->a == 0); }

// Threads of one subgroup that have come together, as bits.
struct Together {
  Thread *lanes;  // of the subgroup
  uint32_t who;
  const Step *step;

  uint64_t operand(uint32_t lane, uint32_t reg) const { return lanes[lane].m.r[reg]; }
  template <class F> uint32_t holding(F f) const {
    uint32_t bits = 0;
    for (uint32_t k = 0; k < warp; k++)
      if (who >> k & 1 && f(k)) bits |= 1u << k;
    return bits;
  }
  uint32_t vote() const {
    const uint32_t yes = holding([&](uint32_t k) { return operand(k, step->a) & 1; });
    const uint32_t answers[] = {yes == who, yes != 0, yes == who || yes == 0, yes};
    return answers[step->b];
  }
  uint32_t match(uint32_t lane) const {
    const uint32_t same = holding([&](uint32_t k) { return operand(k, step->a) == operand(lane, step->a); });
    return step->b == 0 ? same : same == who ? who : 0;
  }
  uint64_t shuffled(uint32_t lane) const {
    const uint32_t by = uint32_t(operand(lane, step->b)) % warp;
    const uint32_t from[] = {by, lane - by, lane + by, lane ^ by};
    const uint32_t other = from[step->c];
    return operand(other < warp && who >> other & 1 ? other : lane, step->a);
  }
  uint64_t result(uint32_t lane) const {
    switch (op_of(step)) {
      case Op::vote: return vote();
      case Op::match: return match(lane);
      case Op::shuffle: return shuffled(lane);
      case Op::active: return who;
      default: return 0;  // a barrier
    }
  }
};

class Block {
 public:
  Block(Machine &main, const Step *body, std::function<void(Machine &, int64_t)> place)
      : main_(main), body_(body), place_(std::move(place)), threads_(main.program->block), words_(main.args, main.args + main.program->arg_words) {
    for (uint64_t bytes : main.program->shared) {
      shared_.emplace_back((bytes + 7) / 8);
      words_.push_back(uint64_t(reinterpret_cast<uintptr_t>(shared_.back().data())));
    }
  }

  void run(int64_t begin, int64_t end) {
    for (auto &s : shared_) std::fill(s.begin(), s.end(), 0);  // any value would do
    count_ = uint32_t(end - begin);
    for (uint32_t k = 0; k < count_; k++) start(threads_[k], begin + k, k);
    for (;;) {
      bool left = false;
      for (uint32_t k = 0; k < count_; k++) left |= go_on(threads_[k]);
      if (!left) return;
      if (!subgroups() && !barrier()) stuck();
    }
  }

 private:
  void start(Thread &t, int64_t position, uint32_t k) {
    Machine &m = t.m;
    const Code &entry = main_.program->functions[0];
    m.frames.clear(), m.stack.clear();
    m.args = words_.data(), m.code = &entry, m.program = main_.program, m.call = main_.call;
    m.r = m.frames.push(entry.frame);
    std::copy(main_.r, main_.r + entry.frame, m.r);
    m.iteration = position, m.draw = 0, m.thread = k, m.waiting = nullptr;
    place_(m, position);
    t.state = State::ready;
  }

  // False when the thread is done.
  bool go_on(Thread &t) {
    if (t.state == State::done) return false;
    if (t.state == State::waiting) return true;
    const Step *from = t.m.waiting ? t.m.waiting + 1 : body_;
    t.m.waiting = nullptr;
    t.m.run(from);
    t.state = t.m.waiting ? State::waiting : State::done;
    return t.m.waiting != nullptr;
  }

  uint32_t alive(uint32_t first) const {
    uint32_t bits = 0;
    for (uint32_t k = 0; k < warp && first + k < count_; k++)
      if (threads_[first + k].state != State::done) bits |= 1u << k;
    return bits;
  }

  bool subgroups() {
    bool any = false;
    for (uint32_t first = 0; first < count_; first += warp) {
      bool here = false;
      for (uint32_t lane = 0; lane < warp && first + lane < count_; lane++) here |= meet(first, lane);
      if (!here) here = meet_active(first);
      any |= here;
    }
    return any;
  }

  // Does what `lane` waits for, if all lanes of its mask have come to the same place.
  bool meet(uint32_t first, uint32_t lane) {
    const Thread &t = threads_[first + lane];
    if (t.state != State::waiting || of_block(t.m.waiting) || op_of(t.m.waiting) == Op::active) return false;
    const uint32_t mask = mask_of(t);
    if (!(mask >> lane & 1)) fail("a thread of a subgroup is not in its own mask");
    const uint32_t who = mask & alive(first);
    for (uint32_t k = 0; k < warp; k++) {
      if (!(who >> k & 1)) continue;
      const Thread &other = threads_[first + k];
      if (other.m.waiting != t.m.waiting || mask_of(other) != mask) return false;
    }
    finish({&threads_[first], who, t.m.waiting});
    return true;
  }

  // `active` waits for nobody by name: those count that are there when no thread of the subgroup can go on otherwise.
  bool meet_active(uint32_t first) {
    for (uint32_t lane = 0; lane < warp && first + lane < count_; lane++) {
      const Thread &t = threads_[first + lane];
      if (t.state != State::waiting || op_of(t.m.waiting) != Op::active) continue;
      uint32_t who = 0;
      for (uint32_t k = 0; k < warp && first + k < count_; k++)
        if (threads_[first + k].state == State::waiting && threads_[first + k].m.waiting == t.m.waiting) who |= 1u << k;
      finish({&threads_[first], who, t.m.waiting});
      return true;
    }
    return false;
  }

  static uint32_t mask_of(const Thread &t) {
    const uint32_t reg = uint32_t(t.m.waiting->imm);
    return reg == view::no_value ? ~0u : uint32_t(t.m.r[reg]);
  }

  // Results first: an operand's register may be another lane's result of the same record.
  static void finish(const Together &g) {
    uint64_t results[warp];
    for (uint32_t k = 0; k < warp; k++)
      if (g.who >> k & 1) results[k] = g.result(k);
    for (uint32_t k = 0; k < warp; k++)
      if (g.who >> k & 1) g.lanes[k].m.r[g.step->dst] = results[k], g.lanes[k].state = State::ready;
  }

  bool barrier() {
    const Step *step = nullptr;
    uint32_t there = 0, holds = 0;
    for (uint32_t k = 0; k < count_; k++) {
      const Thread &t = threads_[k];
      if (t.state == State::done) continue;
      if (!of_block(t.m.waiting) || (step && step != t.m.waiting)) return false;
      step = t.m.waiting, there++;
      holds += op_of(step) == Op::barrier_vote && t.m.r[step->a] & 1;
    }
    const uint32_t answers[] = {holds == there, holds != 0, holds};
    for (uint32_t k = 0; k < count_; k++) {
      Thread &t = threads_[k];
      if (t.state == State::done) continue;
      if (op_of(step) == Op::barrier_vote) t.m.r[step->dst] = answers[step->b];
      t.state = State::ready;
    }
    return true;
  }

  [[noreturn]] void stuck() const {
    std::string text;
    for (uint32_t k = 0; k < count_ && text.size() < 200; k++)
      if (threads_[k].state == State::waiting)
        text += " thread " + std::to_string(k) + " at " + std::string(view::info(op_of(threads_[k].m.waiting)).name) + ",";
    text.back() = '.';
    fail("the threads of a block wait for each other in different places:" + text + " All threads must reach the same barrier");
  }
  [[noreturn]] static void fail(const std::string &text) { throw Failure(QDB_E_LAUNCH, text); }

  Machine &main_;
  const Step *body_;
  std::function<void(Machine &, int64_t)> place_;
  std::vector<Thread> threads_;
  std::vector<std::vector<uint64_t>> shared_;
  std::vector<uint64_t> words_;  // of the argument block, then the addresses of shared buffers
  uint32_t count_ = 0;           // threads of this block: fewer where the grid ends
};

}  // namespace

void run_blocks(Machine &main, const Step *body, int64_t begin, int64_t end, const std::function<void(Machine &, int64_t)> &place) {
  const int64_t size = main.program->block;
  if (begin % size != 0) throw Failure(QDB_E_INVALID, "launch from position " + std::to_string(begin) + ", which is no multiple of the block size");
  Block block(main, body, place);
  for (int64_t i = begin; i < end; i += size) block.run(i, std::min(i + size, end));
}

}  // namespace qd::reference
