// A second, slow implementation of TFLMS's memory simulator: directly from its
// description, over maps and sets, sharing nothing with lms/. Compat mode.
#ifndef SPILLWAY_TESTS_LMS_TFLMS_NAIVE_TFLMS_H_
#define SPILLWAY_TESTS_LMS_TFLMS_NAIVE_TFLMS_H_

#include <cstdint>
#include <map>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "graph/graph.h"
#include "lms/options.h"
#include "tests/lms/v2/naive_v2.h"

namespace spillway::testing {

class NaiveTflms : private NaiveV2 {
 public:
  struct Limits {
    int64_t device_bytes = 0;  // for tensors
    int64_t host_bytes = 0;
  };

  // Simulates with the four numbers of `options`.
  NaiveTflms(const Graph& graph, const LmsOptions& options, Limits limits);

  void Play();

  bool passed = true;
  bool host_warning = false;
  int64_t peak_device_bytes = 0;
  int64_t peak_host_bytes = 0;
  int failed_op = -1;
  std::pair<int, int> failed_tensor = {-1, -1};
  int missing = 0;        // fruitless searches for a control op
  int never_started = 0;  // copies that no op starts, or one that has run

 private:
  using Tensor = std::pair<int, int>;        // op, output
  using Buffer = std::tuple<int, int, int>;  // tensor, 0: itself, or copy
  struct Held {
    int64_t size = 0;
    int64_t count = 0;
  };
  struct Record {
    Buffer alias;
    int num_readers = 0;
  };

  std::set<int> ConsumersOf(const Tensor& tensor) const;
  int64_t SizeOf(const Tensor& tensor) const;
  std::set<Tensor> InputsOf(int op) const;
  Buffer BufferFor(int op, const Tensor& tensor) const;
  void Alloc(const Buffer& buffer, int64_t count);
  void ReleaseAll();
  void EndCopiesOut(int op);
  void Execute(int op);
  void Plan(int op, const Tensor& tensor);
  int StartOf(int op, int reader);
  void BringBack(const Record& record);

  Limits limits_;
  std::map<Buffer, Held> memory_;
  std::map<Tensor, int> host_;
  std::map<std::pair<int, Tensor>, Buffer> alias_;  // of a reader
  std::map<int, std::vector<Record>> hung_;         // on an op
  std::map<Tensor, int> latest_;  // of tensors with a count for the copy out
  std::set<int> has_run_;
  int num_copies_ = 0;
  int now_ = -1;
};

}  // namespace spillway::testing

#endif  // SPILLWAY_TESTS_LMS_TFLMS_NAIVE_TFLMS_H_
