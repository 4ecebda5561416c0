// The page of a report: its structure and its data. report_in_browser_test.cc
// tests the scripts.
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "nlohmann/json.hpp"
#include "ops/all_ops.h"
#include "simulator/tensor_fates.h"
#include "tests/simulator/report_case.h"
#include "tests/support/status_matchers.h"

namespace spillway {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::kInvalid;
using ::testing::Not;
using testing::StatusIs;
using Json = nlohmann::ordered_json;

size_t Count(std::string_view text, std::string_view part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string_view::npos;
       at = text.find(part, at + 1)) {
    ++count;
  }
  return count;
}

// The text between the first `begin` and the `end` after it.
std::string Between(const std::string& text, const std::string& begin,
                    const std::string& end) {
  const size_t from = text.find(begin);
  EXPECT_NE(from, std::string::npos) << begin;
  if (from == std::string::npos) return "";
  const size_t to = text.find(end, from + begin.size());
  EXPECT_NE(to, std::string::npos) << end;
  return text.substr(from + begin.size(), to - from - begin.size());
}

// Checks that tags are closed in order; contents of scripts and styles are
// text.
class TagChecker {
 public:
  explicit TagChecker(std::string_view html) : html_(html) {}

  std::vector<std::string> Wrong() {
    for (size_t at = 0; (at = html_.find('<', at)) != std::string_view::npos;) {
      const size_t end = html_.find('>', at);
      if (end == std::string_view::npos) return {"< without >"};
      Add(html_.substr(at + 1, end - at - 1));
      at = SkipText(end + 1);
    }
    wrong_.insert(wrong_.end(), open_.begin(), open_.end());
    return wrong_;
  }

 private:
  void Add(std::string_view tag) {
    const std::string name(tag.substr(0, tag.find_first_of(" \n")));
    if (void_tags_.contains(name)) return;
    if (name[0] != '/') {
      open_.push_back(name);
    } else if (!open_.empty() && open_.back() == name.substr(1)) {
      open_.pop_back();
    } else {
      wrong_.push_back(name);
    }
  }

  size_t SkipText(size_t at) const {
    if (open_.empty()) return at;
    const bool is_text = open_.back() == "script" || open_.back() == "style";
    return is_text ? html_.find("</" + open_.back(), at) : at;
  }

  const std::set<std::string> void_tags_ = {"!DOCTYPE", "meta", "br"};
  const std::string_view html_;
  std::vector<std::string> open_;
  std::vector<std::string> wrong_;
};

class ReportTest : public ::testing::Test {
 protected:
  void SetUp() override { testing::MakeReportCase(case_); }

  std::string Page() const { return FormatHtmlReport(case_.report).value(); }

  static Json DataOf(const std::string& page) {
    const auto json =
        ParseJson(Between(page, R"(<script type="application/json" id="data">)",
                          "</script>"),
                  "page");
    EXPECT_TRUE(json.ok()) << json.status().ToString();
    return json.value_or(Json());
  }

  testing::ReportCase case_;
};

TEST_F(ReportTest, ThePageIsWellFormedAndLoadsNothing) {
  const std::string page = Page();
  EXPECT_THAT(TagChecker(page).Wrong(), ElementsAre());
  EXPECT_EQ(Count(page, "<script"), 2U);
  EXPECT_EQ(Count(page, "</script"), 2U);
  EXPECT_EQ(Count(page, "://"), Count(page, "http://www.w3.org/2000/svg"));
  for (const char* loads : {" src=", "@import", "url(", "<link", "fetch("}) {
    EXPECT_THAT(page, Not(HasSubstr(loads)));
  }
  EXPECT_THAT(page, HasSubstr("default-src 'none'"));
}

TEST_F(ReportTest, TheTagCheckerFindsWhatIsWrong) {
  EXPECT_THAT(TagChecker("<p><b></p></b>").Wrong(), ElementsAre("/p", "p"));
}

TEST_F(ReportTest, TheSameReportIsTheSamePage) { EXPECT_EQ(Page(), Page()); }

TEST_F(ReportTest, HostileNamesStayNames) {
  const std::string page = Page();
  EXPECT_THAT(page, Not(HasSubstr("<b>")));
  EXPECT_THAT(page, Not(HasSubstr("<!--")));
  EXPECT_THAT(page, HasSubstr("<title>&lt;i&gt;chain&lt;/i&gt; &amp; co - "));
  EXPECT_THAT(page, HasSubstr("<h1>&lt;i&gt;chain&lt;/i&gt; &amp; co</h1>"));
  const Json data = DataOf(page);
  std::set<std::string> names;
  for (const Json& step : data["steps"]) names.insert(step[1]);
  for (const Node& node : case_.graph.nodes()) {
    EXPECT_TRUE(names.contains(node.name)) << node.name;
  }
  EXPECT_EQ(names.size(), case_.graph.num_nodes());
  EXPECT_EQ(data["facts"][0][1], "<b>v1</b>");
  EXPECT_EQ(data["tried"][0][5], "too <large>");
}

