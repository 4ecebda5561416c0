// No step allocates a tensor: not the session, the streams, the kernels or the
// libraries below them. This program counts every large request to the C and
// C++ allocators and to mmap.
#include <dlfcn.h>
#include <sys/mman.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <list>
#include <map>
#include <memory>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "base/units.h"
#include "executor/session/session.h"
#include "graph/builder/builder.h"
#include "graph/well_known_ops.h"
#include "lms/lms.h"
#include "models/zoo.h"
#include "ops/all_ops.h"
#include "ops/cpu/lanes.h"
#include "tests/support/new_session.h"
#include "tests/support/status_matchers.h"
#include "training/optimizer.h"

namespace {

constexpr size_t kLarge = 64 << 10;
std::atomic<bool> counting = false;
std::atomic<int> large_requests = 0;

void Count(size_t bytes) {
  if (bytes >= kLarge && counting) ++large_requests;
}

}  // namespace

// glibc's entry points, which the definitions below override. operator new and
// all other allocations end in one of them.
extern "C" {
void* __libc_malloc(size_t bytes);
void* __libc_calloc(size_t count, size_t bytes);
void* __libc_realloc(void* memory, size_t bytes);
void* __libc_memalign(size_t alignment, size_t bytes);

void* malloc(size_t bytes) {
  Count(bytes);
  return __libc_malloc(bytes);
}
void* calloc(size_t count, size_t bytes) {
  Count(count * bytes);
  return __libc_calloc(count, bytes);
}
void* realloc(void* memory, size_t bytes) {
  Count(bytes);
  return __libc_realloc(memory, bytes);
}
void* memalign(size_t alignment, size_t bytes) {
  Count(bytes);
  return __libc_memalign(alignment, bytes);
}
void* aligned_alloc(size_t alignment, size_t bytes) {
  Count(bytes);
  return __libc_memalign(alignment, bytes);
}
int posix_memalign(void** memory, size_t alignment, size_t bytes) {
  Count(bytes);
  *memory = __libc_memalign(alignment, bytes);
  return *memory == nullptr ? ENOMEM : 0;
}
// For libraries that call the kernel directly (malloc's own mmap is inside
// glibc and does not call this function).
void* mmap(void* address, size_t bytes, int protection, int flags, int file,
           off_t offset) {
  using Mmap = void* (*)(void*, size_t, int, int, int, off_t);
  static const auto next = reinterpret_cast<Mmap>(dlsym(RTLD_NEXT, "mmap"));
  Count(bytes);
  return next(address, bytes, protection, flags, file, offset);
}
}

