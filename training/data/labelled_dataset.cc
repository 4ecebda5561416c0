#include "training/data/labelled_dataset.h"

#include <fmt/format.h>

#include <filesystem>
#include <system_error>

#include "base/status_macros.h"

namespace spillway {

absl::StatusOr<std::string> FindSplitFile(const std::string& folder,
                                          Split split,
                                          std::string_view ending) {
  const std::string name =
      fmt::format("{}.{}", split == Split::kTrain ? "train" : "test", ending);
  const std::string path = (std::filesystem::path(folder) / name).string();
  std::error_code error;
  if (std::filesystem::exists(path, error)) return path;
  return NotFound(fmt::format(
      "'{}' has no {}; the data directory must hold train.{} and test.{}",
      folder, name, ending, ending));
}

}  // namespace spillway
