#include "tests/support/cuda_emulation.h"

#include <setjmp.h>
#include <ucontext.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/random.h"
#include "tests/support/test_size.h"

namespace spillway::cuda_emulation {
namespace {

constexpr unsigned kWarp = 32;
constexpr size_t kStackBytes = size_t{256} << 10;

thread_local int current_device = 0;

enum class Waits { kNot, kForBlock, kForWarp, kEnded };

// A point to continue from, on the stack of a fiber or of the system's thread.
// swapcontext asks the system for the signal mask each time: with it, the tests
// of the kernels take four times as long as with _setjmp and _longjmp. But
// AddressSanitizer only knows of stacks that are changed by it.
struct Point {
  ucontext_t context = {};
  jmp_buf registers = {};
};

// Continues `to`; returns when something continues `from`.
void Switch(Point& from, Point& to) {
  if constexpr (testing::kHasAddressSanitizer) {
    SPILLWAY_CHECK(swapcontext(&from.context, &to.context) == 0);
  } else if (_setjmp(from.registers) == 0) {
    _longjmp(to.registers, 1);
  }
}

// The same for a point that is the begin of `main` on a stack of its own.
void Begin(void (*main)(), std::byte* stack, Point& from, Point& to) {
  SPILLWAY_CHECK(getcontext(&to.context) == 0);
  to.context.uc_stack.ss_sp = stack;
  to.context.uc_stack.ss_size = kStackBytes;
  to.context.uc_link = nullptr;
  makecontext(&to.context, main, 0);
  if constexpr (testing::kHasAddressSanitizer) {
    Switch(from, to);
  } else if (_setjmp(from.registers) == 0) {
    setcontext(&to.context);
  }
}

struct Fiber {
  Point point = {};
  bool has_begun = false;
  Place place = {};
  Waits waits = Waits::kNot;
  uint64_t given = 0;  // value for its warp
};

// Stack number i of this system thread, kept for the next kernel.
std::byte* StackOf(size_t i) {
  thread_local std::vector<std::unique_ptr<std::byte[]>> stacks;
  while (stacks.size() <= i) {
    stacks.push_back(std::make_unique_for_overwrite<std::byte[]>(kStackBytes));
  }
  return stacks[i].get();
}

class Block {
 public:
  explicit Block(size_t num_threads) : fibers_(num_threads) {}

  // Runs the threads, forwards or backwards between barriers.
  void Run(const Place& place, bool backwards,
           const std::function<void()>& thread);

  const Place& place() const { return running().place; }
  unsigned lane() const { return static_cast<unsigned>(running_ % kWarp); }

  void Wait(Waits waits) {
    fibers_[running_].waits = waits;
    SwitchToMain();
  }

  uint64_t Exchange(uint64_t bits, unsigned lane) {
    fibers_[running_].given = bits;
    Wait(Waits::kForWarp);
    const size_t other = running_ - running_ % kWarp + lane;
    SPILLWAY_CHECK(other < fibers_.size());
    const uint64_t got = fibers_[other].given;
    Wait(Waits::kForWarp);  // before any thread gives the next value
    return got;
  }

 private:
  const Fiber& running() const { return fibers_[running_]; }

  static void Main();

  void SwitchToMain() { Switch(fibers_[running_].point, main_); }

  // Runs a fiber until it waits or ends.
  void Resume(size_t i) {
    running_ = i;
    Fiber& fiber = fibers_[i];
    fiber.waits = Waits::kNot;
    if (std::exchange(fiber.has_begun, true)) {
      Switch(main_, fiber.point);
    } else {
      Begin(&Block::Main, StackOf(i), main_, fiber.point);
    }
  }

  bool AllWait(size_t begin, size_t end, Waits waits) const {
    return std::all_of(fibers_.begin() + static_cast<std::ptrdiff_t>(begin),
                       fibers_.begin() + static_cast<std::ptrdiff_t>(end),
                       [&](const Fiber& f) { return f.waits == waits; });
  }

