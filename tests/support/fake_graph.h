// The work that a fake CUDA stream records while it is captured, and that runs
// when the graph is launched.
#ifndef SPILLWAY_TESTS_SUPPORT_FAKE_GRAPH_H_
#define SPILLWAY_TESTS_SUPPORT_FAKE_GRAPH_H_

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <vector>

namespace spillway::testing {

// Work in a partial order.
class FakeGraph {
 public:
  using Nodes = std::set<size_t>;

  // Adds work that comes after all of `after`.
  size_t Add(std::function<void()> work, Nodes after);

  // Whether each of `nodes` is one of `ends` or comes before one.
  bool Includes(const Nodes& ends, const Nodes& nodes) const;

  // Runs all work: among the nodes that may run next, the one added last. So
  // work that does not wait for its inputs runs too early.
  void Run() const;

 private:
  struct Node {
    std::function<void()> work;
    Nodes after;
  };
  std::vector<Node> nodes_;
};

// One capture: its streams, and the last nodes of each. The rules are CUDA's; a
// call that violates one invalidates the capture.
class FakeCapture {
 public:
  using Error = int;  // a cudaError_t
  static constexpr Error kUnsupported = 900;
  static constexpr Error kInvalidated = 901;
  static constexpr Error kUnmatched = 903;
  static constexpr Error kUnjoined = 904;
  static constexpr Error kIsolation = 905;
  static constexpr Error kCapturedEvent = 907;

  explicit FakeCapture(void* origin) : origin_(origin) { tails_[origin]; }

  bool has(void* stream) const { return tails_.contains(stream); }

  Error Add(void* stream, std::function<void()> work);
  // Stores the stream's position for an event. The stream must belong to the
  // capture.
  Error Record(void* stream, FakeGraph::Nodes* mark) const;
  // A stream outside of the capture joins it.
  Error Wait(void* stream, const FakeGraph::Nodes& mark);
  // Invalidates the capture; returns the error to report.
  Error Spoil(Error error);

  // May be called for any of its streams; the graph is null after an error.
  Error End(void* stream, std::unique_ptr<FakeGraph>* graph);

 private:
  void* const origin_;
  std::map<void*, FakeGraph::Nodes> tails_;  // by stream
  std::unique_ptr<FakeGraph> graph_ = std::make_unique<FakeGraph>();
  bool is_spoilt_ = false;
};

}  // namespace spillway::testing

#endif  // SPILLWAY_TESTS_SUPPORT_FAKE_GRAPH_H_
