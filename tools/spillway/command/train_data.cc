#include "tools/spillway/command/train_data.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "base/status_macros.h"
#include "fmt/format.h"
#include "training/data/cifar10.h"
#include "training/data/image_folder.h"
#include "training/data/mnist.h"
#include "training/data/tensor_file.h"
#include "training/data/text_file.h"

namespace spillway {
namespace {

using OpenedData = absl::StatusOr<std::unique_ptr<LabelledDataset>>;

template <typename Data>
OpenedData Open(const std::string& folder, Split split,
                const TrainDataSpec& /*spec*/) {
  return Data::Open(folder, split);
}

OpenedData OpenImages(const std::string& folder, Split split,
                      const TrainDataSpec& spec) {
  return ImageFolder::Open(folder, split,
                           {.size = spec.size,
                            .seed = spec.seed,
                            .skip_corrupt = spec.skip_corrupt});
}

OpenedData OpenText(const std::string& folder, Split split,
                    const TrainDataSpec& spec) {
  return TextFile::Open(folder, split,
                        {.length = spec.size, .seed = spec.seed});
}

struct DataSource {
  std::string_view name;
  OpenedData (*open)(const std::string& folder, Split split,
                     const TrainDataSpec& spec) = nullptr;
  std::string_view files = {};        // what its folder has
  std::string_view default_dir = {};  // empty: no default
};

constexpr std::string_view kMnistFiles =
    "train-images-idx3-ubyte, train-labels-idx1-ubyte, t10k-images-idx3-ubyte "
    "and t10k-labels-idx1-ubyte, also as .gz";

constexpr std::array<DataSource, 6> kSources = {{
    {"cifar10", Open<Cifar10>, "data_batch_1.bin to 5 and test_batch.bin"},
    // The folder of Debian's package dataset-fashion-mnist.
    {"fashion_mnist", Open<Mnist>, kMnistFiles,
     "/usr/share/datasets/fashion-mnist"},
    {"image_folder", OpenImages, "a folder of images for each class"},
    {"mnist", Open<Mnist>, kMnistFiles},
    {"safetensors", Open<TensorFile>, "train.safetensors and test.safetensors"},
    {"text", OpenText, "train.txt and test.txt"},
}};

absl::StatusOr<std::string> FolderOf(const DataSource& source,
                                     const std::string& folder) {
  if (!folder.empty()) return folder;
  if (!source.default_dir.empty()) return std::string(source.default_dir);
  return InvalidArgument(fmt::format(
      "--data_dir: --data {} has no default folder; give the one with {}",
      source.name, source.files));
}

}  // namespace

std::vector<std::string> DataNames() {
  std::vector<std::string> names;
  for (const DataSource& source : kSources) names.emplace_back(source.name);
  return names;
}

absl::StatusOr<TrainData> OpenTrainData(const TrainDataSpec& spec) {
  const DataSource& source =
      *std::ranges::find(kSources, spec.name, &DataSource::name);
  SPILLWAY_ASSIGN_OR_RETURN(const std::string path,
                            FolderOf(source, spec.folder));
  OpenedData training = source.open(path, Split::kTrain, spec);
  if (!training.ok()) return Annotate(training.status(), "--data_dir");
  OpenedData test = source.open(path, Split::kTest, spec);
  if (!test.ok()) return Annotate(test.status(), "--data_dir");
  return TrainData{.training = *std::move(training), .test = *std::move(test)};
}

}  // namespace spillway
