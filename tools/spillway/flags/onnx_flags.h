// Flags for a model in an ONNX file, where one of the zoo can stand too.
#ifndef SPILLWAY_TOOLS_SPILLWAY_FLAGS_ONNX_FLAGS_H_
#define SPILLWAY_TOOLS_SPILLWAY_FLAGS_ONNX_FLAGS_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "onnx_model/import.h"
#include "tools/spillway/flags/flags.h"

namespace spillway {

struct OnnxFlags {
  std::string file = {};  // empty: no such model
  std::map<std::string, int64_t> dims = {};
  std::string loss = "sparse_softmax_cross_entropy";
  std::string output = {};  // empty: the model's first
  std::vector<std::string> freeze = {};
  std::vector<std::string> train_only = {};
  std::string batch_norm = "train";
  std::string dropout = "on";
  bool plan_only = false;

  bool is_given() const { return !file.empty(); }
};

// Adds --onnx and what goes with it. Returns the option --onnx.
CLI::Option* AddOnnxFlags(FlagSet& flags, OnnxFlags& onnx);

// --plan_only, for commands that run nothing.
void AddPlanOnlyFlag(FlagSet& flags, OnnxFlags& onnx);

// --dim NAME=N,...
CLI::Option* AddDimFlag(FlagSet& flags, std::map<std::string, int64_t>& dims);

// What the flags mean for a training step, or for a forward phase after
// training, which has no loss.
OnnxImportOptions ImportOptionsOf(const OnnxFlags& flags, bool is_training);

// Logs what a user should know of a training (OnnxNetwork::notes).
void LogNotes(const std::vector<std::string>& notes);

}  // namespace spillway

#endif  // SPILLWAY_TOOLS_SPILLWAY_FLAGS_ONNX_FLAGS_H_