namespace spillway {
namespace {

using testing::IsOk;
using testing::NewSession;

// Large requests while `work` runs.
template <typename Work>
int LargeRequestsDuring(const Work& work) {
  large_requests = 0;
  counting = true;
  work();
  counting = false;
  return large_requests;
}

// Keeps the compiler from removing an allocation that is never read.
void* volatile seen = nullptr;

TEST(Counting, SeesEveryWayToAllocate) {
  const auto requests = [](auto allocate) {
    return LargeRequestsDuring([&] { seen = allocate(); });
  };
  EXPECT_EQ(requests([] { return ::operator new(kLarge - 1); }), 0);
  EXPECT_EQ(requests([] { return ::operator new(kLarge); }), 1);
  EXPECT_EQ(requests([] { return std::malloc(kLarge); }), 1);
  EXPECT_EQ(requests([] { return std::calloc(2, kLarge / 2); }), 1);
  EXPECT_EQ(requests([] { return std::realloc(seen, 2 * kLarge); }), 1);
  EXPECT_EQ(requests([] { return std::aligned_alloc(64, kLarge); }), 1);
  EXPECT_EQ(requests([] {
              void* memory = nullptr;
              return posix_memalign(&memory, 64, kLarge) == 0 ? memory
                                                              : nullptr;
            }),
            1);
  EXPECT_EQ(requests([] {
              return mmap(nullptr, kLarge, PROT_READ,
                          MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            }),
            1);
}

struct AllocationsCase {
  std::string model;
  int64_t image_size = 0;
  DType dtype = DType::kFloat32;  // of activations
  LmsMode lms = LmsMode::kOff;
  int threads = 2;
};

void PrintTo(const AllocationsCase& c, std::ostream* out) {
  *out << c.model << " " << DTypeName(c.dtype) << " " << LmsModeName(c.lms);
}

// A training step of a network with momentum, and feeds for it.
class SessionAllocationsTest
    : public ::testing::TestWithParam<AllocationsCase> {
 protected:
  absl::Status MakeSession() {
    GraphBuilder g(StandardOps(), "model");
    SPILLWAY_ASSIGN_OR_RETURN(const ModelGraph model,
                              BuildModel(g, GetParam().model,
                                         {.batch_size = 8,
                                          .image_size = GetParam().image_size,
                                          .dtype = GetParam().dtype}));
    Minimize(g.Scope("optimizer"), model.loss, Momentum{});
    Program program = {.fetches = {model.loss.id()}};
    SPILLWAY_ASSIGN_OR_RETURN(program.graph, std::move(g).Build());
    SPILLWAY_RETURN_IF_ERROR(
        ApplyLms({.mode = GetParam().lms}, program.graph).status());
    MakeFeeds(program.graph);
    SPILLWAY_ASSIGN_OR_RETURN(
        session_,
        NewSession(std::move(program), {.threads = GetParam().threads}));
    return absl::OkStatus();
  }

  // Zeros: grey images of class 0.
  void MakeFeeds(const Graph& graph) {
    for (const Node& node : graph.nodes()) {
      if (node.op != kPlaceholder) continue;
      const TensorType& type = graph.type(node.outputs[0]);
      std::vector<std::byte>& bytes =
          fed_.emplace_back(static_cast<size_t>(type.num_bytes()));
      feeds_[node.outputs[0]] = {type, bytes.data()};
    }
  }

  std::list<std::vector<std::byte>> fed_;
  Feeds feeds_;
  std::unique_ptr<Session> session_;
};

TEST_P(SessionAllocationsTest, AStepAllocatesNoTensor) {
  if (!HasAvx512()) {
    GTEST_SKIP() << "without AVX-512, oneDNN multiplies matrices by its sgemm, "
                    "which allocates blocks by itself";
  }
  if (GetParam().dtype == DType::kBFloat16 &&
      __builtin_cpu_supports("avx512bf16") == 0) {
    GTEST_SKIP() << "without instructions for bfloat16, oneDNN's products and "
                    "convolutions allocate float32 copies by themselves";
  }
  ASSERT_THAT(MakeSession(), IsOk());
  // Activations are large; without this check the test would prove nothing.
  ASSERT_GT(session_->plan(0)->device_bytes, 10 * int64_t{kLarge});
  // The first step starts the OpenMP threads, whose stacks are not tensors.
  ASSERT_THAT(session_->Step(feeds_), IsOk());
  EXPECT_EQ(LargeRequestsDuring([&] {
              for (int step = 0; step < 2; ++step) {
                EXPECT_THAT(session_->Step(feeds_), IsOk());
              }
            }),
            0);
  EXPECT_EQ(session_->memory().allocations_in_steps, 0);
}

// Convolutions of all kinds and their libraries' workspaces: strided, grouped,
// transposed, 1x1, in two and three dimensions.
std::vector<AllocationsCase> AllCases() {
  std::vector<AllocationsCase> cases;
  const std::vector<AllocationsCase> networks = {
      {.model = "googlenet", .image_size = 32},
      {.model = "lenet", .image_size = 28},
      {.model = "mobilenet", .image_size = 32},
      {.model = "resnet20", .image_size = 32},
      {.model = "resnet50", .image_size = 28},
      {.model = "unet2d", .image_size = 16},
      {.model = "unet3d", .image_size = 8}};
  for (AllocationsCase c : networks) {
    for (const DType dtype : {DType::kFloat32, DType::kBFloat16}) {
      for (const LmsMode lms : {LmsMode::kOff, LmsMode::kV1}) {
        c.dtype = dtype;
        c.lms = lms;
        c.threads = lms == LmsMode::kOff ? 2 : 1;  // workspaces depend on them
        cases.push_back(c);
      }
    }
  }
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Zoo, SessionAllocationsTest,
                         ::testing::ValuesIn(AllCases()));

}  // namespace
}  // namespace spillway
