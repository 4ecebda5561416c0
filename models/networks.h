// The networks of the zoo (models/zoo.h), each in the file of its name: from
// images to logits. `options` have no zeros left.
#ifndef SPILLWAY_MODELS_NETWORKS_H_
#define SPILLWAY_MODELS_NETWORKS_H_

#include <cstdint>
#include <vector>

#include "graph/builder/builder.h"

namespace spillway {

// What a network is built from. A size of 0 means the model's default.
struct ModelOptions {
  int64_t batch_size = 0;
  int64_t image_size = 0;  // height and width
  int64_t channels = 0;
  int64_t num_classes = 0;
  // False: no dropout, batch norm by its moving statistics.
  bool is_training = true;
  // Of activations and their gradients. Variables and the loss are float32.
  DType dtype = DType::kFloat32;
  // The side classifiers that published training runs of some networks have.
  bool auxiliary_head = false;
};

// The logits of a side classifier, and the weight of their loss in the whole.
struct AuxiliaryLogits {
  Tensor logits = {};  // as Network::logits
  double weight = 0.4;
};

struct Network {
  Tensor features = {};  // the last map, before it is flattened or averaged
  Tensor logits = {};    // [rows, num_classes], a row for each label

  // The labels, if there is more than one an image: [batch, height, width] for
  // a class for each pixel, say. Its elements in order are the rows of logits.
  Shape labels = {};

  std::vector<AuxiliaryLogits> auxiliary = {};

  // Numbers to be fitted to a feed of their shape, by mean squared distance:
  // the boxes of a detector. Invalid: none.
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

Network Ssd300(GraphBuilder& g, Tensor images, const ModelOptions& options);

}  // namespace spillway

#endif  // SPILLWAY_MODELS_NETWORKS_H_
