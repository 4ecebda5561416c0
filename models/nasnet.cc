// The networks of NASNet-A: a stem, three stacks of normal cells, and reduction
// cells between them, which double the filters.
//
// Drop path is left out: the authors' code begins training without it and
// reaches its full rate after hundreds of thousands of steps.
//
// Source: Zoph et al., "Learning transferable architectures for scalable image
// recognition", CVPR 2018, figure 2 and appendix A; sizes as in the authors'
// code (tensorflow/models, slim/nets/nasnet).
#include <fmt/format.h>

#include <string_view>
#include <vector>

#include "models/layers/blocks.h"
#include "models/layers/layers.h"
#include "models/nasnet_cells.h"
#include "models/networks.h"

namespace spillway {
namespace {

struct NasNet {
  int normal_cells = 0;  // in all three stacks
  int64_t filters = 0;   // in the first stack
  int64_t stem_filters = 0;
  // Two reduction cells follow the stem, which begins with a stride of 2.
  bool is_for_imagenet = true;
  // The cell after a reduction reads the same previous map as the reduction.
  bool skips_reductions = false;
  double dropout_rate = 0.5;
  double norm_epsilon = 1e-3;
  double norm_momentum = 0.9997;
};

struct Stack {
  GraphBuilder* builder = nullptr;
  BatchNormOptions norm = {};
  Tensor stem = {};               // before ReLU, if the first cell reads that
  std::vector<Tensor> maps = {};  // of the stem and of all cells, after ReLU

  NasNetCell Cell(std::string_view name, int64_t filters) const {
    return {.scope = builder->Scope(name), .filters = filters, .norm = norm};
  }
  // The map before the last one; invalid before the first cell.
  Tensor previous() const {
    return maps.size() < 2 ? Tensor() : maps[maps.size() - 2];
  }
};

void AddReduction(Stack& stack, const NasNetCell& cell) {
  const Tensor current = stack.maps.back();
  const Tensor previous = stack.previous();
  const Tensor fitted = FitPrevious(cell, previous, current, Activation::kRelu);
  stack.maps.push_back(ReductionCell(
      cell, {.current = current,
             .previous_relu = previous.is_valid() ? fitted : current}));
}

void AddNormal(Stack& stack, const NasNetCell& cell, Tensor previous) {
  NasNetInputs inputs = {.current = stack.maps.back()};
  if (previous.is_valid()) {
    inputs.previous =
        FitPrevious(cell, previous, inputs.current, Activation::kNone);
    inputs.previous_relu = Relu(cell.scope.Scope("previous"), inputs.previous);
  } else {
    inputs.previous = stack.stem;
    inputs.previous_relu = inputs.current;
  }
  stack.maps.push_back(NormalCell(cell, inputs));
}

void AddImageNetStem(Stack& stack, Tensor images, const NasNet& net) {
  const NameScope scope = stack.builder->Scope("conv1");
  BatchNormOptions norm = stack.norm;
  norm.activation = Activation::kRelu;
  stack.maps.push_back(ConvNorm(scope, images,
                                {.filters = net.stem_filters,
                                 .kernel = {3, 3},
                                 .strides = {2, 2},
                                 .padding = "VALID"},
                                norm));
  AddReduction(stack, stack.Cell("stem1", net.filters / 4));
  AddReduction(stack, stack.Cell("stem2", net.filters / 2));
}

void AddCifarStem(Stack& stack, Tensor images, const NasNet& net) {
  const NameScope scope = stack.builder->Scope("conv1");
  stack.stem =
      ConvNorm(scope, images, {.filters = net.stem_filters, .kernel = {3, 3}},
               stack.norm);
  stack.maps.push_back(Relu(scope, stack.stem));
}

// The last convolution covers the whole map, of any size.
Tensor NasNetHead(const NameScope& scope, Tensor x, BatchNormOptions norm,
                  int64_t num_classes) {
  norm.activation = Activation::kRelu;
  x = AvgPool(scope.Scope("pool"), x, {.window = {5, 5}, .strides = {3, 3}});
  x = ConvNorm(scope.Scope("conv1"), x, {.filters = 128}, norm);
  if (!x.is_valid()) return x;
  x = ConvNorm(scope.Scope("conv2"), x,
               {.filters = 768,
                .kernel = {x.shape().dim(1), x.shape().dim(2)},
                .padding = "VALID"},
               norm);
  x = Flatten(scope.Scope("flatten"), x);
  return Dense(scope.Scope("logits"), x, {.units = num_classes});
}

Tensor NasNetLogits(GraphBuilder& g, Tensor x, const ModelOptions& options,
                    double dropout_rate) {
  x = GlobalAveragePool(g.Scope("pool"), x);
  x = Dropout(g.Scope("dropout"), x,
              {.rate = dropout_rate,
               .is_training = options.is_training && dropout_rate > 0});
  return Dense(g.Scope("logits"), x, {.units = options.num_classes});
}

Network BuildNasNet(GraphBuilder& g, Tensor images, const ModelOptions& options,
                    const NasNet& net) {
  Stack stack = {.builder = &g,
                 .norm = {.epsilon = net.norm_epsilon,
                          .momentum = net.norm_momentum,
                          .is_training = options.is_training}};
  if (net.is_for_imagenet) {
    AddImageNetStem(stack, images, net);
  } else {
    AddCifarStem(stack, images, net);
  }
  Network network;
  const int third = net.normal_cells / 3;
  int64_t filters = net.filters;
  for (int cell = 0; cell < net.normal_cells && g.status().ok(); ++cell) {
    Tensor previous = stack.previous();
    if (cell > 0 && cell % third == 0) {
      filters *= 2;
      const auto name = fmt::format("reduction{}", cell / third);
      AddReduction(stack, stack.Cell(name, filters));
      if (!net.skips_reductions) previous = stack.previous();
    }
    const auto name = fmt::format("cell{}", cell + 1);
    AddNormal(stack, stack.Cell(name, filters), previous);
    if (options.auxiliary_head && cell + 1 == 2 * third) {
      const NameScope scope = g.Scope("auxiliary");
      network.auxiliary.push_back(
          {.logits = NasNetHead(scope, stack.maps.back(), stack.norm,
                                options.num_classes)});
    }
  }
  network.features = stack.maps.back();
  network.logits = NasNetLogits(g, network.features, options, net.dropout_rate);
  return network;
}

}  // namespace

Network NasNetMobile(GraphBuilder& g, Tensor images,
                     const ModelOptions& options) {
  return BuildNasNet(g, images, options,
                     {.normal_cells = 12, .filters = 44, .stem_filters = 32});
}

Network NasNetLarge(GraphBuilder& g, Tensor images,
                    const ModelOptions& options) {
  return BuildNasNet(g, images, options,
                     {.normal_cells = 18,
                      .filters = 168,
                      .stem_filters = 96,
                      .skips_reductions = true});
}

Network NasNetCifar(GraphBuilder& g, Tensor images,
                    const ModelOptions& options) {
  return BuildNasNet(g, images, options,
                     {.normal_cells = 18,
                      .filters = 32,
                      .stem_filters = 96,
                      .is_for_imagenet = false,
                      .dropout_rate = 0,
                      .norm_epsilon = 1e-5,
                      .norm_momentum = 0.9});
}

}  // namespace spillway
