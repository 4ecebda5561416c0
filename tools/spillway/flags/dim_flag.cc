#include "tools/spillway/flags/dim_flag.h"

#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "fmt/format.h"

namespace spillway {
namespace {

std::map<std::string, int64_t> ParseDims(const std::string& name,
                                         const std::string& text) {
  std::map<std::string, int64_t> dims;
  const std::vector<std::string> items = absl::StrSplit(text, ',');
  for (const std::string& item : items) {
    const size_t equals = item.rfind('=');
    int64_t value = 0;
    if (equals == std::string::npos || equals == 0 ||
        !absl::SimpleAtoi(item.substr(equals + 1), &value) || value < 1) {
      RefuseFlag(name,
                 fmt::format("\"{}\" is not NAME=N with a positive N", item));
    }
    const std::string dim = item.substr(0, equals);
    if (!dims.emplace(dim, value).second) {
      RefuseFlag(name, fmt::format("{} is given twice", dim));
    }
  }
  return dims;
}

}  // namespace

CLI::Option* AddDimFlag(FlagSet& flags, std::map<std::string, int64_t>& dims) {
  return flags.Add("--dim", dims, ParseDims)
      ->type_name("NAME=N,...")
      ->description("values of the model's symbolic dimensions");
}

}  // namespace spillway
