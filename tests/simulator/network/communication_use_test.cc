#include "simulator/network/communication_use.h"

#include "executor/plan/plan.h"
#include "gtest/gtest.h"

namespace spillway {
namespace {

//   ns            0    10   20   30   40   50   60
//   compute       |#########|         |####|
//   communication      |##############|####|####|     50
//   hidden             |####|         |####|          20
//   copy out                |#########|
TEST(CommunicationUseTest, OnlyKernelsHideCommunication) {
  const auto busy = [](Lane lane, int64_t begin_ns, int64_t end_ns) {
    return Span{.track = static_cast<int32_t>(lane),
                .begin_ns = begin_ns,
                .end_ns = end_ns};
  };
  const CommunicationUse use = MeasureCommunication(
      {.spans = {busy(Lane::kCompute, 0, 20), busy(Lane::kCopyOut, 20, 40),
                 busy(Lane::kCommunication, 10, 40),
                 busy(Lane::kCompute, 40, 50),
                 busy(Lane::kCommunication, 40, 60)}});
  EXPECT_EQ(use.busy_ns, 50);
  EXPECT_EQ(use.hidden_ns, 20);
  EXPECT_EQ(use.exposed_ns(), 30);
  EXPECT_EQ(MeasureCommunication({}).busy_ns, 0);
}

}  // namespace
}  // namespace spillway