TEST_F(ReportTest, BytesThatAreNoTextAreReplaced) {
  case_.report.facts.push_back({"bad", "\xff\xfe"});
  EXPECT_EQ(DataOf(Page())["facts"][1][1], "\xef\xbf\xbd\xef\xbf\xbd");
}

TEST_F(ReportTest, TheDataIsWhatWasPredictedAndMeasured) {
  const Json data = DataOf(Page());
  EXPECT_EQ(data["step_ns"], case_.predicted.step_ns);
  EXPECT_EQ(data["steps"].size(), case_.plan.steps.size());
  EXPECT_EQ(data["buffers"].size(), case_.plan.buffers.size());
  EXPECT_EQ(data["tensors"].size(),
            FindTensorFates(case_.plan, case_.predicted).size());
  EXPECT_EQ(data["device"]["arena_bytes"], case_.plan.device_bytes);
  EXPECT_LE(data["device"]["peak_bytes"].get<int64_t>(),
            case_.plan.device_bytes);
  EXPECT_EQ(data["host"]["arena_bytes"], case_.plan.host_bytes);
  EXPECT_EQ(data["measured"]["steps"].size(),
            case_.slower.timeline.spans.size());
  EXPECT_EQ(data["bound"][0], 1600);
  EXPECT_EQ(data["chosen"], 1);
  EXPECT_TRUE(data["tried"][0][4].is_null());
  int64_t stalls_ns = 0;
  for (const Json& stall : data["stalls"]) stalls_ns += stall[3].get<int64_t>();
  EXPECT_EQ(stalls_ns, data["stall_ns"][0].get<int64_t>() +
                           data["stall_ns"][1].get<int64_t>() +
                           data["stall_ns"][2].get<int64_t>());
}

// An op without a kind would change its colour once it gets one.
TEST_F(ReportTest, EveryOpThatRunsIsOfOneKind) {
  const std::string page = Page();
  const std::string kinds = Between(page, "const opKinds = [", "];\n");
  const std::set<std::string> copies_and_aliases = {
      "Const",   "CopyToDevice", "CopyToHost", "Identity", "Placeholder",
      "Reshape", "SwapOut",      "SwapIn",     "Variable"};
  for (const auto& [name, def] : StandardOps().ops()) {
    const size_t kinds_of_op = copies_and_aliases.contains(name) ? 0 : 1;
    EXPECT_EQ(Count(kinds, "'" + name + "'"), kinds_of_op) << name;
  }
}

// "--name: #rrggbb;" of a style, by name.
std::map<std::string, std::string> ColoursOf(const std::string& style) {
  std::map<std::string, std::string> colours;
  for (size_t at = 0; (at = style.find("--", at)) != std::string::npos;) {
    const size_t colon = style.find(": ", at);
    colours[style.substr(at, colon - at)] =
        style.substr(colon + 2, style.find(';', at) - colon - 2);
    at = colon;
  }
  return colours;
}

TEST_F(ReportTest, EveryColourHasAMeaningOfItsOwnInBothModes) {
  const std::string page = Page();
  const auto light = ColoursOf(Between(page, ":root {", "}"));
  const auto dark = ColoursOf(Between(page, "dark) {\n  :root {", "}"));
  std::set<std::string> names;
  for (const auto& colours : {light, dark}) {
    std::map<std::string, std::string> ops;  // by colour
    for (const auto& [name, colour] : colours) {
      names.insert(name);
      if (!name.starts_with("--op-")) continue;
      EXPECT_TRUE(ops.emplace(colour, name).second) << name;
      for (const char* other : {"--tensor", "--host", "--out", "--in",
                                "--stall", "--scratch", "--variable"}) {
        EXPECT_NE(colour, colours.at(other)) << name;
      }
    }
    EXPECT_EQ(ops.size(), Count(page, "color: 'op-"));
  }
  EXPECT_EQ(names.size(), light.size());
  EXPECT_EQ(names.size(), dark.size());
}

// Of a colour "#rrggbb": red, green and blue, from 0 to 255.
std::array<double, 3> PartsOf(const std::string& colour) {
  std::array<double, 3> parts = {};
  for (size_t i = 0; i < parts.size(); ++i) {
    parts[i] = std::stoi(colour.substr(1 + 2 * i, 2), nullptr, 16);
  }
  return parts;
}

