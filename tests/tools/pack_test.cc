// `spillway pack`: files in, files out, exit status.
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "base/file.h"
#include "executor/memory/static_packing.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/packing_instances.h"
#include "tests/support/status_matchers.h"
#include "tests/tools/run_program.h"

namespace spillway {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::IsOk;
using testing::ProgramRun;
using testing::Refuses;
using testing::RunProgram;
using Json = nlohmann::ordered_json;

std::string FormatGaps(const std::vector<Interval>& gaps) {
  std::string text;
  for (const Interval& gap : gaps) {
    text += (text.empty() ? "" : " ") + std::to_string(gap.begin) + "-" +
            std::to_string(gap.end);
  }
  return text;
}

std::string FormatItem(size_t id, const PackingItem& item) {
  return std::to_string(id) + "," + std::to_string(item.lifetime.begin) + "," +
         std::to_string(item.lifetime.end) + "," + std::to_string(item.bytes);
}

std::string FormatItems(const std::vector<PackingItem>& items) {
  std::string text = "id,lower,upper,size,gaps\n";
  for (size_t i = 0; i < items.size(); ++i) {
    text += FormatItem(i, items[i]) + "," + FormatGaps(items[i].gaps) + "\n";
  }
  return text;
}

class PackTest : public ::testing::Test {
 protected:
  ProgramRun Pack(const std::string& csv,
                  std::vector<std::string> arguments = {}) {
    EXPECT_THAT(WriteFileAtomically(csv_, csv), IsOk());
    arguments.insert(arguments.begin(), {"pack", "--csv", csv_, "--out", out_});
    return RunProgram(arguments);
  }

  std::string Out() const {
    const auto content = ReadFile(out_);
    EXPECT_THAT(content, IsOk());
    return content.value_or("");
  }

