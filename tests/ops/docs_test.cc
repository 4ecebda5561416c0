// docs/ops.md has one row for each op, which matches its schema.
#include <fmt/format.h>

#include <string>
#include <vector>

#include "base/file.h"
#include "ops/all_ops.h"
#include "tests/support/paths.h"
#include "tests/support/status_matchers.h"

namespace spillway {
namespace {

using ::testing::HasSubstr;

std::string Listed(const std::vector<std::string>& names) {
  if (names.empty()) return "-";
  return fmt::format("{}", fmt::join(names, ", "));
}

// "| `Concat` | x... | axis | y |"; "| `Apply` | (variable, gradient)..., rate"
std::string RowOf(const OpDef& def) {
  std::vector<std::string> inputs = def.inputs;
  for (int i = 0; i < def.optional_inputs; ++i) {
    std::string& name = inputs[inputs.size() - 1 - static_cast<size_t>(i)];
    name = fmt::format("[{}]", name);
  }
  if (def.variadic) inputs.back() += "...";
  if (def.group_inputs > 0) {
    inputs.front().insert(0, "(");
    inputs[static_cast<size_t>(def.group_inputs) - 1] += ")...";
  }
  return fmt::format("\n| `{}` | {} | {} | {} | ", def.name, Listed(inputs),
                     Listed(def.attributes), Listed(def.outputs));
}

TEST(OpsDocument, HasTheRowOfEveryOp) {
  ASSERT_OK_AND_ASSIGN(const std::string text,
                       ReadFile(testing::SourcePath("docs/ops.md")));
  size_t rows = 0;
  for (const auto& [name, def] : StandardOps().ops()) {
    EXPECT_THAT(text, HasSubstr(RowOf(def)));
    ++rows;
  }
  size_t written = 0;
  for (size_t at = text.find("\n| `"); at != std::string::npos;
       at = text.find("\n| `", at + 1)) {
    ++written;
  }
  EXPECT_EQ(written, rows) << "rows of ops that do not exist";
}

}  // namespace
}  // namespace spillway
