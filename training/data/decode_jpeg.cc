#include "training/data/decode_jpeg.h"

#include <fmt/format.h>

#include <cstddef>
#include <cstdio>  // jpeglib.h needs it

// jpeglib.h does not include what it needs, and jerror.h comes after it.
// clang-format off
#include <jpeglib.h>
#include <jerror.h>
// clang-format on

#include <vector>

#include "base/status_macros.h"
#include "training/data/decode_image.h"
#include "training/data/error_jump.h"

namespace spillway {
namespace {

static_assert(JMSG_LENGTH_MAX <= sizeof(ErrorJump::message));

constexpr int kMaxScans = 100;  // encoders write about ten
constexpr int64_t kCmykChannels = 4;

// Whether pixels are missing or guessed after libjpeg's warning. The others
// (bytes between segments, unknown colour transforms) lose nothing.
bool LosesPixels(int warning) {
  switch (warning) {
    case JWRN_ARITH_BAD_CODE:
    case JWRN_BOGUS_PROGRESSION:
    case JWRN_HIT_MARKER:
    case JWRN_HUFF_BAD_CODE:
    case JWRN_JPEG_EOF:
    case JWRN_MUST_RESYNC:
      return true;
    default:
      return false;
  }
}

// a * b / 255, rounded, for values of 0 to 255.
uint8_t MultiplyBytes(int a, int b) {
  return static_cast<uint8_t>((a * b + 127) / 255);
}

// `inverted`: 0 is full ink, as Adobe's programs write it.
void CmykToRgb(const uint8_t* cmyk, int64_t width, bool inverted,
               uint8_t* rgb) {
  const int flip = inverted ? 0 : 255;  // 255 - value == 255 ^ value
  for (int64_t x = 0; x < width; ++x) {
    const int black = cmyk[kCmykChannels * x + 3] ^ flip;
    for (int64_t c = 0; c < RgbImage::kChannels; ++c) {
      rgb[RgbImage::kChannels * x + c] =
          MultiplyBytes(cmyk[kCmykChannels * x + c] ^ flip, black);
    }
  }
}

// Decodes one file. libjpeg's calls run in RunWithJump, and it calls Fail, Warn
// and WatchScans.
class JpegReader {
 public:
  JpegReader(std::string_view bytes, int64_t max_pixels)
      : bytes_(bytes), max_pixels_(max_pixels) {
    info_.err = jpeg_std_error(&errors_);
    errors_.error_exit = &Fail;
    errors_.emit_message = &Warn;
    info_.client_data = this;
    progress_.progress_monitor = &WatchScans;
  }
  ~JpegReader() { jpeg_destroy_decompress(&info_); }
  JpegReader(const JpegReader&) = delete;
  JpegReader& operator=(const JpegReader&) = delete;

  absl::StatusOr<RgbImage> Run() {
    if (!ReadHeader()) return Error();
    SPILLWAY_RETURN_IF_ERROR(
        CheckImageSize(info_.image_height, info_.image_width, max_pixels_));
    SPILLWAY_RETURN_IF_ERROR(ChooseColours());
    RgbImage image = BlackImage(info_.image_height, info_.image_width);
    std::vector<uint8_t> cmyk_row;
    if (info_.out_color_space == JCS_CMYK) {
      cmyk_row.resize(static_cast<size_t>(kCmykChannels * image.width));
    }
    if (!ReadRows(image, cmyk_row)) return Error();
    return image;
  }

 private:
  static JpegReader& From(j_common_ptr info) {
    return *static_cast<JpegReader*>(info->client_data);
  }

  [[noreturn]] static void Fail(j_common_ptr info) {
    ErrorJump& jump = From(info).jump_;
    info->err->format_message(info, jump.message.data());
    std::longjmp(jump.where, 1);
  }

  // `level` is negative for a warning, and the level of detail for a trace.
  static void Warn(j_common_ptr info, int level) {
    if (level < 0 && LosesPixels(info->err->msg_code)) Fail(info);
  }

  static void WatchScans(j_common_ptr info) {
    const auto* decoder = reinterpret_cast<j_decompress_ptr>(info);
    if (decoder->input_scan_number <= kMaxScans) return;
    ErrorJump& jump = From(info).jump_;
    std::snprintf(jump.message.data(), jump.message.size(),
                  "more than %d scans", kMaxScans);
    std::longjmp(jump.where, 1);
  }

  bool ReadHeader() {
    return RunWithJump(jump_, [this] {
      jpeg_create_decompress(&info_);
      info_.progress = &progress_;
      jpeg_mem_src(&info_,
                   reinterpret_cast<const unsigned char*>(bytes_.data()),
                   static_cast<unsigned long>(bytes_.size()));
      jpeg_read_header(&info_, TRUE);
    });
  }

  // libjpeg converts grey and YCbCr to RGB, and YCCK to CMYK.
  absl::Status ChooseColours() {
    switch (info_.jpeg_color_space) {
      case JCS_GRAYSCALE:
      case JCS_RGB:
      case JCS_YCbCr:
        info_.out_color_space = JCS_RGB;
        return absl::OkStatus();
      case JCS_CMYK:
      case JCS_YCCK:
        info_.out_color_space = JCS_CMYK;
        return absl::OkStatus();
      default:
        return InvalidArgument(
            fmt::format("a JPEG image with {} colour components; 1, 3 and 4 "
                        "are supported",
                        info_.num_components));
    }
  }

  bool ReadRows(RgbImage& image, std::vector<uint8_t>& cmyk_row) {
    return RunWithJump(jump_, [&] {
      jpeg_start_decompress(&info_);
      while (info_.output_scanline < info_.output_height) {
        uint8_t* rgb = image.row(info_.output_scanline);
        JSAMPROW row = cmyk_row.empty() ? rgb : cmyk_row.data();
        jpeg_read_scanlines(&info_, &row, 1);
        if (cmyk_row.empty()) continue;
        CmykToRgb(row, image.width, info_.saw_Adobe_marker, rgb);
      }
      jpeg_finish_decompress(&info_);
    });
  }

  absl::Status Error() const {
    if (errors_.msg_code == JERR_OUT_OF_MEMORY) {
      return ResourceExhausted("libjpeg has run out of memory");
    }
    return InvalidArgument(
        fmt::format("damaged JPEG image: {}", jump_.message.data()));
  }

  std::string_view bytes_;
  int64_t max_pixels_;
  ErrorJump jump_;
  jpeg_error_mgr errors_ = {};
  jpeg_progress_mgr progress_ = {};
  jpeg_decompress_struct info_ = {};
};

}  // namespace

bool IsJpeg(std::string_view bytes) {
  return bytes.starts_with("\xff\xd8\xff");
}

absl::StatusOr<RgbImage> DecodeJpeg(std::string_view bytes,
                                    int64_t max_pixels) {
  return JpegReader(bytes, max_pixels).Run();
}

}  // namespace spillway
