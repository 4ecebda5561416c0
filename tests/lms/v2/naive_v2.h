// A second, slow implementation of the editing of TFLMS version 2: directly
// from its description, over sets and loops, sharing nothing with lms/. Compat
// mode.
#ifndef SPILLWAY_TESTS_LMS_V2_NAIVE_V2_H_
#define SPILLWAY_TESTS_LMS_V2_NAIVE_V2_H_

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "graph/graph.h"
#include "lms/options.h"

namespace spillway::testing {

struct NaiveOp {
  std::string name;
  std::string type;
  bool on_cpu = false;
  bool batch_norm_trains = true;
  bool trainable = false;                        // a variable
  std::vector<std::pair<int, int>> inputs = {};  // op, output
  std::set<int> controls = {};
  std::vector<int> ranks = {};  // of outputs
  std::vector<int64_t> bytes = {};
};

// Where any candidate is valid: returns one of them for the given swap-in.
using NaiveChoice =
    std::function<int(int swap_in, const std::set<int>& candidates)>;

class NaiveV2 {
 public:
  NaiveV2(const Graph& graph, LmsOptions options, NaiveChoice choose);

  // The ops of the edited graph, old ones first.
  std::vector<NaiveOp> Run();

  int cycles_refused() const { return cycles_refused_; }

 protected:
  // Finds the levels and the active ops before any swap.
  void Prepare();
  std::set<int> Producers(int op) const;
  std::set<int> Consumers(int op) const;
  std::set<int> ControlOutputs(int op) const;
  std::set<int> OnGpu(const std::set<int>& ops) const;
  std::set<int> FindInactive() const;
  std::set<int> FilterOps(const std::vector<std::string>& scopes,
                          const std::vector<std::string>& types) const;
  std::map<int, int> FindLevels() const;
  int Level(int op) const;
  std::set<int> OpsOfLevel(int level) const;
  bool Reaches(int from, int to, bool with_controls) const;
  bool HasPath(int from, int to) const;
  void AddControl(int before, int after);
  void Serialize();
  std::set<int> ChosenLevels() const;
  void InsertSwaps(int source);
  int AddCopy(const std::string& name, std::pair<int, int> input);
  std::vector<std::set<int>> GroupBy(const std::set<int>& ops) const;
  std::set<int> FindControls(int source, int reader, int ahead) const;
  void SearchControl(int source, int swap_in, int reader);
  void SyncIn(int host);
  void SyncOut(int host);

  LmsOptions options_;
  NaiveChoice choose_;
  std::vector<NaiveOp> ops_;
  std::set<int> inactive_;
  std::map<int, int> levels_;
  int num_levels_ = 0;
  std::set<int> sources_;
  std::set<int> readers_;
  struct SwapIn {
    int source;
    int swap_in;
    int reader;
  };
  std::vector<SwapIn> swap_ins_;
  int cycles_refused_ = 0;
};

}  // namespace spillway::testing

#endif  // SPILLWAY_TESTS_LMS_V2_NAIVE_V2_H_
