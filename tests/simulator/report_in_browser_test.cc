// What the scripts of a report's page make of its data, in Debian's chromium.
// Skipped where that is not installed.
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

using ::testing::HasSubstr;
using ::testing::Not;

// Runs the page's scripts and gives the document that they leave.
class ReportInBrowserTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (std::system("command -v chromium > /dev/null") != 0) {
      GTEST_SKIP() << "no browser: the package chromium is not installed";
    }
    testing::MakeReportCase(case_);
  }

  // `then`: a script that runs when the page is there, as a reader would act.
  std::string Rendered(const std::string& then = "") const {
    const testing::TemporaryFolder folder;
    EXPECT_TRUE(WriteFileAtomically(folder.File("page.html"),
                                    FormatHtmlReport(case_.report).value() +
                                        "<script>" + then + "</script>")
                    .ok());
    const std::string command = fmt::format(
        "cd {} && HOME={} timeout 120 chromium --headless --no-sandbox "
        "--disable-gpu --disable-dev-shm-usage --user-data-dir={} --dump-dom "
        "file://{} > dom.html 2> log",
        folder.path(), folder.path(), folder.File("profile"),
        folder.File("page.html"));
    const int status = std::system(command.c_str());
    EXPECT_EQ(status, 0) << ReadFile(folder.File("log")).value_or("no log");
    const std::string dom = ReadFile(folder.File("dom.html")).value_or("");
    return dom.substr(0, dom.find("<script"));  // which come last
  }

  testing::ReportCase case_;
};

TEST_F(ReportInBrowserTest, TheScriptsRunAndShowEverything) {
  const std::string dom = Rendered();
  EXPECT_THAT(dom, HasSubstr("data-rendered=\"true\""));
  EXPECT_THAT(dom, Not(HasSubstr("data-error")));
  // Peaks that the page counts itself, of the device and the host.
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
  EXPECT_THAT(dom, HasSubstr("<tr class=\"chosen\">"));
  // Names are text, wherever they are shown.
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

TEST_F(ReportInBrowserTest, ABareReportIsShownToo) {
  case_.report.facts.clear();
  case_.report.batch_size = 0;
  case_.report.device_budget.reset();
  case_.report.host_budget.reset();
  case_.report.bound.reset();
  case_.report.measured.reset();
  case_.report.tried.clear();
  case_.report.chosen.reset();
  const std::string dom = Rendered();
  EXPECT_THAT(dom, HasSubstr("data-rendered=\"true\""));
  EXPECT_THAT(dom, Not(HasSubstr("data-error")));
}

}  // namespace
}  // namespace spillway
