// Runs the scripts of a report's page on its data, in Debian's chromium.
// Skipped if chromium is not installed.
#include <cstdlib>
#include <string>

#include "base/file.h"
#include "fmt/format.h"
#include "simulator/memory_over_time.h"
#include "simulator/tensor_fates.h"
#include "tests/simulator/report_case.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temporary_folder.h"

namespace spillway {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

// Runs the page's scripts and returns the resulting document.
class ReportInBrowserTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (std::system("command -v chromium > /dev/null") != 0) {
      GTEST_SKIP() << "no browser: the package chromium is not installed";
    }
    testing::MakeReportCase(case_);
  }

  // `then`: a script that runs when the page is complete, simulating a reader.
  std::string Rendered(const std::string& then = "", int width = 1200) const {
    const testing::TemporaryFolder folder;
    EXPECT_TRUE(WriteFileAtomically(folder.File("page.html"),
                                    FormatHtmlReport(case_.report).value() +
                                        "<script>" + then + "</script>")
                    .ok());
    const std::string command = fmt::format(
        "cd {} && HOME={} timeout 120 chromium --headless --no-sandbox "
        "--disable-gpu --disable-dev-shm-usage --window-size={},900 "
        "--user-data-dir={} --dump-dom file://{} > dom.html 2> log",
        folder.path(), folder.path(), width, folder.File("profile"),
        folder.File("page.html"));
    const int status = std::system(command.c_str());
    EXPECT_EQ(status, 0) << ReadFile(folder.File("log")).value_or("no log");
    const std::string dom = ReadFile(folder.File("dom.html")).value_or("");
    return dom.substr(0, dom.find("<script"));  // the scripts come last
  }

  testing::ReportCase case_;
};

TEST_F(ReportInBrowserTest, TheScriptsRunAndShowEverything) {
  const std::string dom = Rendered();
  EXPECT_THAT(dom, HasSubstr("data-rendered=\"true\""));
  EXPECT_THAT(dom, Not(HasSubstr("data-error")));
  // Peaks of the device and the host that the page computes itself.
  const IdMap<BufferId, Interval> owned =
      OwnedTimes(case_.plan, case_.predicted);
  for (const Space space : {Space::kDevice, Space::kHost}) {
    EXPECT_THAT(dom,
                HasSubstr(fmt::format(
                    "data-peak-bytes=\"{}\"",
                    PeakOf(MemoryOverTime(case_.plan, owned, space)).value)));
  }
  const size_t tensors = FindTensorFates(case_.plan, case_.predicted).size();
  EXPECT_THAT(dom, HasSubstr(fmt::format(
                       R"(aria-label="Tensors" data-rows="{}")", tensors)));
  EXPECT_THAT(
      dom, HasSubstr(R"(aria-label="Options that were tried" data-rows="2")"));
  EXPECT_THAT(dom, HasSubstr("<tr role=\"row\" class=\"chosen\">"));
  // Names are shown as text everywhere.
  EXPECT_THAT(dom, Not(HasSubstr("<b>")));
  EXPECT_THAT(dom, HasSubstr("<wbr>script&gt;&lt;b&gt;bold:0"));
  EXPECT_THAT(dom, HasSubstr("{{script}}:0</span>"));
}

TEST_F(ReportInBrowserTest, TablesAreSortedAndFilteredAndKeysMoveAlongLanes) {
  const std::string dom = Rendered(R"(
      const tensors = document.getElementById('tensors');
      tensors.querySelector('thead button').click();
      const filter = tensors.querySelector('input[type=search]');
      filter.value = 'BOLD';
      filter.dispatchEvent(new Event('input'));
      const lanes = document.querySelector('#lanes canvas');
      lanes.dispatchEvent(new KeyboardEvent('keydown', {key: 'ArrowRight'}));
      lanes.dispatchEvent(new KeyboardEvent('keydown', {key: '+'}));)");
  EXPECT_THAT(dom, HasSubstr(R"(aria-label="Tensors" data-rows="1")"));
  EXPECT_THAT(dom, HasSubstr(R"(aria-sort="ascending"><button type="button">)"
                             "Tensor<"));
  EXPECT_THAT(dom, HasSubstr(R"(aria-live="polite">&lt;/script&gt;&lt;b&gt;)"));
}

// The attribute of a canvas: data-highlighted="4".
std::string Highlighted(size_t items) {
  return fmt::format(R"(data-highlighted="{}")", items);
}

