#include "tools/spillway/manual/man_page_prose.h"

#include <array>

namespace spillway {
namespace {

constexpr std::array<std::string_view, 3> kDescription = {
    "spillway trains neural networks whose training step needs more memory "
    "than the device has. It plans which tensors leave the device and when "
    "they return, so that the step fits a budget. A network that is trained "
    "with swapping is bitwise identical to the network trained without.",
    "Flags are written --flag value or --flag=value. A SIZE is 512MiB, 16GiB, "
    "1.5GB or a number of bytes. A boolean is --flag, --flag true or "
    "--flag=false.",
    "Results go to the standard output. Messages and progress go to the "
    "standard error output. Files are replaced as a whole or not at all.",
};

constexpr std::array<ManPageTerm, 3> kFiles = {{
    {"$XDG_CACHE_HOME/spillway/*.json",
     "Device profiles that spillway profile has measured on this machine; "
     "below $HOME/.cache where XDG_CACHE_HOME is not set."},
    {"PREFIX/share/spillway/profiles/*.json",
     "The shipped device profiles. The program contains them: --profile takes "
     "their names without the folder and without .json. PREFIX is the folder "
     "of the installation, /usr for the Debian package."},
    {"/usr/share/datasets/fashion-mnist",
     "Default of train --data_dir for --data fashion_mnist; of the Debian "
     "package dataset-fashion-mnist."},
}};

constexpr std::array<ManPageTerm, 2> kEnvironment = {{
    {"XDG_CACHE_HOME, HOME", "Where measured device profiles are kept."},
    {"OMP_WAIT_POLICY",
     "passive lets threads of the CPU device sleep while they wait. Set it on "
     "a machine that does other work."},
}};

constexpr std::array<ManPageExample, 4> kExamples = {{
    {"How much memory does a training step need, and how little would do?",
     "spillway inspect --model resnet50 --batch_size 32"},
    {"Would the step fit 1500 MiB with swapping, and how long would it take?",
     "spillway simulate --model resnet50 --batch_size 32 --device_memory "
     "1500MiB --lms v1"},
    {"Choose the fastest plan for a GPU of 2.5 GiB, and save it.",
     "spillway tune --model resnet50 --batch_size 64 --profile p100_pcie "
     "--device_memory 2.5GiB --out plan.json"},
    {"Train below the memory need of the network.",
     "spillway train --model mnist_deep --data fashion_mnist --batch_size 128 "
     "--device_memory 31714329 --lms v1 --checkpoint mnist.safetensors"},
}};

}  // namespace

std::span<const std::string_view> ManPageDescription() { return kDescription; }
std::span<const ManPageTerm> ManPageFiles() { return kFiles; }
std::span<const ManPageTerm> ManPageEnvironment() { return kEnvironment; }
std::span<const ManPageExample> ManPageExamples() { return kExamples; }

}  // namespace spillway
