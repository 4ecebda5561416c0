// Reading training batches of 64 images from a folder of JPEG files (500 x 375
// pixels, as most of ImageNet's) into float32 [64, 224, 224, 3], on 1 to 4
// threads. items_per_second is images/s. The files stay in the system's cache,
// so the time is that of decoding, cropping and resizing, and of the two alone.
#include <benchmark/benchmark.h>
#include <stdlib.h>

#include <filesystem>
#include <memory>
#include <string>

#include "base/check.h"
#include "benchmarks/micro/photograph.h"
#include "tests/support/make_image.h"
#include "training/data/batched.h"
#include "training/data/choose_crop.h"
#include "training/data/decode_image.h"
#include "training/data/image_folder.h"
#include "training/data/resize_image.h"
#include "training/data/shuffled.h"

namespace spillway {
namespace {

constexpr int64_t kSample = 224;
constexpr int64_t kBatch = 64;

// A folder of two classes, deleted by the destructor.
class PhotographFolder {
 public:
  PhotographFolder()
      : path_(std::filesystem::temp_directory_path() / "reader-XXXXXX") {
    SPILLWAY_CHECK(mkdtemp(path_.data()) != nullptr);
    SPILLWAY_CHECK(WritePhotographs(path_, kBatch).ok());
  }
  ~PhotographFolder() { std::filesystem::remove_all(path_); }
  PhotographFolder(const PhotographFolder&) = delete;
  PhotographFolder& operator=(const PhotographFolder&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

void ReadBatch(benchmark::State& state) {
  const PhotographFolder folder;
  const auto data =
      ImageFolder::Open(folder.path(), Split::kTrain, {.size = kSample});
  SPILLWAY_CHECK(data.ok());
  int64_t epoch = 0;
  for ([[maybe_unused]] const auto& iteration : state) {
    const Shuffled shuffled(**data, {.epoch = epoch++});
    const Batched batches(shuffled,
                          {.batch_size = kBatch,
                           .reader_threads = static_cast<int>(state.range(0))});
    SPILLWAY_CHECK(batches.Get(0).ok());
  }
  state.SetItemsProcessed(state.iterations() * kBatch);
}
BENCHMARK(ReadBatch)->DenseRange(1, 2)->Arg(4)->UseRealTime()->Unit(
    benchmark::kMillisecond);

void DecodeJpegFile(benchmark::State& state) {
  const std::string file = testing::MakeJpeg(Photograph(1));
  state.counters["file_bytes"] = static_cast<double>(file.size());
  for ([[maybe_unused]] const auto& iteration : state) {
    SPILLWAY_CHECK(DecodeImage(file, "a.jpg").ok());
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(DecodeJpegFile)->Unit(benchmark::kMillisecond);

void CropAndResize(benchmark::State& state) {
  const RgbImage image = Photograph(1);
  uint64_t key = 0;
  for ([[maybe_unused]] const auto& iteration : state) {
    const Crop crop = RandomCrop(
        {.height = image.height, .width = image.width, .sample = kSample}, {},
        key++);
    benchmark::DoNotOptimize(ResizeImage(image, crop));
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(CropAndResize)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace spillway
