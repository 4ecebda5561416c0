#include "onnx_model/file/external_data.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/status_macros.h"

namespace spillway::onnx_model {
namespace {

namespace fs = std::filesystem;

bool IsClean(const std::string& location) {
  if (location.empty() || location.find('\0') != std::string::npos ||
      location.find('\\') != std::string::npos || location.front() == '/' ||
      location.back() == '/') {
    return false;
  }
  size_t begin = 0;
  while (begin <= location.size()) {
    const size_t end = std::min(location.find('/', begin), location.size());
    const std::string part = location.substr(begin, end - begin);
    if (part.empty() || part == "." || part == "..") return false;
    begin = end + 1;
  }
  return true;
}

bool IsInside(const fs::path& file, const fs::path& folder) {
  const auto [rest, end] =
      std::mismatch(folder.begin(), folder.end(), file.begin(), file.end());
  return rest == folder.end();
}

// The real path of the file, if it may be read.
absl::StatusOr<std::string> FindFile(const ExternalData& data,
                                     const std::string& model_path) {
  if (!IsClean(data.location)) {
    return InvalidArgument(fmt::format(
        "'{}' is not a file within the model's folder", data.location));
  }
  fs::path folder = fs::path(model_path).parent_path();
  if (folder.empty()) folder = ".";
  std::error_code error;
  const fs::path file = fs::canonical(folder / data.location, error);
  if (error) {
    return InvalidArgument(
        fmt::format("file {}: {}", data.location, error.message()));
  }
  const fs::path real_folder = fs::canonical(folder, error);
  const fs::path model = fs::canonical(model_path, error);
  if (error) return InvalidArgument(error.message());
  if (!IsInside(file, real_folder) && !IsInside(file, model.parent_path())) {
    return InvalidArgument(
        fmt::format("file {} is a link to a place outside the model's folder",
                    data.location));
  }
  return file.string();
}

class OpenFile {
 public:
  explicit OpenFile(const std::string& path)
      : descriptor_(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW)) {}
  ~OpenFile() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  int descriptor() const { return descriptor_; }

 private:
  int descriptor_;
};

// The file's size; INVALID_ARGUMENT if it is no regular file.
absl::StatusOr<int64_t> SizeOfFile(const OpenFile& file) {
  struct stat facts = {};
  if (file.descriptor() < 0 || fstat(file.descriptor(), &facts) != 0) {
    return InvalidArgument(std::strerror(errno));
  }
  if (!S_ISREG(facts.st_mode)) return InvalidArgument("is not a regular file");
  return static_cast<int64_t>(facts.st_size);
}

absl::Status CheckPlace(const ExternalData& data, int64_t file_bytes,
                        int64_t expected_bytes) {
  if (data.offset < 0 || data.offset > file_bytes) {
    return InvalidArgument(fmt::format("has {} bytes, offset {} is outside",
                                       file_bytes, data.offset));
  }
  const int64_t there = file_bytes - data.offset;
  const int64_t length = data.length.value_or(expected_bytes);
  if (length != expected_bytes) {
    return InvalidArgument(
        fmt::format("length {} where the dimensions need {} bytes", length,
                    expected_bytes));
  }
  if (length > there) {
    return InvalidArgument(
        fmt::format("has {} bytes at offset {}, the dimensions need {}", there,
                    data.offset, expected_bytes));
  }
  return absl::OkStatus();
}

absl::Status ReadAt(const OpenFile& file, int64_t offset, std::string& bytes) {
  size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t got =
        pread(file.descriptor(), bytes.data() + done, bytes.size() - done,
              static_cast<off_t>(offset) + static_cast<off_t>(done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) {
      return InvalidArgument(got < 0 ? std::strerror(errno) : "is cut short");
    }
    done += static_cast<size_t>(got);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::string> ReadExternalData(const ExternalData& data,
                                             const std::string& model_path,
                                             int64_t expected_bytes) {
  SPILLWAY_ASSIGN_OR_RETURN(const std::string path, FindFile(data, model_path));
  const std::string name = fmt::format("file {}", data.location);
  const OpenFile file(path);
  const absl::StatusOr<int64_t> file_bytes = SizeOfFile(file);
  if (!file_bytes.ok()) return Annotate(file_bytes.status(), name);
  SPILLWAY_RETURN_IF_ERROR(
      Annotate(CheckPlace(data, *file_bytes, expected_bytes), name));
  std::string bytes(static_cast<size_t>(expected_bytes), '\0');
  SPILLWAY_RETURN_IF_ERROR(Annotate(ReadAt(file, data.offset, bytes), name));
  return bytes;
}

}  // namespace spillway::onnx_model
