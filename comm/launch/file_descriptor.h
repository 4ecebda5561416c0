// FileDescriptor: an open file of the system, closed at the end of its life.
#ifndef SPILLWAY_COMM_LAUNCH_FILE_DESCRIPTOR_H_
#define SPILLWAY_COMM_LAUNCH_FILE_DESCRIPTOR_H_

#include <unistd.h>

#include <utility>

namespace spillway {

class FileDescriptor {
 public:
  FileDescriptor() = default;
  explicit FileDescriptor(int fd) : fd_(fd) {}
  ~FileDescriptor() { Close(); }
  FileDescriptor(FileDescriptor&& other) noexcept
      : fd_(std::exchange(other.fd_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    if (this != &other) {
      Close();
      fd_ = std::exchange(other.fd_, -1);
    }
    return *this;
  }

  // -1: closed
  int fd() const { return fd_; }
  bool is_open() const { return fd_ >= 0; }

  void Close() {
    if (is_open()) close(std::exchange(fd_, -1));
  }

 private:
  int fd_ = -1;
};

}  // namespace spillway

#endif  // SPILLWAY_COMM_LAUNCH_FILE_DESCRIPTOR_H_
