#include "base/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>

#include "base/status_macros.h"
#include "fmt/format.h"

namespace spillway {
namespace {

// The Status of a failed system call: `error` is its errno.
absl::Status SystemError(int error, std::string_view doing,
                         const std::string& path) {
  const std::string message = fmt::format(
      "cannot {} {}: {}", doing, path, std::generic_category().message(error));
  switch (error) {
    case ENOENT:
    case ENOTDIR:
      return NotFound(message);
    case EACCES:
    case EPERM:
    case EROFS:
      return absl::Status(absl::StatusCode::kPermissionDenied, message);
    case EISDIR:
    case ENAMETOOLONG:
      return InvalidArgument(message);
    default:
      return Internal(message);
  }
}

// An open file, closed at the end of its scope.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (is_open()) close(fd_);
  }

  bool is_open() const { return fd_ >= 0; }
  int fd() const { return fd_; }
  // The system may report a failed write only here. Returns its errno.
  int Close() { return close(std::exchange(fd_, -1)) == 0 ? 0 : errno; }

 private:
  int fd_;
};

// Repeats `call` until no signal interrupts it; -1 and errno on failure.
template <typename Call>
auto Uninterrupted(Call call) {
  while (true) {
    const auto result = call();
    if (result >= 0 || errno != EINTR) return result;
  }
}

// Returns 0 or the errno of the write that failed.
int WriteAll(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written =
        Uninterrupted([&] { return write(fd, bytes.data(), bytes.size()); });
    if (written < 0) return errno;
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return 0;
}

int WritePieces(int fd, std::span<const std::string_view> pieces) {
  for (const std::string_view piece : pieces) {
    if (const int error = WriteAll(fd, piece); error != 0) return error;
  }
  return 0;
}

// A pipe, a terminal or another device: there is no file to replace.
absl::Status WriteInPlace(const std::string& path,
                          std::span<const std::string_view> pieces) {
  Descriptor file(Uninterrupted([&] {  // a named pipe waits for its reader
    return open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  }));
  if (!file.is_open()) return SystemError(errno, "write", path);
  int error = WritePieces(file.fd(), pieces);
  if (error == 0) error = file.Close();
  return error == 0 ? absl::OkStatus() : SystemError(error, "write", path);
}

// Creates a file with an unused name in `folder`; -1 and errno on failure.
int CreateBeside(const std::string& folder, std::string& path) {
  constexpr mode_t kMode = 0666;  // less the user's mask
  for (int attempt = 0; attempt < 1000; ++attempt) {
    path = fmt::format("{}.spillway-{}-{}.tmp", folder, getpid(), attempt);
    const int fd =
        open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kMode);
    if (fd >= 0 || errno != EEXIST) return fd;
  }
  return -1;
}

// Returns 0 or the errno of the step that failed; the temporary file is then
// removed. `mode`: the permissions of the file to replace, if it exists.
int WriteBesideAndRename(const std::string& path, std::optional<mode_t> mode,
                         std::span<const std::string_view> pieces) {
  const std::string folder = path.substr(0, path.rfind('/') + 1);
  std::string temporary;
  Descriptor file(CreateBeside(folder, temporary));
  if (!file.is_open()) return errno;
  int error = WritePieces(file.fd(), pieces);
  if (error == 0 && mode && fchmod(file.fd(), *mode) != 0) error = errno;
  const auto sync = [&] { return fsync(file.fd()); };
  if (error == 0 && Uninterrupted(sync) != 0) error = errno;
  if (const int close_error = file.Close(); error == 0) error = close_error;
  if (error == 0 && rename(temporary.c_str(), path.c_str()) != 0) error = errno;
  if (error != 0) unlink(temporary.c_str());
  return error;
}

// The file behind a chain of symbolic links, so that the link survives.
std::string FollowLinks(const std::string& path) {
  const std::unique_ptr<char, decltype(&std::free)> real(
      realpath(path.c_str(), nullptr), &std::free);
  return real ? std::string(real.get()) : path;
}

// These name an open stream, even if a shell redirected it to a regular file.
bool NamesOpenStream(const std::string& path) {
  return path == "/dev/stdout" || path == "/dev/stderr" ||
         path.starts_with("/dev/fd/") || path.starts_with("/proc/self/fd/");
}

}  // namespace

absl::StatusOr<std::string> ReadFile(const std::string& path) {
  const Descriptor file(
      Uninterrupted([&] { return open(path.c_str(), O_RDONLY | O_CLOEXEC); }));
  if (!file.is_open()) return SystemError(errno, "read", path);
  std::string content;
  std::array<char, 1 << 16> buffer;
  while (true) {
    const ssize_t size = Uninterrupted(
        [&] { return read(file.fd(), buffer.data(), buffer.size()); });
    if (size < 0) return SystemError(errno, "read", path);
    if (size == 0) return content;
    content.append(buffer.data(), static_cast<size_t>(size));
  }
}

absl::Status WriteFileAtomically(const std::string& path,
                                 std::span<const std::string_view> pieces) {
  if (NamesOpenStream(path)) return WriteInPlace(path, pieces);
  struct stat target = {};
  if (stat(path.c_str(), &target) != 0) {
    if (errno != ENOENT) return SystemError(errno, "write", path);
    const int error = WriteBesideAndRename(path, std::nullopt, pieces);
    return error == 0 ? absl::OkStatus() : SystemError(error, "write", path);
  }
  if (S_ISDIR(target.st_mode)) return SystemError(EISDIR, "write", path);
  if (!S_ISREG(target.st_mode)) return WriteInPlace(path, pieces);
  if (faccessat(AT_FDCWD, path.c_str(), W_OK, AT_EACCESS) != 0) {
    return SystemError(errno, "write", path);
  }
  const int error =
      WriteBesideAndRename(FollowLinks(path), target.st_mode & 0777, pieces);
  return error == 0 ? absl::OkStatus() : SystemError(error, "write", path);
}

absl::Status WriteFileAtomically(const std::string& path,
                                 std::string_view content) {
  return WriteFileAtomically(path, std::span(&content, 1));
}

}  // namespace spillway