TEST_F(ReportInBrowserTest, ARowOfATensorLeadsToItsStepsAndItsBytes) {
  // The first tensor that leaves: its writer, f2 (which also reads it), its two
  // copies and its last reader; each was predicted and measured.
  const std::string dom = Rendered(R"(
      const tensors = document.getElementById('tensors');
      const row = [...tensors.querySelectorAll('tbody tr')].find(
          (one) => one.textContent.includes('bold:0'));
      row.querySelector('button').click();)");
  EXPECT_THAT(dom,
              HasSubstr("id=\"picked-name\">&lt;/script&gt;&lt;b&gt;bold:0<"));
  EXPECT_THAT(dom, HasSubstr(Highlighted(10)));
  // Its first buffer and the one that came back; one on the host.
  EXPECT_THAT(dom, HasSubstr(Highlighted(2)));
  EXPECT_THAT(dom, HasSubstr(Highlighted(1)));
}

TEST_F(ReportInBrowserTest, ARowOfAnOpLeadsToAllItsSteps) {
  const std::string script = R"(
      const row = [...document.querySelectorAll('#ops tbody tr')].find(
          (one) => one.cells[0].textContent.trim() === 'F');
      row.click();)";
  const std::string dom = Rendered(script);
  EXPECT_THAT(dom, HasSubstr(R"(aria-label="Time by op" data-rows="2")"));
  EXPECT_THAT(dom, HasSubstr(Highlighted(2 * testing::kHostileNames.size())));
  EXPECT_THAT(
      Rendered(script + "document.getElementById('picked-clear').click();"),
      Not(HasSubstr(Highlighted(2 * testing::kHostileNames.size()))));
}

TEST_F(ReportInBrowserTest, ATipHasWholeWordsWhereverItIs) {
  // Moves over each tile of the peak, from the left to the right end of the
  // window.
  const std::string dom = Rendered(R"(
      const heights = [...document.querySelectorAll('.tile')].flatMap(
          (tile, i, tiles) => {
            tile.dispatchEvent(new PointerEvent('pointermove', {
              clientX: innerWidth * i / (tiles.length - 1), clientY: 300}));
            const tip = document.getElementById('tip');
            return [...tip.querySelectorAll('td')].map((cell) => cell.offsetHeight);
          });
      document.documentElement.dataset.lines = Math.max(...heights) / 19 | 0;)");
  EXPECT_THAT(dom, HasSubstr("data-rendered=\"true\""));
  // The longest name needs two lines, next to its time.
  EXPECT_THAT(dom, ContainsRegex("data-lines=\"[12]\""));
}

TEST_F(ReportInBrowserTest, NothingIsWiderThanANarrowWindow) {
  const std::string dom = Rendered(R"(
      for (const one of document.querySelectorAll('details')) one.open = true;
      const cut = [...document.querySelectorAll('header *, main *')].filter(
          (one) => !one.closest('.visually-hidden') &&
              one.getClientRects().length > 0 &&
              (one.getBoundingClientRect().right > innerWidth + 0.5 ||
                  (one.scrollWidth > one.clientWidth + 1 &&
                      getComputedStyle(one).overflowX !== 'visible')));
      document.documentElement.dataset.cut = `${innerWidth}: ` +
          cut.map((one) => `${one.tagName} ${one.id} ${one.className}`).join();)",
                                   500);
  EXPECT_THAT(dom, HasSubstr("data-cut=\"500: \""));
}

TEST_F(ReportInBrowserTest, ABareReportIsShownToo) {
  case_.report.facts.clear();
  case_.report.batch_size = 0;
  case_.report.device_budget.reset();
  case_.report.host_budget.reset();
  case_.report.bound.reset();
  case_.report.measured.reset();
  case_.report.tried.clear();
  case_.report.chosen.reset();
  case_.report.frontier.clear();
  case_.report.policies.clear();
  case_.report.changes.clear();
  const std::string dom = Rendered();
  EXPECT_THAT(dom, HasSubstr("data-rendered=\"true\""));
  EXPECT_THAT(dom, Not(HasSubstr("data-error")));
  EXPECT_THAT(dom, Not(HasSubstr("class=\"frontier\"")));
  EXPECT_THAT(dom, ContainsRegex("id=\"frontier\"[^>]*hidden"));
  EXPECT_THAT(dom, Not(HasSubstr("If swapped")));
}

size_t Count(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos;
       at = text.find(part, at + 1)) {
    ++count;
  }
  return count;
}

