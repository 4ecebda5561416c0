#include "base/log.h"

#include "gtest/gtest.h"

namespace spillway {
namespace {

TEST(LogTest, MessagesGoToStderrWithTheirLevelsLetter) {
  ::testing::internal::CaptureStderr();
  ::testing::internal::CaptureStdout();
  ConfigureLog(spdlog::level::info);
  spdlog::debug("hidden");
  spdlog::info("{} swap-outs", 3);
  spdlog::warn("slow link");
  spdlog::error("broken");
  spdlog::default_logger()->flush();
  EXPECT_EQ(::testing::internal::GetCapturedStderr(),
            "I 3 swap-outs\nW slow link\nE broken\n");
  EXPECT_EQ(::testing::internal::GetCapturedStdout(), "");
}

}  // namespace
}  // namespace spillway
