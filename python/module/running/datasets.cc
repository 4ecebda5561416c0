#include "python/module/running/datasets.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <utility>

#include "base/status_macros.h"
#include "pybind11/stl.h"
#include "python/module/arrays.h"
#include "python/module/options.h"
#include "python/module/status.h"
#include "training/data/cifar10.h"
#include "training/data/image_folder.h"
#include "training/data/mnist.h"
#include "training/data/tensor_file.h"

namespace spillway::python {
namespace {

namespace py = pybind11;

int64_t RowsOf(py::handle array, const std::string& name) {
  try {
    return static_cast<int64_t>(py::len(array));
  } catch (const py::error_already_set&) {
    throw StatusError(
        InvalidArgument(fmt::format("{} is no array of samples", name)));
  }
}

// Of one row of the step's input `name`.
TensorType RowType(const Step& step, const std::string& name) {
  const TensorType& type = step.input(name).type;
  if (type.shape.rank() == 0) {
    throw StatusError(InvalidArgument(
        fmt::format("{} is one number a step, so it cannot be data", name)));
  }
  const std::vector<int64_t> dims = type.shape.dims();
  return {.dtype = type.dtype,
          .shape = Shape(std::vector<int64_t>(dims.begin() + 1, dims.end()))};
}

TensorType WithRows(const TensorType& row, int64_t rows) {
  std::vector<int64_t> dims = row.shape.dims();
  dims.insert(dims.begin(), rows);
  return {.dtype = row.dtype, .shape = Shape(dims)};
}

std::vector<TensorType> RowTypes(const Step& step,
                                 const std::vector<std::string>& names) {
  std::vector<TensorType> types;
  for (const std::string& name : names) types.push_back(RowType(step, name));
  return types;
}

// Arrays [rows, ...], by name. Reading needs no GIL.
class ArrayDataset : public Dataset {
 public:
  ArrayDataset(const py::dict& arrays, const std::vector<std::string>& names,
               const Step& step);

  int64_t size() const override { return size_; }
  const std::vector<TensorType>& fields() const override { return fields_; }
  absl::Status Read(int64_t index,
                    std::span<std::byte* const> buffers) const override;

 private:
  int64_t size_ = 0;
  std::vector<TensorType> fields_;
  std::vector<ArrayTensor> tensors_;
};

ArrayDataset::ArrayDataset(const py::dict& arrays,
                           const std::vector<std::string>& names,
                           const Step& step)
    : fields_(RowTypes(step, names)) {
  for (const auto& [key, value] : arrays) {
    const auto name = py::cast<std::string>(key);
    step.input(name);
    if (std::ranges::find(names, name) == names.end()) {
      throw StatusError(InvalidArgument(
          fmt::format("{} is fed by the training itself", name)));
    }
  }
  for (const std::string& name : names) {
    if (!arrays.contains(name)) {
      throw StatusError(InvalidArgument(fmt::format(
          "the data has no '{}': it needs {}", name, fmt::join(names, ", "))));
    }
    const py::object value = arrays[py::str(name)];
    const int64_t rows = RowsOf(value, name);
    if (tensors_.empty()) size_ = rows;
    if (rows != size_) {
      throw StatusError(InvalidArgument(fmt::format(
          "{} has {} samples, {} has {}", names[0], size_, name, rows)));
    }
    const TensorType type = WithRows(RowType(step, name), rows);
    tensors_.push_back(TensorOf(value, type, name));
  }
}

absl::Status ArrayDataset::Read(int64_t index,
                                std::span<std::byte* const> buffers) const {
  SPILLWAY_RETURN_IF_ERROR(CheckIndex(*this, index));
  for (size_t i = 0; i < fields_.size(); ++i) {
    const auto bytes = static_cast<size_t>(fields_[i].num_bytes());
    const auto* data = static_cast<const std::byte*>(tensors_[i].view.data);
    std::memcpy(buffers[i], data + static_cast<size_t>(index) * bytes, bytes);
  }
  return absl::OkStatus();
}

// An object that is asked for each row, such as a Dataset of PyTorch.
class ItemDataset : public Dataset {
 public:
  ItemDataset(py::object items, std::vector<std::string> names,
              const Step& step)
      : items_(std::move(items)),
        names_(std::move(names)),
        fields_(RowTypes(step, names_)),
        size_(RowsOf(items_, "the data")) {}
  ItemDataset(const ItemDataset&) = delete;
  ItemDataset& operator=(const ItemDataset&) = delete;

  int64_t size() const override { return size_; }
  const std::vector<TensorType>& fields() const override { return fields_; }

  absl::Status Read(int64_t index,
                    std::span<std::byte* const> buffers) const override {
    SPILLWAY_RETURN_IF_ERROR(CheckIndex(*this, index));
    const py::gil_scoped_acquire gil;
    try {
      Copy(items_[py::int_(index)], buffers);
    } catch (const py::error_already_set& error) {
      return InvalidArgument(fmt::format("row {}: {}", index, error.what()));
    } catch (const StatusError& error) {
      return Annotate(error.status(), fmt::format("row {}", index));
    }
    return absl::OkStatus();
  }

