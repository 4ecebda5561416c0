// Gzip text for tests.
#ifndef SPILLWAY_TESTS_TRAINING_DATA_MAKE_GZIP_H_
#define SPILLWAY_TESTS_TRAINING_DATA_MAKE_GZIP_H_

#include <string>
#include <string_view>

#include "zlib.h"

namespace spillway::testing {

inline std::string MakeGzip(std::string_view bytes) {
  z_stream stream = {};
  deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 15 + 16, 8,
               Z_DEFAULT_STRATEGY);
  std::string packed(deflateBound(&stream, bytes.size()), '\0');
  stream.next_in =
      const_cast<Bytef*>(reinterpret_cast<const Bytef*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  deflate(&stream, Z_FINISH);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

}  // namespace spillway::testing

#endif  // SPILLWAY_TESTS_TRAINING_DATA_MAKE_GZIP_H_
