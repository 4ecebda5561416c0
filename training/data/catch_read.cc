#include "training/data/catch_read.h"

#include <fmt/format.h>

#include <exception>
#include <new>
#include <stdexcept>

#include "base/status_macros.h"

namespace spillway {
namespace {

absl::Status DoesNotFit(int64_t index, const std::exception& error) {
  return ResourceExhausted(fmt::format(
      "sample {} of the data does not fit in memory ({}); lower the batch size",
      index, error.what()));
}

}  // namespace

absl::Status CatchRead(int64_t index, absl::FunctionRef<absl::Status()> read) {
  try {
    return read();
  } catch (const std::bad_alloc& error) {
    return DoesNotFit(index, error);
  } catch (const std::length_error& error) {
    return DoesNotFit(index, error);
  } catch (const std::exception& error) {
    return Internal(fmt::format("reading sample {} of the data threw: {}",
                                index, error.what()));
  } catch (...) {
    return Internal(fmt::format("reading sample {} of the data threw", index));
  }
}

}  // namespace spillway