TEST_F(ReportInBrowserTest, TheFrontierHasItsPointsThePlanAndThePolicies) {
  const std::string dom = Rendered(R"(
      const svg = document.querySelector('svg.frontier');
      for (let i = 0; i < 2; ++i) {
        svg.dispatchEvent(new KeyboardEvent('keydown', {key: 'ArrowLeft'}));
      })");
  EXPECT_THAT(dom, Not(ContainsRegex("id=\"frontier\"[^>]*hidden")));
  EXPECT_EQ(Count(dom, "<circle class=\"tuned\""), 12U);
  EXPECT_EQ(Count(dom, "<circle class=\"chosen\""), 1U);
  EXPECT_EQ(Count(dom, "<polygon class=\"policy\""), 2U);
  EXPECT_EQ(Count(dom, "class=\"gap\""), 1U);
  EXPECT_EQ(Count(dom, "<line class=\"budget\""), 1U);
  EXPECT_THAT(dom, HasSubstr(">this plan</text>"));
  EXPECT_THAT(dom, HasSubstr(">vdnn_conv</text>"));
  EXPECT_THAT(dom,
              HasSubstr(R"(aria-label="Time over memory" data-rows="15")"));
  // The tip of the second largest budget: 16 / 22 of the peak, 1709 ns, and a
  // bound of 1607 ns.
  EXPECT_THAT(dom, ContainsRegex("id=\"frontier-spoken\"[^>]*>&lt;b&gt;fates"
                                 "[^<]*of the peak[^<]*72.7 %[^<]*1.71 [^<]*"
                                 "99.5 % of that[^<]*1.61 [^<]*6.35 %"));
}

TEST_F(ReportInBrowserTest, AFrontierOfOnePointAndNoBoundIsDrawn) {
  case_.report.frontier.resize(1);
  case_.report.frontier[0].bound_ns = 0;
  case_.report.policies.clear();
  case_.report.device_budget.reset();
  const std::string dom = Rendered();
  EXPECT_THAT(dom, Not(HasSubstr("data-error")));
  EXPECT_EQ(Count(dom, "<circle class=\"tuned\""), 1U);
  EXPECT_EQ(Count(dom, "class=\"gap\""), 0U);
  EXPECT_EQ(Count(dom, "<line class=\"budget\""), 0U);
  EXPECT_THAT(dom, Not(HasSubstr("NaN")));
}

// Texts of the frontier that leave its frame or cover each other.
constexpr const char* kFindBadTexts = R"(
    const svg = document.querySelector('svg.frontier');
    const frame = svg.getBoundingClientRect();
    const boxes = [...svg.querySelectorAll('text')].map((text) => {
      const box = text.getBoundingClientRect();
      box.text = text.textContent;
      return box;
    });
    const cut = boxes.filter((box) => box.left < frame.left - 0.5 ||
        box.right > frame.right + 0.5 || box.top < frame.top - 0.5 ||
        box.bottom > frame.bottom + 0.5);
    const covered = boxes.filter((a) => boxes.some((b) => a !== b &&
        a.left < b.right && b.left < a.right &&
        a.top + 2 < b.bottom && b.top + 2 < a.bottom));
    document.documentElement.dataset.texts =
        `${boxes.length > 8} cut ${cut.map((box) => box.text)} ` +
        `covered ${covered.map((box) => box.text)}.`;)";

TEST_F(ReportInBrowserTest, TextsOfTheFrontierAreWholeAndApart) {
  const auto expect_good = [&](int width) {
    EXPECT_THAT(Rendered(kFindBadTexts, width),
                HasSubstr("data-texts=\"true cut  covered .\""))
        << width;
  };
  expect_good(500);
  expect_good(1200);
  // Sizes below one KiB have the longest texts.
  for (FrontierDot& dot : case_.report.frontier) dot.budget_bytes /= 3;
  case_.report.policies.clear();
  expect_good(500);
  expect_good(1200);
}

TEST_F(ReportInBrowserTest, ChangesOfOtherFatesAreColumnsOfTheTensors) {
  const std::string dom = Rendered(R"(
      const tensors = document.getElementById('tensors');
      const cell = (row, title) =>
          row.querySelector(`td[data-label="${title}"]`).textContent;
      const header = [...tensors.querySelectorAll('thead button')].find(
          (button) => button.textContent === 'If kept');
      header.click();
      const rows = [...tensors.querySelectorAll('tbody tr')];
      document.documentElement.dataset.changes = [0, 1, 2].map((i) =>
          ['If kept', 'If swapped', 'If recomputed'].map(
              (title) => cell(rows[i], title)).join(' ')).join('; ');)");
  // In descending order; the third tensor was not examined.
  EXPECT_THAT(dom, HasSubstr("data-changes=\"+250 ns now \u2013; "
                             "+40 ns now \u221230 ns;   \""));
}

TEST_F(ReportInBrowserTest, ClonesSayWhatTheyComputeAgain) {
  testing::PretendAClone(case_);
  const std::string dom = Rendered(R"(
      const lanes = document.querySelector('#lanes canvas');
      for (let i = 0; i < 40; ++i) {
        lanes.dispatchEvent(new KeyboardEvent('keydown', {key: 'ArrowRight'}));
        const spoken = document.getElementById('spoken').textContent;
        if (spoken.includes('computes again')) {
          document.documentElement.dataset.again = spoken;
        }
      })");
  EXPECT_THAT(dom, HasSubstr("computed again 100 ns"));
  EXPECT_THAT(dom, ContainsRegex("data-again=\"caf[^\"]*\\{\\{script"));
}

}  // namespace
}  // namespace spillway
