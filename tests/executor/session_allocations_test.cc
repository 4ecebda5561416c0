// No tensor is allocated inside a step, by whoever it may be: session, streams,
// kernels or the libraries below them. This program counts every large request
// to the C and C++ allocators and to mmap.
#include <dlfcn.h>
#include <sys/mman.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/units.h"
#include "executor/session.h"
#include "graph/builder.h"
#include "models/zoo.h"
#include "ops/all_ops.h"
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

// glibc's own entry points, which the definitions below stand before. operator
// new and everything else that allocates ends in one of them.
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
// For libraries that go to the kernel themselves (malloc's own mmap is inside
// glibc and does not come by here).
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

// Keeps the compiler from leaving out an allocation that nobody reads.
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

// The parameter is a model of the zoo.
class SessionAllocationsTest : public ::testing::TestWithParam<std::string> {};

TEST_P(SessionAllocationsTest, AStepAllocatesNoTensor) {
  GraphBuilder g(StandardOps(), "model");
  ASSERT_OK_AND_ASSIGN(
      const ModelGraph model,
      BuildModel(g, GetParam(), {.batch_size = 8, .image_size = 28}));
  Minimize(g.Scope("optimizer"), model.loss, Momentum{});
  const TensorType images = model.images.type();
  const TensorType labels = model.labels.type();
  ASSERT_OK_AND_ASSIGN(Graph graph, std::move(g).Build());
  ASSERT_OK_AND_ASSIGN(
      const auto session,
      NewSession({.graph = std::move(graph), .fetches = {model.loss.id()}},
                 {.threads = 2}));
  // Activations are large; without this the test would say nothing.
  ASSERT_GT(session->plan(0).device_bytes, 10 * int64_t{kLarge});

  const std::vector<float> pixels(static_cast<size_t>(images.num_elements()),
                                  0.5F);
  const std::vector<int32_t> classes(static_cast<size_t>(labels.num_elements()),
                                     3);
  const Feeds feeds = {{model.images.id(), {images, pixels.data()}},
                       {model.labels.id(), {labels, classes.data()}}};
  // The first step starts the OpenMP threads, whose stacks are not tensors.
  ASSERT_THAT(session->Step(feeds), IsOk());
  EXPECT_EQ(LargeRequestsDuring([&] {
              for (int step = 0; step < 2; ++step) {
                EXPECT_THAT(session->Step(feeds), IsOk());
              }
            }),
            0);
  EXPECT_EQ(session->memory().allocations_in_steps, 0);
}

INSTANTIATE_TEST_SUITE_P(Zoo, SessionAllocationsTest,
                         ::testing::Values("lenet", "resnet50"));

}  // namespace
}  // namespace spillway