  // Runs the warp's fibers, repeatedly as shuffles require, until none of them
  // can continue alone.
  void RunWarp(size_t begin, size_t end) {
    do {
      for (size_t i = begin; i < end; ++i) {
        Resume(backwards_ ? begin + end - 1 - i : i);
      }
    } while (AllWait(begin, end, Waits::kForWarp));
    for (size_t i = begin; i < end; ++i) {
      SPILLWAY_CHECK(fibers_[i].waits !=
                     Waits::kForWarp);  // a shuffle without all threads
    }
  }

  std::vector<Fiber> fibers_;
  bool backwards_ = false;
  size_t running_ = 0;
  Point main_;
  const std::function<void()>* thread_ = nullptr;
};

thread_local Block* present = nullptr;

// A fiber that has ended is resumed for the next block.
void Block::Main() {
  while (true) {
    (*present->thread_)();
    present->Wait(Waits::kEnded);
  }
}

void Block::Run(const Place& place, bool backwards,
                const std::function<void()>& thread) {
  present = this;
  thread_ = &thread;
  backwards_ = backwards;
  for (size_t i = 0; i < fibers_.size(); ++i) {
    Fiber& fiber = fibers_[i];
    fiber.place = place;
    const auto index = static_cast<unsigned>(i);
    const dim3& size = place.block_size;
    fiber.place.thread = dim3(index % size.x, index / size.x % size.y,
                              index / (size.x * size.y));
  }
  const size_t warps = (fibers_.size() + kWarp - 1) / kWarp;
  do {
    for (size_t i = 0; i < warps; ++i) {
      const size_t begin = kWarp * (backwards ? warps - 1 - i : i);
      RunWarp(begin, std::min<size_t>(begin + kWarp, fibers_.size()));
    }
  } while (AllWait(0, fibers_.size(), Waits::kForBlock));
  // Fails if some threads do not reach a barrier.
  SPILLWAY_CHECK(AllWait(0, fibers_.size(), Waits::kEnded));
  present = nullptr;
}

}  // namespace

const Place& Here() { return present->place(); }

void SyncThreads() { present->Wait(Waits::kForBlock); }

uint64_t Exchange(uint64_t bits, unsigned lane) {
  return present->Exchange(bits, lane);
}

unsigned LaneOfThread() { return present->lane(); }

namespace {

Queue& TheQueue() {
  static Queue queue;
  return queue;
}

// Alternates irregularly, in the same order in every run.
bool FlipCoin() {
  thread_local uint64_t flips = 0;
  return Philox4x32(1, flips++)[0] % 2 == 1;
}

void RunGrid(dim3 blocks, dim3 threads, const std::function<void()>& thread) {
  Block block(size_t{threads.x} * threads.y * threads.z);
  Place place{
      .thread = {}, .block = {}, .block_size = threads, .grid_size = blocks};
  const unsigned count = blocks.x * blocks.y * blocks.z;
  const bool backwards = FlipCoin();
  for (unsigned i = 0; i < count; ++i) {
    const unsigned at = backwards ? count - 1 - i : i;
    place.block = dim3(at % blocks.x, at / blocks.x % blocks.y,
                       at / (blocks.x * blocks.y));
    block.Run(place, FlipCoin(), thread);
  }
}

}  // namespace

void SetQueue(Queue queue) { TheQueue() = std::move(queue); }

void SetCurrentDevice(int device) { current_device = device; }
int CurrentDevice() { return current_device; }

void Launch(void* stream, dim3 blocks, dim3 threads,
            std::function<void()> thread) {
  if (stream == nullptr) {
    RunGrid(blocks, threads, thread);
    return;
  }
  SPILLWAY_CHECK(TheQueue() != nullptr);
  TheQueue()(stream, [blocks, threads, thread = std::move(thread)] {
    RunGrid(blocks, threads, thread);
  });
}

}  // namespace spillway::cuda_emulation