  const testing::TemporaryFolder folder_;
  const std::string csv_ = folder_.File("buffers.csv");
  const std::string out_ = folder_.File("offsets.csv");
};

constexpr const char* kThree =
    "id,lower,upper,size\n"
    "a,0,3,4\n"
    "b,3,9,4\n"
    "c,0,9,4\n";

TEST_F(PackTest, WritesAnOffsetForEachBuffer) {
  const ProgramRun run = Pack(kThree, {"--capacity", "8"});
  EXPECT_EQ(run.exit_status, 0) << run.err;
  EXPECT_THAT(run.out, AllOf(HasSubstr("height       8 bytes"),
                             HasSubstr("lower bound  8 bytes"),
                             HasSubstr("capacity     8 bytes, met"),
                             HasSubstr("time ")));
  EXPECT_THAT(Out(), ::testing::AnyOf("id,lower,upper,size,offset\n"
                                      "a,0,3,4,4\n"
                                      "b,3,9,4,4\n"
                                      "c,0,9,4,0\n",
                                      "id,lower,upper,size,offset\n"
                                      "a,0,3,4,0\n"
                                      "b,3,9,4,0\n"
                                      "c,0,9,4,4\n"));
}

TEST_F(PackTest, FindsColumnsByNameAndReadsItsOwnOutput) {
  const ProgramRun first =
      Pack(" size , id,upper,lower\r\n4,a,3,0\r\n\r\n4,b,9,3\r\n4,c,9,0\r\n",
           {"--capacity", "8B"});
  EXPECT_EQ(first.exit_status, 0) << first.err;
  const std::string once = Out();
  const ProgramRun second = Pack(once, {"--capacity", "8"});
  EXPECT_EQ(second.exit_status, 0) << second.err;
  EXPECT_EQ(Out(), once);
}

TEST_F(PackTest, KeepsGapsAndUsesThem) {
  const ProgramRun run = Pack(
      "id,lower,upper,size,gaps\n"
      "a,0,9,4,2-4 6-7\n"
      "b,2,4,4,\n"
      "c,6,7,4,\n",
      {"--capacity", "4"});
  EXPECT_EQ(run.exit_status, 0) << run.err;
  EXPECT_EQ(Out(),
            "id,lower,upper,size,offset,gaps\n"
            "a,0,9,4,0,2-4 6-7\n"
            "b,2,4,4,0,\n"
            "c,6,7,4,0,\n");
}

// Numbers between commas; the last field of a line may contain anything.
std::vector<int64_t> Offsets(const std::string& text) {
  std::vector<int64_t> offsets;
  std::istringstream lines(text);
  std::string line;
  std::getline(lines, line);
  while (std::getline(lines, line)) {
    std::istringstream fields(line);
    std::string field;
    for (int i = 0; i < 5; ++i) std::getline(fields, field, ',');
    offsets.push_back(std::stoll(field));
  }
  return offsets;
}

TEST_F(PackTest, RandomBuffersWithGapsAndAlignmentAreRight) {
  for (uint64_t seed = 0; seed < 5; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    const std::vector<PackingItem> items = testing::RandomItems(
        {.seed = seed, .size = 50, .max_bytes = 900, .gap_probability = 0.4});
    const ProgramRun run =
        Pack(FormatItems(items), {"--capacity", "40000", "--alignment", "48",
                                  "--json", folder_.File("json")});
    ASSERT_EQ(run.exit_status, 0) << run.err;
    ASSERT_OK_AND_ASSIGN(const std::string text,
                         ReadFile(folder_.File("json")));
    const Json json = Json::parse(text);
    EXPECT_EQ(json["lower_bound"], LiveBytesLowerBound(items, 48));
    EXPECT_EQ(json["fits"], true);
    EXPECT_EQ(json["buffers"], 50);
    const Packing packing = {.offsets = Offsets(Out()),
                             .height_bytes = json["height"]};
    EXPECT_THAT(ValidatePacking(items, 48, packing), IsOk());
  }
}

TEST_F(PackTest, AHardTaskIsSolved) {
  const std::vector<PackingItem> items =
      testing::GuillotineItems({.seed = 7, .size = 120, .bytes = 65'536});
  const ProgramRun run = Pack(FormatItems(items), {"--capacity", "64KiB"});
  ASSERT_EQ(run.exit_status, 0) << run.err;
  EXPECT_THAT(
      ValidatePacking(items, 1,
                      {.offsets = Offsets(Out()), .height_bytes = 65'536}),
      IsOk());
}

TEST_F(PackTest, ACapacityThatIsNotMetLeavesTheOldFileAsItWas) {
  ASSERT_THAT(WriteFileAtomically(out_, "precious"), IsOk());
  const std::string json = folder_.File("json");
  const ProgramRun run = Pack(kThree, {"--capacity", "7", "--json", json});
  EXPECT_EQ(run.exit_status, 3);
  EXPECT_THAT(run.out, HasSubstr("capacity     7 bytes, not met"));
  EXPECT_THAT(run.err,
              AllOf(HasSubstr("needs 8, 1 more"), HasSubstr("so low")));
  EXPECT_EQ(Out(), "precious");
  ASSERT_OK_AND_ASSIGN(const std::string text, ReadFile(json));
  EXPECT_EQ(Json::parse(text)["fits"], false);
}

TEST_F(PackTest, AnUnmetCapacityIsReportedWhenTheTimeIsOver) {
  const std::vector<PackingItem> items = testing::GuillotineItems(
      {.seed = 1, .size = 1500, .steps = 20'000, .bytes = 1 << 28});
  const ProgramRun run =
      Pack(FormatItems(items),
           {"--capacity", std::to_string(1 << 28), "--time_limit", "0.1"});
  EXPECT_EQ(run.exit_status, 3);
  EXPECT_THAT(run.err, HasSubstr("a longer --time_limit"));
  EXPECT_THAT(folder_.Names(), ElementsAre("buffers.csv"));
}

// An invalid third line of the file.
struct BadLine {
  std::string name = {};
  std::string line = {};
  std::string message = {};
};

class BadBufferTest : public PackTest,
                      public ::testing::WithParamInterface<BadLine> {};

TEST_P(BadBufferTest, IsRefusedWithFileLineAndField) {
  const std::string csv =
      "id,lower,upper,size,gaps\na,0,9,4,\n" + GetParam().line + "\n";
  EXPECT_THAT(Pack(csv, {"--capacity", "99"}),
              Refuses(2, AllOf(HasSubstr("--csv: " + csv_ + ", line 3: "),
                               HasSubstr(GetParam().message))));
  EXPECT_THAT(folder_.Names(), ElementsAre("buffers.csv"));
}

std::vector<BadLine> BadLines() {
  return {
      {"TooFewFields", "b,0,9", "3 fields, but 5 columns"},
      {"TooManyFields", "b,0,9,4,,", "6 fields, but 5 columns"},
      {"EmptyId", ",0,9,4,", "id: is empty"},
      {"RepeatedId", "a,0,9,4,", "id: \"a\" is there twice"},
      {"QuotedId", "\"b\",0,9,4,", "id: quotes"},
      {"NotANumber", "b,0,nine,4,", "upper: \"nine\" is not an integer"},
      {"Fraction", "b,0,9,4.5,", "size: \"4.5\""},
      {"Negative", "b,-1,9,4,", "lower: \"-1\""},
      {"HugeNumber", "b,0,9,9999999999999999999,", "size: \"99999"},
      {"HugeSum", "b,0,9,1152921504606846976,", "size: all together"},
      {"EmptyLifetime", "b,9,9,4,", "upper: 9 is not above lower, 9"},
      {"GapWithoutEnd", "b,0,9,4,3", "gaps: \"3\" is not lower-upper"},
      {"EmptyGap", "b,0,9,4,3-3", "gaps: \"3-3\" is not lower-upper"},
      {"GapOutside", "b,0,9,4,8-10", "gaps: 8-10 must be inside"},
      {"GapsNotAscending", "b,0,9,4,5-6 2-3", "gaps: 2-3 must be inside"},
  };
}

std::string LineName(const ::testing::TestParamInfo<BadLine>& instance) {
  return instance.param.name;
}

INSTANTIATE_TEST_SUITE_P(Lines, BadBufferTest, ::testing::ValuesIn(BadLines()),
                         LineName);

TEST_F(PackTest, BadColumnsAreRefused) {
  const std::map<std::string, std::string> message_of = {
      {"", "no line of column names"},
      {"id,lower,upper\n", "no column \"size\""},
      {"id,lower,upper,size,gap\n", "unknown column \"gap\""},
      {"id,lower,upper,size,id\n", "two columns \"id\""},
  };
  for (const auto& [csv, message] : message_of) {
    EXPECT_THAT(Pack(csv, {"--capacity", "9"}),
                Refuses(2, AllOf(HasSubstr(csv_), HasSubstr(message))));
  }
}

TEST_F(PackTest, NoBuffersNeedNoBytes) {
  EXPECT_EQ(Pack("id,lower,upper,size\n", {"--capacity", "0"}).exit_status, 0);
  EXPECT_EQ(Out(), "id,lower,upper,size,offset\n");
}

}  // namespace
}  // namespace spillway
