#include "training/data/gzip.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <limits>

#include "base/status_macros.h"

namespace spillway {
namespace {

constexpr size_t kChunkBytes = size_t{1} << 18;
constexpr int kGzipWindow = 15 + 16;  // largest window, gzip header and trailer

// Decompresses members in order. zlib counts in 32 bits, so it gets the input
// in pieces.
class Inflater {
 public:
  Inflater(std::string_view bytes, std::string_view source, int64_t max_bytes)
      : bytes_(bytes), source_(source), max_bytes_(max_bytes) {}
  ~Inflater() { inflateEnd(&stream_); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  absl::StatusOr<std::string> Run() {
    if (inflateInit2(&stream_, kGzipWindow) != Z_OK) {
      return Internal("zlib cannot be initialised");
    }
    while (true) {
      SPILLWAY_ASSIGN_OR_RETURN(const bool member_ended, Step());
      if (!member_ended) continue;
      if (offset() == bytes_.size()) return std::move(output_);
      inflateReset(&stream_);  // another member
    }
  }

 private:
  // Bytes of input used so far.
  size_t offset() const { return handed_over_ - stream_.avail_in; }

  absl::StatusOr<bool> Step() {
    if (stream_.avail_in == 0) HandOver();
    const size_t old_size = output_.size();
    output_.resize(old_size + kChunkBytes);
    stream_.next_out = reinterpret_cast<Bytef*>(output_.data() + old_size);
    stream_.avail_out = kChunkBytes;
    const int result = inflate(&stream_, Z_NO_FLUSH);
    output_.resize(output_.size() - stream_.avail_out);
    if (static_cast<int64_t>(output_.size()) > max_bytes_) {
      return Error(
          fmt::format("decompresses to more than {} bytes", max_bytes_));
    }
    if (result == Z_STREAM_END) return true;
    if (result == Z_OK) return false;
    if (result == Z_BUF_ERROR) return Error("the gzip data ends early");
    return Error(stream_.msg != nullptr ? stream_.msg : "damaged gzip data");
  }

  void HandOver() {
    const size_t piece = std::min<size_t>(bytes_.size() - handed_over_,
                                          std::numeric_limits<uInt>::max());
    // zlib does not write through next_in.
    stream_.next_in = const_cast<Bytef*>(
        reinterpret_cast<const Bytef*>(bytes_.data() + handed_over_));
    stream_.avail_in = static_cast<uInt>(piece);
    handed_over_ += piece;
  }

  absl::Status Error(std::string_view what) const {
    return InvalidArgument(
        fmt::format("{}: at byte {}: {}", source_, offset(), what));
  }

  std::string_view bytes_;
  std::string_view source_;
  int64_t max_bytes_;
  z_stream stream_ = {};
  size_t handed_over_ = 0;
  std::string output_;
};

}  // namespace

bool IsGzip(std::string_view bytes) { return bytes.starts_with("\x1f\x8b"); }

absl::StatusOr<std::string> Gunzip(std::string_view bytes,
                                   std::string_view source, int64_t max_bytes) {
  return Inflater(bytes, source, max_bytes).Run();
}

}  // namespace spillway