 private:
  void Copy(const py::object& item, std::span<std::byte* const> buffers) const {
    const bool has_names = py::isinstance<py::dict>(item);
    if (!has_names && py::len(item) != names_.size()) {
      throw StatusError(InvalidArgument(
          fmt::format("it has {} fields, not {}: {}", py::len(item),
                      names_.size(), fmt::join(names_, ", "))));
    }
    for (size_t i = 0; i < names_.size(); ++i) {
      const py::object value = has_names ? py::object(item[names_[i].c_str()])
                                         : py::object(item[py::int_(i)]);
      const ArrayTensor field = TensorOf(value, fields_[i], names_[i]);
      std::memcpy(buffers[i], field.view.data,
                  static_cast<size_t>(fields_[i].num_bytes()));
    }
  }

  py::object items_;
  std::vector<std::string> names_;
  std::vector<TensorType> fields_;
  int64_t size_;
};

Split SplitFrom(py::handle name) {
  return ChoiceOf<Split>(name,
                         {{"train", Split::kTrain}, {"test", Split::kTest}});
}

template <typename T>
FileDataset Opened(absl::StatusOr<std::unique_ptr<T>> opened) {
  std::shared_ptr<const T> rows = ValueOrThrow(std::move(opened));
  const int64_t num_classes = rows->num_classes();
  return {.rows = std::move(rows), .num_classes = num_classes};
}

FileDataset OpenImageFolder(const py::object& folder, py::handle split,
                            const py::kwargs& arguments) {
  ImageFolderOptions options;
  Apply(arguments, {{"size", To(options.size)},
                    {"seed", To(options.seed)},
                    {"skip_corrupt", To(options.skip_corrupt)}});
  return Opened(ImageFolder::Open(PathFrom(folder), SplitFrom(split), options));
}

py::tuple ItemOf(const FileDataset& data, int64_t index) {
  if (index < 0) index += data.rows->size();
  if (index < 0 || index >= data.rows->size()) {
    throw py::index_error(fmt::format("{} rows", data.rows->size()));
  }
  Batch batch = ValueOrThrow(data.rows->Get(index));
  py::tuple fields(batch.size());
  for (size_t i = 0; i < batch.size(); ++i) {
    fields[i] = ArrayOf(std::move(batch.fields[i]));
  }
  return fields;
}

}  // namespace

std::shared_ptr<const Dataset> DatasetFrom(
    const py::object& data, const std::vector<std::string>& names,
    const Step& step) {
  if (py::isinstance<FileDataset>(data)) {
    return data.cast<const FileDataset&>().rows;
  }
  if (py::isinstance<py::dict>(data)) {
    return std::make_shared<ArrayDataset>(data.cast<py::dict>(), names, step);
  }
  if (py::hasattr(data, "__getitem__") && py::hasattr(data, "__len__")) {
    return std::make_shared<ItemDataset>(data, names, step);
  }
  throw StatusError(InvalidArgument(
      "data is a dict of arrays, a spillway.data.Dataset, or an object with "
      "__len__ and __getitem__"));
}

void BindDatasets(py::module_& module) {
  py::class_<FileDataset>(
      module, "Dataset",
      "Labelled images in files, for spillway.train. len(data) is the number "
      "of rows, data[i] a tuple (image, label) of NumPy arrays: float32 "
      "[height, width, channels] and int32.")
      .def_readonly("num_classes", &FileDataset::num_classes)
      .def("__len__", [](const FileDataset& data) { return data.rows->size(); })
      .def("__getitem__", ItemOf, py::arg("index"));
  module.def(
      "mnist",
      [](const py::object& folder, py::handle split) {
        return Opened(Mnist::Open(PathFrom(folder), SplitFrom(split)));
      },
      py::arg("folder"), py::arg("split") = "train",
      "MNIST or Fashion-MNIST, in their published files, plain or .gz.");
  module.def(
      "cifar10",
      [](const py::object& folder, py::handle split) {
        return Opened(Cifar10::Open(PathFrom(folder), SplitFrom(split)));
      },
      py::arg("folder"), py::arg("split") = "train",
      "CIFAR-10 in its published binary files.");
  module.def(
      "image_folder", OpenImageFolder, py::arg("folder"),
      py::arg("split") = "train",
      R"(JPEG and PNG files, folder/train/CLASS/*.jpg and folder/test/... (docs/data.md).

Keyword arguments: size (224, of the square crop: at random for "train", of the
middle for "test"), seed (of the crops), skip_corrupt (True: an image that
cannot be read is replaced by the next of its class).)");
  module.def(
      "tensor_file",
      [](const py::object& path, int64_t num_classes) {
        return Opened(
            TensorFile::OpenFile(PathFrom(path), {.num_classes = num_classes}));
      },
      py::arg("path"), py::arg("num_classes") = 0,
      "A safetensors file with images [rows, height, width, channels], U8 or "
      "F32, and labels [rows].");
}

}  // namespace spillway::python
