#include "training/data/decode_png.h"

#include <fmt/format.h>
#include <png.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/status_macros.h"
#include "training/data/decode_image.h"
#include "training/data/error_jump.h"

namespace spillway {
namespace {

// Decodes one file. libpng's calls run in RunWithJump, and it calls Fail,
// TakeBytes, Allocate and Free.
class PngReader {
 public:
  PngReader(std::string_view bytes, int64_t max_pixels)
      : rest_(bytes), max_pixels_(max_pixels) {}
  ~PngReader() { png_destroy_read_struct(&png_, &info_, nullptr); }
  PngReader(const PngReader&) = delete;
  PngReader& operator=(const PngReader&) = delete;

  absl::StatusOr<RgbImage> Run() {
    if (!ReadHeader()) return Error();
    const int64_t height = png_get_image_height(png_, info_);
    const int64_t width = png_get_image_width(png_, info_);
    SPILLWAY_RETURN_IF_ERROR(CheckImageSize(height, width, max_pixels_));
    RgbImage image = BlackImage(height, width);
    if (!ReadRows(image)) return Error();
    return image;
  }

 private:
  [[noreturn]] static void Fail(png_structp png, png_const_charp message) {
    auto& jump = static_cast<PngReader*>(png_get_error_ptr(png))->jump_;
    std::snprintf(jump.message.data(), jump.message.size(), "%s", message);
    std::longjmp(jump.where, 1);
  }

  // Warnings concern chunks that do not matter here, such as colour profiles.
  static void Ignore(png_structp, png_const_charp) {}

  static png_voidp Allocate(png_structp png, png_alloc_size_t bytes) {
    void* const memory = std::malloc(bytes);
    if (memory == nullptr) {
      static_cast<PngReader*>(png_get_mem_ptr(png))->has_no_memory_ = true;
    }
    return memory;
  }

  static void Free(png_structp, png_voidp memory) { std::free(memory); }

  static void TakeBytes(png_structp png, png_bytep to, size_t count) {
    std::string_view& rest =
        static_cast<PngReader*>(png_get_io_ptr(png))->rest_;
    if (count > rest.size()) png_error(png, "the file ends early");
    std::memcpy(to, rest.data(), count);
    rest.remove_prefix(count);
  }

  bool ReadHeader() {
    return RunWithJump(
               jump_,
               [this] {
                 png_ = png_create_read_struct_2(PNG_LIBPNG_VER_STRING, this,
                                                 &Fail, &Ignore, this,
                                                 &Allocate, &Free);
                 if (png_ != nullptr) info_ = png_create_info_struct(png_);
                 if (info_ == nullptr) return;
                 png_set_read_fn(png_, this, &TakeBytes);
                 // CheckImageSize judges the size, not libpng's limit
                 // for each side.
                 png_set_user_limits(png_, PNG_UINT_31_MAX, PNG_UINT_31_MAX);
                 png_read_info(png_, info_);
               }) &&
           info_ != nullptr;
  }

  bool ReadRows(RgbImage& image) {
    return RunWithJump(jump_, [&] {
      png_set_expand(png_);  // palettes, fewer than 8 bits, tRNS
      png_set_scale_16(png_);
      png_set_strip_alpha(png_);
      png_set_gray_to_rgb(png_);
      const int passes = png_set_interlace_handling(png_);
      png_read_update_info(png_, info_);
      if (png_get_rowbytes(png_, info_) !=
          static_cast<size_t>(image.row_bytes())) {
        png_error(png_, "the pixels cannot be converted to RGB");
      }
      for (int pass = 0; pass < passes; ++pass) {
        for (int64_t y = 0; y < image.height; ++y) {
          png_read_row(png_, image.row(y), nullptr);
        }
      }
      png_read_end(png_, nullptr);
    });
  }

  absl::Status Error() const {
    if (has_no_memory_) {
      return ResourceExhausted("libpng has run out of memory");
    }
    if (info_ == nullptr) return Internal("libpng cannot be initialised");
    return InvalidArgument(
        fmt::format("damaged PNG image: {}", jump_.message.data()));
  }

  std::string_view rest_;
  int64_t max_pixels_;
  ErrorJump jump_;
  bool has_no_memory_ = false;
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
};

}  // namespace

bool IsPng(std::string_view bytes) {
  return bytes.starts_with("\x89PNG\r\n\x1a\n");
}

absl::StatusOr<RgbImage> DecodePng(std::string_view bytes, int64_t max_pixels) {
  return PngReader(bytes, max_pixels).Run();
}

}  // namespace spillway