// Relative luminance, from 0 to 1 (WCAG 2, section "relative luminance").
double Luminance(const std::string& colour) {
  constexpr std::array<double, 3> kWeights = {0.2126, 0.7152, 0.0722};
  const std::array<double, 3> parts = PartsOf(colour);
  double sum = 0;
  for (size_t i = 0; i < parts.size(); ++i) {
    const double part = parts[i] / 255;
    sum +=
        kWeights[i] * (part <= 0.03928 ? part / 12.92
                                       : std::pow((part + 0.055) / 1.055, 2.4));
  }
  return sum;
}

double Contrast(const std::string& a, const std::string& b) {
  const double x = Luminance(a);
  const double y = Luminance(b);
  return (std::max(x, y) + 0.05) / (std::min(x, y) + 0.05);
}

double Distance(const std::string& a, const std::string& b) {
  const std::array<double, 3> x = PartsOf(a);
  const std::array<double, 3> y = PartsOf(b);
  return std::hypot(x[0] - y[0], x[1] - y[1], x[2] - y[2]);
}

TEST_F(ReportTest, TheColoursOfTheFrontierAreApartInBothModes) {
  const std::string page = Page();
  const std::vector<std::string> used = {"--ink", "--good", "--accent", "--bad",
                                         "--soft"};
  for (const char* mode : {":root {", "dark) {\n  :root {"}) {
    const auto colours = ColoursOf(Between(page, mode, "}"));
    for (const std::string& name : used) {
      // WCAG 2.1's least contrast of a chart's parts.
      EXPECT_GE(Contrast(colours.at(name), colours.at("--card")), 3) << name;
      for (const std::string& other : used) {
        if (other == name) continue;
        EXPECT_GE(Distance(colours.at(name), colours.at(other)), 60)
            << mode << name << other;
      }
    }
  }
}

TEST_F(ReportTest, TheFrontierAndTheChangesAreGivenAsTheyAre) {
  const Json data = DataOf(Page());
  ASSERT_EQ(data["frontier"].size(), 12U);
  const FrontierDot& dot = case_.report.frontier[3];
  EXPECT_EQ(data["frontier"][3],
            Json::array({dot.budget_bytes, dot.step_ns, dot.bound_ns,
                         dot.device_bytes, dot.name}));
  EXPECT_EQ(data["policies"][0][2], 2500);
  EXPECT_EQ(data["has_changes"], true);
  std::map<std::string, Json> changes;
  for (const Json& tensor : data["tensors"]) {
    changes[data["buffers"][tensor[0].get<size_t>()][0]] = tensor[13];
  }
  EXPECT_EQ(changes[testing::kHostileNames[0] + ":0"],
            Json::array({250, 0, nullptr}));
  EXPECT_TRUE(changes[testing::kHostileNames[4] + ":0"].is_null());
}

TEST_F(ReportTest, ClonesAreNamedWithTheirOriginals) {
  EXPECT_TRUE(DataOf(Page())["clones"].empty());
  testing::PretendAClone(case_);
  const Json data = DataOf(Page());
  ASSERT_EQ(data["clones"].size(), 1U);
  const Json& clone = data["clones"][0];
  EXPECT_EQ(data["steps"][clone[0].get<size_t>()][1],
            testing::kHostileNames[5]);
  EXPECT_EQ(clone[1], testing::kHostileNames[3]);
}

TEST_F(ReportTest, WhatMustBeThereIsAskedForByName) {
  HtmlReport report;
  const auto missing = [&](const char* part) {
    EXPECT_THAT(FormatHtmlReport(report), StatusIs(kInvalid, HasSubstr(part)));
  };
  missing("its graph");
  report.graph = case_.report.graph;
  missing("its plan");
  report.plan = case_.report.plan;
  missing("its predicted step");
  report.predicted = case_.report.predicted;
  report.measured.emplace();
  missing("its measured timeline");
  report.measured.reset();
  EXPECT_THAT(FormatHtmlReport(report), testing::IsOk());
}

TEST_F(ReportTest, WhatIsNotGivenIsNull) {
  case_.report.bound.reset();
  case_.report.measured.reset();
  case_.report.device_budget.reset();
  case_.report.tried.clear();
  case_.report.chosen.reset();
  case_.report.frontier.clear();
  case_.report.changes.clear();
  const Json data = DataOf(Page());
  EXPECT_TRUE(data["bound"].is_null());
  EXPECT_TRUE(data["measured"].is_null());
  EXPECT_TRUE(data["device"]["budget"].is_null());
  EXPECT_TRUE(data["tried"].empty());
  EXPECT_TRUE(data["frontier"].empty());
  EXPECT_EQ(data["has_changes"], false);
  EXPECT_TRUE(data["tensors"][0][13].is_null());
}

}  // namespace
}  // namespace spillway
