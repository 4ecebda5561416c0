#include "comm/rendezvous/folder_store.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string_view>
#include <thread>
#include <utility>

#include "base/status_macros.h"

namespace spillway {
namespace {

// A folder may be of a network, so it is not asked more often.
constexpr auto kPollInterval = std::chrono::milliseconds(5);

// Of Linux's file systems, 255.
constexpr size_t kMaxNameBytes = 200;

// `text` as the name of a file: other characters as %2F. Distinct texts have
// distinct names, and none begins with a dot.
std::string FileNameOf(std::string_view text) {
  std::string name;
  for (const char c : text) {
    const bool is_plain = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') ||
                          (c >= 'a' && c <= 'z') || c == '-' || c == '_' ||
                          (c == '.' && !name.empty());
    if (is_plain) {
      name += c;
    } else {
      name += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return name;
}

// A file has its length in front, by which a reader knows that it is complete.
std::string EncodeFile(const std::string& value) {
  return fmt::format("{:08x}", value.size()) + value;
}

bool DecodeFile(const std::string& text, std::string& value) {
  if (text.size() < 8 ||
      text.substr(0, 8) != fmt::format("{:08x}", text.size() - 8)) {
    return false;
  }
  value = text.substr(8);
  return true;
}

absl::Status SystemFailure(std::string_view what, const std::string& path,
                           int error) {
  return Unavailable(
      fmt::format("cannot {} {}: {}", what, path, std::strerror(error)));
}

class FolderStore final : public KeyValueStore {
 public:
  explicit FolderStore(std::string folder)
      : folder_(std::move(folder)), name_("the folder " + folder_) {}

  absl::Status Set(const std::string& key, const std::string& value,
                   Deadline /*deadline*/) override {
    const std::string path = PathOf(key);
    const int file = open(path.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC,
                          S_IRUSR | S_IWUSR);
    if (file < 0) {
      if (errno != EEXIST) return SystemFailure("create", path, errno);
      return absl::AlreadyExistsError(path + " exists");
    }
    const std::string text = EncodeFile(value);
    const ssize_t written = write(file, text.data(), text.size());
    const int error = written < 0 ? errno : EIO;
    const bool is_closed = close(file) == 0;
    if (written == static_cast<ssize_t>(text.size()) && is_closed) {
      return absl::OkStatus();
    }
    unlink(path.c_str());
    return SystemFailure("write", path, error);
  }

  absl::StatusOr<std::string> Get(const std::string& key,
                                  Deadline deadline) override {
    const std::string path = PathOf(key);
    while (true) {
      std::ifstream file(path, std::ios::binary);
      const std::string text(std::istreambuf_iterator<char>(file), {});
      std::string value;
      if (DecodeFile(text, value)) return value;
      const auto left = deadline - std::chrono::steady_clock::now();
      if (left <= left.zero()) {
        return absl::DeadlineExceededError(
            fmt::format("{} is not in {}", key, name_));
      }
      std::this_thread::sleep_for(
          std::min<std::chrono::nanoseconds>(kPollInterval, left));
    }
  }

  const std::string& name() const override { return name_; }

 private:
  std::string PathOf(const std::string& key) const {
    return folder_ + "/" + FileNameOf(key);
  }

  const std::string folder_;
  const std::string name_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<KeyValueStore>> OpenFolderStore(
    const std::string& folder, const std::string& run_id) {
  if (run_id.empty()) {
    return InvalidArgument(fmt::format(
        "a rendezvous in the folder {} needs the id of the run, which keeps "
        "files of earlier runs out: set SPILLWAY_RUN_ID",
        folder));
  }
  const std::string name = FileNameOf(run_id);
  if (name.size() > kMaxNameBytes) {
    return InvalidArgument(
        fmt::format("a run id of {} bytes is too long for the name of a folder",
                    run_id.size()));
  }
  struct stat status = {};
  if (stat(folder.c_str(), &status) != 0 || !S_ISDIR(status.st_mode)) {
    return InvalidArgument(
        fmt::format("the rendezvous folder {} does not exist", folder));
  }
  const std::string path = folder + "/" + name;
  if (mkdir(path.c_str(), S_IRWXU) != 0 && errno != EEXIST) {
    return SystemFailure("create the folder", path, errno);
  }
  return std::make_unique<FolderStore>(path);
}

}  // namespace spillway
