#include "tests/support/make_image.h"

#include <zlib.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>

// jpeglib.h does not include what it needs.
// clang-format off
#include <jpeglib.h>
// clang-format on
#include <png.h>

#include "base/random.h"

namespace spillway::testing {
namespace {

void AppendToText(png_structp png, png_bytep bytes, size_t count) {
  static_cast<std::string*>(png_get_io_ptr(png))
      ->append(reinterpret_cast<const char*>(bytes), count);
}

void PutBigEndian(std::string& bytes, size_t offset, uint32_t value, int size) {
  for (int i = 0; i < size; ++i) {
    bytes[offset + static_cast<size_t>(i)] =
        static_cast<char>(value >> (8 * (size - 1 - i)));
  }
}

constexpr jpeg_scan_info ScanOfChannel(int channel) {
  return {.comps_in_scan = 1,
          .component_index = {channel},
          .Ss = 0,
          .Se = 63,
          .Ah = 0,
          .Al = 0};
}

constexpr std::array<jpeg_scan_info, 4> kSeparateScans = {
    ScanOfChannel(0), ScanOfChannel(1), ScanOfChannel(2), ScanOfChannel(3)};

void SetJpegOptions(jpeg_compress_struct& info, const JpegSpec& spec) {
  info.image_width = static_cast<JDIMENSION>(spec.width);
  info.image_height = static_cast<JDIMENSION>(spec.height);
  info.input_components = spec.channels;
  info.in_color_space = spec.channels == 1   ? JCS_GRAYSCALE
                        : spec.channels == 3 ? JCS_RGB
                                             : JCS_CMYK;
  jpeg_set_defaults(&info);
  if (spec.ycck) jpeg_set_colorspace(&info, JCS_YCCK);
  if (spec.channels == 4) {
    info.write_Adobe_marker = spec.has_adobe_marker ? TRUE : FALSE;
  }
  jpeg_set_quality(&info, spec.quality, TRUE);
  info.arith_code = spec.arithmetic ? TRUE : FALSE;
  if (spec.progressive) jpeg_simple_progression(&info);
  if (spec.separate_scans) {
    info.scan_info = kSeparateScans.data();
    info.num_scans = spec.channels;
  }
}

void SetPngHeader(png_structp png, png_infop info, const PngSpec& spec) {
  png_set_IHDR(png, info, static_cast<png_uint_32>(spec.width),
               static_cast<png_uint_32>(spec.height), spec.bits,
               static_cast<int>(spec.colours),
               spec.interlaced ? PNG_INTERLACE_ADAM7 : PNG_INTERLACE_NONE,
               PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  std::vector<png_color> palette;
  for (const auto& [red, green, blue] : spec.palette) {
    palette.push_back({.red = red, .green = green, .blue = blue});
  }
  if (!palette.empty()) {
    png_set_PLTE(png, info, palette.data(), static_cast<int>(palette.size()));
  }
  if (!spec.palette_alpha.empty()) {
    png_set_tRNS(
        png, info,
        reinterpret_cast<const unsigned char*>(spec.palette_alpha.data()),
        static_cast<int>(spec.palette_alpha.size()), nullptr);
  }
}

}  // namespace

RgbImage SmoothImage(int64_t height, int64_t width) {
  RgbImage image = BlackImage(height, width);
  for (int64_t y = 0; y < height; ++y) {
    uint8_t* row = image.row(y);
    for (int64_t x = 0; x < width; ++x) {
      row[3 * x] = static_cast<uint8_t>(255 * y / height);
      row[3 * x + 1] = static_cast<uint8_t>(255 * x / width);
      row[3 * x + 2] = static_cast<uint8_t>(255 * (x + y) / (height + width));
    }
  }
  return image;
}

RgbImage NoisyImage(int64_t height, int64_t width, uint64_t seed) {
  RgbImage image = BlackImage(height, width);
  uint64_t counter = 0;
  for (uint8_t& value : image.pixels) {
    value = static_cast<uint8_t>(Philox4x32(seed, counter++)[0]);
  }
  return image;
}

std::string MakeJpeg(const JpegSpec& spec) {
  jpeg_compress_struct info = {};
  jpeg_error_mgr errors = {};
  info.err = jpeg_std_error(&errors);
  jpeg_create_compress(&info);
  unsigned char* bytes = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&info, &bytes, &size);
  SetJpegOptions(info, spec);
  jpeg_start_compress(&info, TRUE);
  const int64_t row_bytes = spec.width * spec.channels;
  while (info.next_scanline < info.image_height) {
    // libjpeg does not write through the row.
    auto* row = const_cast<JSAMPROW>(spec.pixels.data()) +
                static_cast<int64_t>(info.next_scanline) * row_bytes;
    jpeg_write_scanlines(&info, &row, 1);
  }
  jpeg_finish_compress(&info);
  jpeg_destroy_compress(&info);
  std::string file(reinterpret_cast<char*>(bytes), size);
  std::free(bytes);
  return file;
}

std::string MakeJpeg(const RgbImage& image) {
  return MakeJpeg(JpegSpec{
      .height = image.height, .width = image.width, .pixels = image.pixels});
}

std::string MakePng(const PngSpec& spec) {
  std::string file;
  png_structp png =
      png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
  png_infop info = png_create_info_struct(png);
  png_set_write_fn(png, &file, &AppendToText, nullptr);
  SetPngHeader(png, info, spec);
  png_write_info(png, info);
  const int passes = png_set_interlace_handling(png);
  const size_t row_bytes = png_get_rowbytes(png, info);
  for (int pass = 0; pass < passes; ++pass) {
    const auto* row = reinterpret_cast<png_const_bytep>(spec.rows.data());
    for (int64_t y = 0; y < spec.height; ++y, row += row_bytes) {
      png_write_row(png, row);
    }
  }
  png_write_end(png, nullptr);
  png_destroy_write_struct(&png, &info);
  return file;
}

std::string MakePng(const RgbImage& image, bool interlaced) {
  return MakePng(
      PngSpec{.height = image.height,
              .width = image.width,
              .rows = std::string(image.pixels.begin(), image.pixels.end()),
              .interlaced = interlaced});
}

std::string ClaimJpegSize(std::string jpeg, uint16_t height, uint16_t width) {
  size_t frame = jpeg.find("\xff\xc0");
  if (frame == std::string::npos) frame = jpeg.find("\xff\xc2");
  constexpr size_t kHeightOffset = 5;  // marker, length, precision
  PutBigEndian(jpeg, frame + kHeightOffset, height, 2);
  PutBigEndian(jpeg, frame + kHeightOffset + 2, width, 2);
  return jpeg;
}

std::string ClaimPngSize(std::string png, uint32_t height, uint32_t width) {
  constexpr size_t kTypeOffset = 12;  // signature, length of the chunk IHDR
  constexpr size_t kCheckedBytes = 4 + 13;
  PutBigEndian(png, kTypeOffset + 4, width, 4);
  PutBigEndian(png, kTypeOffset + 8, height, 4);
  const auto checksum = static_cast<uint32_t>(
      crc32(0, reinterpret_cast<const Bytef*>(png.data()) + kTypeOffset,
            kCheckedBytes));
  PutBigEndian(png, kTypeOffset + kCheckedBytes, checksum, 4);
  return png;
}

}  // namespace spillway::testing
