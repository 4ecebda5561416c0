// The networks of the zoo (models/zoo.h), from images to logits. Each is in the
// file of its name. No size in `options` is 0: the defaults are filled in.
#ifndef SPILLWAY_MODELS_NETWORKS_H_
#define SPILLWAY_MODELS_NETWORKS_H_

#include <cstdint>
#include <vector>

#include "graph/builder/builder.h"

namespace spillway {

// What a network is built from. A size of 0 means the model's default.
struct ModelOptions {
  int64_t batch_size = 0;
  int64_t image_size = 0;  // height and width; of a text: its length
  int64_t channels = 0;
  int64_t num_classes = 0;
  // false: no dropout; batch norm uses the moving averages.
  bool is_training = true;
  // Of activations and their gradients. Variables and the loss are float32.
  DType dtype = DType::kFloat32;
  // The auxiliary classifiers of the published training runs of some networks.
  bool auxiliary_head = false;
};

// The logits of an auxiliary classifier, and the weight of their loss.
struct AuxiliaryLogits {
  Tensor logits = {};  // as Network::logits
  double weight = 0.4;
};

struct Network {
  Tensor features = {};  // the last map, before it is flattened or averaged
  Tensor logits = {};    // [rows, num_classes], one row per label

  // The labels' shape if there are several labels per image: for example
  // [batch, height, width], a class for each pixel. Row-major, its elements
  // match the rows of logits. Rank 0: [batch].
  Shape labels = {};

  std::vector<AuxiliaryLogits> auxiliary = {};

  // Numbers that are fitted to a feed of their shape by mean squared distance:
  // the boxes of a detector. Invalid: no regression.
  Tensor regression = {};
};

Network LeNet(GraphBuilder& g, Tensor images, const ModelOptions& options);
Network MnistDeep(GraphBuilder& g, Tensor images, const ModelOptions& options);
Network Trivial(GraphBuilder& g, Tensor images, const ModelOptions& options);

Network AlexNet(GraphBuilder& g, Tensor images, const ModelOptions& options);
Network AlexNetCifar(GraphBuilder& g, Tensor images,
                     const ModelOptions& options);
Network OverFeat(GraphBuilder& g, Tensor images, const ModelOptions& options);
Network Cifar10Full(GraphBuilder& g, Tensor images,
                    const ModelOptions& options);

Network Vgg11(GraphBuilder& g, Tensor images, const ModelOptions& options);
Network Vgg16(GraphBuilder& g, Tensor images, const ModelOptions& options);
Network Vgg19(GraphBuilder& g, Tensor images, const ModelOptions& options);

Network GoogLeNet(GraphBuilder& g, Tensor images, const ModelOptions& options);
Network Inception3(GraphBuilder& g, Tensor images, const ModelOptions& options);
Network Inception4(GraphBuilder& g, Tensor images, const ModelOptions& options);

Network ResNet50(GraphBuilder& g, Tensor images, const ModelOptions& options);
Network ResNet50V15(GraphBuilder& g, Tensor images,
                    const ModelOptions& options);
Network ResNet50V2(GraphBuilder& g, Tensor images, const ModelOptions& options);
Network ResNet101(GraphBuilder& g, Tensor images, const ModelOptions& options);
Network ResNet101V15(GraphBuilder& g, Tensor images,
                     const ModelOptions& options);
Network ResNet101V2(GraphBuilder& g, Tensor images,
                    const ModelOptions& options);
Network ResNet152(GraphBuilder& g, Tensor images, const ModelOptions& options);
Network ResNet152V15(GraphBuilder& g, Tensor images,
                     const ModelOptions& options);
Network ResNet152V2(GraphBuilder& g, Tensor images,
                    const ModelOptions& options);

Network ResNet20(GraphBuilder& g, Tensor images, const ModelOptions& options);
Network ResNet20V2(GraphBuilder& g, Tensor images, const ModelOptions& options);
Network ResNet32(GraphBuilder& g, Tensor images, const ModelOptions& options);
Network ResNet32V2(GraphBuilder& g, Tensor images, const ModelOptions& options);
Network ResNet44(GraphBuilder& g, Tensor images, const ModelOptions& options);
Network ResNet44V2(GraphBuilder& g, Tensor images, const ModelOptions& options);
Network ResNet56(GraphBuilder& g, Tensor images, const ModelOptions& options);
Network ResNet56V2(GraphBuilder& g, Tensor images, const ModelOptions& options);
Network ResNet110(GraphBuilder& g, Tensor images, const ModelOptions& options);
Network ResNet110V2(GraphBuilder& g, Tensor images,
                    const ModelOptions& options);

Network DenseNet40K12(GraphBuilder& g, Tensor images,
                      const ModelOptions& options);
Network DenseNet100K12(GraphBuilder& g, Tensor images,
                       const ModelOptions& options);
Network DenseNet100K24(GraphBuilder& g, Tensor images,
                       const ModelOptions& options);

Network MobileNet(GraphBuilder& g, Tensor images, const ModelOptions& options);
Network MobileNetV2(GraphBuilder& g, Tensor images,
                    const ModelOptions& options);

Network NasNetCifar(GraphBuilder& g, Tensor images,
                    const ModelOptions& options);
Network NasNetLarge(GraphBuilder& g, Tensor images,
                    const ModelOptions& options);
Network NasNetMobile(GraphBuilder& g, Tensor images,
                     const ModelOptions& options);

Network UNet2D(GraphBuilder& g, Tensor images, const ModelOptions& options);
Network UNet2DValid(GraphBuilder& g, Tensor images,
                    const ModelOptions& options);
Network UNet3D(GraphBuilder& g, Tensor images, const ModelOptions& options);

Network VitTiny(GraphBuilder& g, Tensor images, const ModelOptions& options);
// `tokens`: int32 [batch_size, image_size], each below num_classes.
Network GptTiny(GraphBuilder& g, Tensor tokens, const ModelOptions& options);

Network Ssd300(GraphBuilder& g, Tensor images, const ModelOptions& options);

}  // namespace spillway

#endif  // SPILLWAY_MODELS_NETWORKS_H_
