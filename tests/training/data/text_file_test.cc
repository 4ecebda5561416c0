#include "training/data/text_file.h"

#include <set>
#include <string>

#include "base/file.h"
#include "base/random.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "models/layers/layers.h"
#include "tests/support/new_session.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temporary_folder.h"
#include "training/loop/evaluation.h"

namespace spillway {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::IsOk;
using testing::kInvalid;
using testing::NewSession;
using testing::StatusIs;

// Any bytes, few of them different, so that neighbours are often equal.
std::string RandomText(int64_t bytes) {
  std::string text;
  for (int64_t i = 0; i < bytes; ++i) {
    text += static_cast<char>(Philox4x32(3, static_cast<uint64_t>(i))[0] % 3 +
                              0x7e);
  }
  return text;
}

std::unique_ptr<TextFile> Parsed(const std::string& text, Split split,
                                 const TextFileOptions& options) {
  auto file = TextFile::Parse(text, "source", split, options);
  EXPECT_THAT(file, IsOk());
  return *std::move(file);
}

// A sample's tokens, followed by its last label.
std::string ReadBytes(const TextFile& text, int64_t epoch, int64_t index) {
  const auto length = static_cast<size_t>(text.fields()[0].num_elements());
  std::vector<int32_t> tokens(length);
  std::vector<int32_t> labels(length);
  const std::vector<std::byte*> buffers = {
      reinterpret_cast<std::byte*>(tokens.data()),
      reinterpret_cast<std::byte*>(labels.data())};
  EXPECT_THAT(text.ReadInEpoch(epoch, index, buffers), IsOk());
  std::string bytes;
  for (size_t i = 0; i < length; ++i) {
    const int32_t label = i == 0 ? tokens[0] : labels[i - 1];
    EXPECT_EQ(tokens[i], label);
    bytes += static_cast<char>(tokens[i]);
  }
  return bytes + static_cast<char>(labels.back());
}

TEST(TextFileTest, ASampleIsTokensAndTheirSuccessors) {
  const auto text = Parsed("the wat\xff", Split::kTest, {.length = 3});
  const TensorType field = {.dtype = DType::kInt32, .shape = {3}};
  EXPECT_EQ(text->fields(), (std::vector<TensorType>{field, field}));
  EXPECT_EQ(text->num_classes(), 256);
  ASSERT_EQ(text->size(), 2);
  EXPECT_EQ(ReadBytes(*text, 0, 0), "the ");
  EXPECT_EQ(ReadBytes(*text, 7, 1), " wat");
}

// However long a text is, its samples lie in it and one more would not.
TEST(TextFileTest, HasTheSamplesThatFitAtEachShift) {
  for (int64_t length = 1; length < 6; ++length) {
    for (int64_t bytes = 2 * length; bytes < 8 * length; ++bytes) {
      const std::string text = RandomText(bytes);
      const auto test = Parsed(text, Split::kTest, {.length = length});
      EXPECT_LE(test->size() * length + 1, bytes);
      EXPECT_GT((test->size() + 1) * length + 1, bytes);
      const auto training =
          Parsed(text, Split::kTrain, {.length = length, .seed = 5});
      EXPECT_LE(training->size() * length + length, bytes);
      EXPECT_GT((training->size() + 1) * length + length, bytes);
      for (int64_t epoch = 0; epoch < 10; ++epoch) {
        const int64_t last = training->size() - 1;
        EXPECT_NE(text.find(ReadBytes(*training, epoch, last)),
                  std::string::npos);
      }
    }
  }
}

TEST(TextFileTest, TrainingSamplesShiftFromEpochToEpochByTheSeed) {
  std::string text;
  for (int c = 0; c < 200; ++c) text += static_cast<char>(c);
  const auto first_byte = [&](Split split, uint64_t seed, int64_t epoch) {
    const auto file = Parsed(text, split, {.length = 50, .seed = seed});
    const std::string first = ReadBytes(*file, epoch, 0);
    // All samples by as much.
    EXPECT_EQ(ReadBytes(*file, epoch, 1)[0], first[0] + 50);
    return int{first[0]};
  };
  std::set<int> first_bytes;
  for (int64_t epoch = 0; epoch < 20; ++epoch) {
    const int byte = first_byte(Split::kTrain, 1, epoch);
    EXPECT_EQ(byte, first_byte(Split::kTrain, 1, epoch));
    EXPECT_LT(byte, 50);
    first_bytes.insert(byte);
    EXPECT_EQ(first_byte(Split::kTest, 1, epoch), 0);
  }
  EXPECT_EQ(first_byte(Split::kTrain, 1, 0), 0);
  EXPECT_GT(first_bytes.size(), 10);
  EXPECT_NE(first_byte(Split::kTrain, 1, 1), first_byte(Split::kTrain, 2, 1));
}

TEST(TextFileTest, WhatCannotBeReadIsNamed) {
  const testing::TemporaryFolder folder;
  EXPECT_THAT(TextFile::Open(folder.path(), Split::kTest),
              StatusIs(absl::StatusCode::kNotFound,
                       AllOf(HasSubstr(folder.path()), HasSubstr("test.txt"))));
  ASSERT_THAT(WriteFileAtomically(folder.File("train.txt"), "to be"), IsOk());
  EXPECT_THAT(
      TextFile::Open(folder.path(), Split::kTrain, {.length = 3}),
      StatusIs(kInvalid, AllOf(HasSubstr("train.txt: 5 bytes"),
                               HasSubstr("3 tokens needs at least 6"))));
  EXPECT_THAT(TextFile::Parse("to be", "s", Split::kTest, {.length = 5}),
              StatusIs(kInvalid, HasSubstr("at least 6")));
  EXPECT_THAT(TextFile::Parse("to be", "s", Split::kTest, {.length = 0}),
              StatusIs(kInvalid, HasSubstr("length 0")));
  const auto text = Parsed("to be", Split::kTest, {.length = 4});
  EXPECT_THAT(text->Get(1), StatusIs(kInvalid, HasSubstr("1")));
  EXPECT_THAT(text->Get(-1), StatusIs(kInvalid, HasSubstr("-1")));
}

// The program answers that each byte follows itself. Of the last batch, one
// sample counts.
TEST(TextFileTest, EvaluationCountsEachByteOnce) {
  const std::string text = RandomText(7 * 5 + 1);
  const auto data = Parsed(text, Split::kTest, {.length = 5});
  ASSERT_EQ(data->size(), 7);
  int64_t equal = 0;
  for (size_t i = 0; i + 1 < text.size(); ++i) equal += text[i] == text[i + 1];

  GraphBuilder g;
  const Tensor tokens = g.Placeholder("tokens", DType::kInt32, {3, 5});
  const Tensor labels = g.Placeholder("labels", DType::kInt32, {3, 5});
  const NameScope scope = g.Scope("answers");
  const Tensor correct =
      g.Add(scope,
            {.op = "Equal",
             .inputs = {FlattenAll(scope, tokens), FlattenAll(scope, labels)}});
  std::vector<Program> programs(1);
  programs[0].fetches = {correct.id()};
  ASSERT_OK_AND_ASSIGN(programs[0].graph, std::move(g).Build());
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Session> session,
                       NewSession(std::move(programs)));
  ASSERT_OK_AND_ASSIGN(const double accuracy,
                       Evaluate(*session,
                                {.program = 0,
                                 .batch_size = 3,
                                 .images = tokens.id(),
                                 .labels = labels.id(),
                                 .correct = correct.id()},
                                *data));
  EXPECT_DOUBLE_EQ(accuracy, static_cast<double>(equal) / 35);
}

}  // namespace
}  // namespace spillway
