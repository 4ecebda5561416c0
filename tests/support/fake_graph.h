// What a fake CUDA stream records while it is captured, and runs when the graph
// is launched.
#ifndef SPILLWAY_TESTS_SUPPORT_FAKE_GRAPH_H_
#define SPILLWAY_TESTS_SUPPORT_FAKE_GRAPH_H_

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <vector>

namespace spillway::testing {

// Work in an order that is only partly decided.
class FakeGraph {
 public:
  using Nodes = std::set<size_t>;

  // Work that comes after all of `after`.
  size_t Add(std::function<void()> work, Nodes after);

  // Whether each of `nodes` is one of `ends` or comes before one.
  bool Includes(const Nodes& ends, const Nodes& nodes) const;

  // Runs all: of the nodes whose turn it may be, the one added last. So work
  // that does not wait for what it needs comes too early.
  void Run() const;

 private:
  struct Node {
    std::function<void()> work;
    Nodes after;
  };
  std::vector<Node> nodes_;
};

// One capture: its streams, and the nodes that each has come to. The rules are
// CUDA's; a call that breaks one spoils the capture.
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
  // The stream's place, which an event marks. Of a stream that it has.
  Error Record(void* stream, FakeGraph::Nodes* mark) const;
  // A stream that it has not joins it.
  Error Wait(void* stream, const FakeGraph::Nodes& mark);
  // The capture is spoilt; the error to report.
  Error Spoil(Error error);

  // Called for any of its streams; the graph is null after an error.
  Error End(void* stream, std::unique_ptr<FakeGraph>* graph);

 private:
  void* const origin_;
  std::map<void*, FakeGraph::Nodes> tails_;  // by stream
  std::unique_ptr<FakeGraph> graph_ = std::make_unique<FakeGraph>();
  bool is_spoilt_ = false;
};

}  // namespace spillway::testing

#endif  // SPILLWAY_TESTS_SUPPORT_FAKE_GRAPH_H_
