// Calls of C libraries that leave a failed call by longjmp (libjpeg, libpng).
//
// A jump skips the destructors of all frames between longjmp and setjmp. So the
// calls run in a function that owns nothing: files, pixels and the library's
// own state belong to objects that outlive RunWithJump.
#ifndef SPILLWAY_TRAINING_DATA_ERROR_JUMP_H_
#define SPILLWAY_TRAINING_DATA_ERROR_JUMP_H_

#include <array>
#include <csetjmp>

namespace spillway {

// Where a failed call goes, and why. The library's error handler writes
// `message` (libjpeg's longest has 200 characters) and jumps to `where`.
struct ErrorJump {
  std::jmp_buf where = {};
  std::array<char, 200> message = {};
};

// Runs `calls`. False if a call has failed: jump.message says why. `calls`
// captures references only, and no function that it calls keeps an object with
// a destructor while a library call runs.
template <typename Calls>
[[gnu::noinline]] bool RunWithJump(ErrorJump& jump, const Calls& calls) {
  if (setjmp(jump.where) != 0) return false;
  calls();
  return true;
}

}  // namespace spillway

#endif  // SPILLWAY_TRAINING_DATA_ERROR_JUMP_H_
