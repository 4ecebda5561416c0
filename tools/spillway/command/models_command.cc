#include "tools/spillway/command/models_command.h"

#include <cstdint>
#include <string>
#include <vector>

#include "base/status_macros.h"
#include "fmt/format.h"
#include "models/zoo.h"
#include "tools/spillway/model_graph.h"

namespace spillway {
namespace {

struct Row {
  ModelSpec spec = {};
  int64_t parameters = 0;
};

absl::StatusOr<std::vector<Row>> CountZoo() {
  std::vector<Row> rows;
  for (const ModelSpec& spec : Zoo()) {
    SPILLWAY_ASSIGN_OR_RETURN(
        const StepGraph step,
        BuildEvaluationGraph(
            {.model = std::string(spec.name), .options = {.batch_size = 1}}));
    rows.push_back({.spec = spec, .parameters = CountParameters(step.graph)});
  }
  return rows;
}

std::string FormatTable(const std::vector<Row>& rows) {
  std::string text = fmt::format("{:<16}{:>8}{:>14}{:>9}{:>13}\n", "model",
                                 "batch", "image", "classes", "parameters");
  for (const auto& [spec, parameters] : rows) {
    const std::string image =
        spec.reads_tokens
            ? fmt::format("{} tokens", spec.default_image_size)
            : fmt::format("{}x{}x{}", spec.default_image_size,
                          spec.default_image_size, spec.default_channels);
    text += fmt::format("{:<16}{:>8}{:>14}{:>9}{:>13}\n",
                        std::string(spec.name), spec.default_batch_size, image,
                        spec.default_num_classes, parameters);
  }
  return text;
}

Json ToJson(const std::vector<Row>& rows) {
  Json models = Json::array();
  for (const auto& [spec, parameters] : rows) {
    models.push_back({{"name", std::string(spec.name)},
                      {"batch_size", spec.default_batch_size},
                      {"image_size", spec.default_image_size},
                      {"channels", spec.default_channels},
                      {"num_classes", spec.default_num_classes},
                      {"parameters", parameters}});
  }
  return {{"models", models}};
}

}  // namespace

void AddModelsFlags(FlagSet& set, ModelsFlags& flags) {
  AddResultFlags(set, flags.result);
}

absl::Status RunModels(const ModelsFlags& flags) {
  Outputs outputs(flags.result, {});
  SPILLWAY_RETURN_IF_ERROR(outputs.Check());
  SPILLWAY_ASSIGN_OR_RETURN(const std::vector<Row> rows, CountZoo());
  outputs.Print(FormatTable(rows));
  outputs.WriteJson(ToJson(rows));
  return outputs.Finish();
}

}  // namespace spillway
