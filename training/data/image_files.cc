#include "training/data/image_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <optional>
#include <string_view>
#include <utility>

#include "base/counted.h"
#include "base/log.h"
#include "base/random.h"
#include "base/status_macros.h"

namespace spillway {
namespace {

namespace fs = std::filesystem;

absl::Status FolderError(const std::string& folder,
                         const std::error_code& error) {
  const std::string message = fmt::format("'{}': {}", folder, error.message());
  if (error == std::errc::permission_denied) {
    return absl::PermissionDeniedError(message);
  }
  if (error == std::errc::no_such_file_or_directory) return NotFound(message);
  return InvalidArgument(message);
}

// The names in a folder that do not begin with a dot, sorted.
absl::StatusOr<std::vector<std::string>> VisibleNames(
    const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  fs::directory_iterator entries(folder, error);
  while (!error && entries != fs::directory_iterator()) {
    std::string name = entries->path().filename().string();
    if (!name.starts_with('.')) names.push_back(std::move(name));
    entries.increment(error);
  }
  if (error) return FolderError(folder, error);
  std::ranges::sort(names);
  return names;
}

std::string PathIn(const std::string& folder, std::string_view name) {
  return (fs::path(folder) / name).string();
}

bool IsFolder(const std::string& path) {
  std::error_code error;
  return fs::is_directory(path, error);
}

bool IsImageFile(const std::string& path) {
  std::string ending = fs::path(path).extension().string();
  for (char& c : ending) {
    c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  std::error_code error;
  return (ending == ".jpg" || ending == ".jpeg" || ending == ".png") &&
         fs::is_regular_file(path, error);
}

// Refuses an entry of a folder, or leaves it out with a warning.
absl::Status LeaveOut(const std::string& path, const char* expected,
                      const ListImagesOptions& options) {
  if (options.skip_other_files) {
    spdlog::warn("'{}' is left out: it is not {}", path, expected);
    return absl::OkStatus();
  }
  return InvalidArgument(fmt::format(
      "'{}' is not {}; remove it, or set skip_other_files", path, expected));
}

absl::StatusOr<std::vector<std::string>> ClassNames(
    const std::string& folder, const ListImagesOptions& options) {
  SPILLWAY_ASSIGN_OR_RETURN(const std::vector<std::string> names,
                            VisibleNames(folder));
  std::vector<std::string> class_names;
  for (const std::string& name : names) {
    const std::string path = PathIn(folder, name);
    if (IsFolder(path)) {
      class_names.push_back(name);
      continue;
    }
    SPILLWAY_RETURN_IF_ERROR(
        LeaveOut(path, "a folder with the images of a class", options));
  }
  if (!class_names.empty()) return class_names;
  return InvalidArgument(fmt::format(
      "'{}' has no folder; each class needs a folder with its images", folder));
}

absl::StatusOr<std::vector<ImageFile>> FilesOfClass(
    const std::string& folder, const std::string& class_name, int32_t label,
    const ListImagesOptions& options) {
  const std::string class_folder = PathIn(folder, class_name);
  SPILLWAY_ASSIGN_OR_RETURN(const std::vector<std::string> names,
                            VisibleNames(class_folder));
  std::vector<ImageFile> files;
  for (const std::string& name : names) {
    const std::string path = PathIn(class_folder, name);
    if (IsImageFile(path)) {
      files.push_back(
          {.name = fmt::format("{}/{}", class_name, name), .label = label});
      continue;
    }
    SPILLWAY_RETURN_IF_ERROR(
        LeaveOut(path, "a file .jpg, .jpeg or .png", options));
  }
  return files;
}

// The images of the classes `class_names` in `folder`. `labels` are all
// classes, sorted.
absl::StatusOr<ImageFiles> ListClasses(
    const std::string& folder, const std::vector<std::string>& class_names,
    std::vector<std::string> labels, const ListImagesOptions& options) {
  ImageFiles all = {.folder = folder, .class_names = std::move(labels)};
  for (const std::string& class_name : class_names) {
    const auto found = std::ranges::lower_bound(all.class_names, class_name);
    if (found == all.class_names.end() || *found != class_name) {
      return InvalidArgument(
          fmt::format("'{}' has the class '{}', which the training images lack",
                      folder, class_name));
    }
    SPILLWAY_ASSIGN_OR_RETURN(
        std::vector<ImageFile> files,
        FilesOfClass(folder, class_name,
                     static_cast<int32_t>(found - all.class_names.begin()),
                     options));
    if (files.empty()) {
      return InvalidArgument(fmt::format(
          "'{}' has no image; remove the folder, or add images of the class",
          PathIn(folder, class_name)));
    }
    std::ranges::move(files, std::back_inserter(all.files));
  }
  return all;
}

// The folder of a split in the first layout; "" if there is none.
std::string FolderOf(const std::string& folder, Split split) {
  using Names = std::vector<const char*>;
  for (const char* name :
       split == Split::kTrain ? Names{"train"} : Names{"val", "test"}) {
    std::string path = PathIn(folder, name);
    if (IsFolder(path)) return path;
  }
  return "";
}

bool IsOfTestSplit(const ImageFile& file, int64_t test_one_in) {
  // FNV-1a's low bits alone are not random.
  const uint64_t hash = MixKeys(HashName(file.name), 0);
  return hash % static_cast<uint64_t>(test_one_in) == 0;
}

// The first layout.
absl::StatusOr<ImageFiles> ListSplit(const std::string& folder, Split split,
                                     const ListImagesOptions& options) {
  const std::string train = FolderOf(folder, Split::kTrain);
  const std::string wanted = FolderOf(folder, split);
  if (wanted.empty()) {
    return NotFound(fmt::format(
        "'{}' has a folder for one split, but {}", folder,
        split == Split::kTrain ? "no folder 'train'"
                               : "neither a folder 'val' nor 'test'"));
  }
  SPILLWAY_ASSIGN_OR_RETURN(const std::vector<std::string> class_names,
                            ClassNames(wanted, options));
  if (train.empty() || train == wanted) {
    return ListClasses(wanted, class_names, class_names, options);
  }
  SPILLWAY_ASSIGN_OR_RETURN(std::vector<std::string> labels,
                            ClassNames(train, options));
  return ListClasses(wanted, class_names, std::move(labels), options);
}

// The second layout.
absl::StatusOr<ImageFiles> ListByHash(const std::string& folder, Split split,
                                      const ListImagesOptions& options) {
  SPILLWAY_ASSIGN_OR_RETURN(const std::vector<std::string> class_names,
                            ClassNames(folder, options));
  SPILLWAY_ASSIGN_OR_RETURN(
      ImageFiles all, ListClasses(folder, class_names, class_names, options));
  std::erase_if(all.files, [&](const ImageFile& file) {
    const bool is_test = IsOfTestSplit(file, options.test_one_in);
    return is_test != (split == Split::kTest);
  });
  return all;
}

}  // namespace

absl::StatusOr<ImageFiles> ListImageFiles(const std::string& folder,
                                          Split split,
                                          const ListImagesOptions& options) {
  if (options.test_one_in < 2) {
    return InvalidArgument(fmt::format(
        "test_one_in is {}, but must be 2 or more", options.test_one_in));
  }
  const bool has_splits = !FolderOf(folder, Split::kTrain).empty() ||
                          !FolderOf(folder, Split::kTest).empty();
  SPILLWAY_ASSIGN_OR_RETURN(ImageFiles all,
                            has_splits ? ListSplit(folder, split, options)
                                       : ListByHash(folder, split, options));
  if (!all.files.empty()) return all;
  return InvalidArgument(fmt::format(
      "none of the images in the {} of '{}' belongs to the {} split; add "
      "images, or make the folders train and val",
      Counted(all.class_names.size(), "class", "classes"), folder,
      split == Split::kTrain ? "training" : "test"));
}

}  // namespace spillway
