"""Networks of Spillway's zoo, written once for every framework that has `Layers`.

A network is a function of the layers and a batch of images [batch, height,
width, channels]; it returns the logits. The layers are those of jax_training.py
or tensorflow_training.py. Padding is TensorFlow's SAME or VALID. Spillway's
ResNet pads a strided convolution equally on both sides instead; sizes and
multiply-adds are equal.
"""

import numpy

STATISTICS_RATE = 0.1  # how fast the moving averages follow the batches


class Layers:
    """Base of a framework's layers: the networks' parameters and statistics.

    parameter: returns a parameter for a shape and a start value; networks call
    it always in the same order. `statistics` collects mean and variance of each
    batch norm.
    """

    def __init__(self, parameter):
        self.parameter = parameter
        self.statistics = []

    def weights(self, *shape):
        """Initial values with a standard deviation that suits a ReLU after
        them."""
        return self.parameter(shape, None)

    def biases(self, size):
        return self.parameter((size,), 0)

    def scales(self, size):
        return self.parameter((size,), 1)


def high_and_wide(kernel):
    """`kernel`: a pair, or the side of a square."""
    return (kernel, kernel) if isinstance(kernel, int) else kernel


def start_value(shape, start):
    """Random numbers, or `start` for all elements."""
    if start is not None:
        return numpy.full(shape, start, numpy.float32)
    deviation = (2 / numpy.prod(shape[:-1])) ** 0.5
    random = numpy.random.default_rng(len(shape))
    return deviation * random.standard_normal(shape, numpy.float32)


# ResNet, version 1 -----------------------------------------------------------

def conv_norm(net, x, filters, kernel=1, stride=1, epsilon=1e-5):
    x = net.conv(x, filters, kernel, stride, bias=False)
    return net.norm(x, epsilon)


def bottleneck(net, x, middle, out, stride):
    y = net.relu(conv_norm(net, x, middle, 1, stride))
    y = net.relu(conv_norm(net, y, middle, 3))
    y = conv_norm(net, y, out)
    return net.relu(y + (x if x.shape[-1] == out
                         else conv_norm(net, x, out, 1, stride)))


def resnet(net, x, stages):
    x = net.relu(conv_norm(net, x, 64, 7, 2))
    x = net.max_pool(x, 3, 2, "SAME")
    for stage, blocks in enumerate(stages):
        for block in range(blocks):
            stride = 2 if stage > 0 and block == 0 else 1
            x = bottleneck(net, x, 64 << stage, 256 << stage, stride)
    return net.dense(net.mean(x), 1000)


def resnet50(net, x):
    return resnet(net, x, [3, 4, 6, 3])


def basic_block(net, x, filters, stride):
    y = net.relu(conv_norm(net, x, filters, 3, stride))
    y = conv_norm(net, y, filters, 3)
    shortcut = x[:, ::stride, ::stride]
    return net.relu(y + net.pad_channels(shortcut, filters))


def resnet20(net, x):
    x = conv_norm(net, x, 16, 3)
    for stage in range(3):
        for block in range(3):
            stride = 2 if stage > 0 and block == 0 else 1
            x = basic_block(net, x, 16 << stage, stride)
    return net.dense(net.mean(x), 10)


# VGG-16 and mnist_deep -------------------------------------------------------

def conv_relu(net, x, filters, kernel, stride=1):
    return net.relu(net.conv(x, filters, kernel, stride))


def vgg16(net, x):
    for filters, repeats in [(64, 2), (128, 2), (256, 3), (512, 3), (512, 3)]:
        for _ in range(repeats):
            x = conv_relu(net, x, filters, 3)
        x = net.max_pool(x, 2, 2)
    x = net.flatten(x)
    for _ in range(2):
        x = net.dropout(net.relu(net.dense(x, 4096)), 0.5)
    return net.dense(x, 1000)


def mnist_deep(net, x):
    for filters in (32, 64):
        x = net.max_pool(conv_relu(net, x, filters, 5), 2, 2)
    x = net.relu(net.dense(net.flatten(x), 1024))
    return net.dense(net.dropout(x, 0.5), 10)


# GoogLeNet -------------------------------------------------------------------

def inception(net, x, conv1, reduce3, conv3, reduce5, conv5, pool):
    return net.concat([
        conv_relu(net, x, conv1, 1),
        conv_relu(net, conv_relu(net, x, reduce3, 1), conv3, 3),
        conv_relu(net, conv_relu(net, x, reduce5, 1), conv5, 5),
        conv_relu(net, net.max_pool(x, 3, 1, "SAME"), pool, 1)])


def googlenet(net, x):
    x = net.max_pool(conv_relu(net, x, 64, 7, 2), 3, 2, "SAME")
    x = conv_relu(net, conv_relu(net, x, 64, 1), 192, 3)
    for modules in [
            [(64, 96, 128, 16, 32, 32), (128, 128, 192, 32, 96, 64)],
            [(192, 96, 208, 16, 48, 64), (160, 112, 224, 24, 64, 64),
             (128, 128, 256, 24, 64, 64), (112, 144, 288, 32, 64, 64),
             (256, 160, 320, 32, 128, 128)],
            [(256, 160, 320, 32, 128, 128), (384, 192, 384, 48, 128, 128)]]:
        x = net.max_pool(x, 3, 2, "SAME")
        for module in modules:
            x = inception(net, x, *module)
    return net.dense(net.mean(x), 1000)


# Inception 3 -----------------------------------------------------------------

def shift_norm(net, x, filters, kernel, stride=1, padding="SAME"):
    x = net.conv(x, filters, kernel, stride, padding, bias=False)
    return net.relu(net.norm(x, 1e-3, scale=False))


def chain(net, x, *convolutions):
    """Convolutions (filters, kernel[, stride, padding]) one after another."""
    for convolution in convolutions:
        x = shift_norm(net, x, *convolution)
    return x


def averaged(net, x, filters):
    return shift_norm(net, net.avg_pool(x, 3, 1, "SAME"), filters, 1)


def module_a(net, x, pooled):
    return net.concat([chain(net, x, (64, 1)),
                       chain(net, x, (48, 1), (64, 5)),
                       chain(net, x, (64, 1), (96, 3), (96, 3)),
                       averaged(net, x, pooled)])


def module_b(net, x):
    return net.concat([chain(net, x, (384, 3, 2, "VALID")),
                       chain(net, x, (64, 1), (96, 3), (96, 3, 2, "VALID")),
                       net.max_pool(x, 3, 2)])


def module_c(net, x, n):
    wide, high = (1, 7), (7, 1)
    return net.concat([chain(net, x, (192, 1)),
                       chain(net, x, (n, 1), (n, wide), (192, high)),
                       chain(net, x, (n, 1), (n, high), (n, wide), (n, high),
                             (192, wide)),
                       averaged(net, x, 192)])


def module_d(net, x):
    return net.concat([chain(net, x, (192, 1), (320, 3, 2, "VALID")),
                       chain(net, x, (192, 1), (192, (1, 7)), (192, (7, 1)),
                             (192, 3, 2, "VALID")),
                       net.max_pool(x, 3, 2)])


def module_e(net, x, pool):
    def split(y):
        return [chain(net, y, (384, (1, 3))), chain(net, y, (384, (3, 1)))]
    return net.concat([chain(net, x, (320, 1)),
                       *split(chain(net, x, (384, 1))),
                       *split(chain(net, x, (448, 1), (384, 3))),
                       chain(net, pool(x, 3, 1, "SAME"), (192, 1))])


def inception3(net, x):
    x = chain(net, x, (32, 3, 2, "VALID"), (32, 3, 1, "VALID"), (64, 3))
    x = chain(net, net.max_pool(x, 3, 2), (80, 1), (192, 3, 1, "VALID"))
    x = net.max_pool(x, 3, 2)
    for pooled in (32, 64, 64):
        x = module_a(net, x, pooled)
    x = module_b(net, x)
    for n in (128, 160, 160, 192):
        x = module_c(net, x, n)
    x = module_d(net, x)
    x = module_e(net, x, net.avg_pool)
    x = module_e(net, x, net.max_pool)
    return net.dense(net.mean(x), 1000)


# MobileNetV2 -----------------------------------------------------------------

def inverted_residual(net, x, expansion, filters, stride):
    channels, y = x.shape[-1], x
    if expansion != 1:
        y = net.relu6(conv_norm(net, y, channels * expansion, epsilon=1e-3))
    y = net.relu6(net.norm(net.depthwise(y, 3, stride), 1e-3))
    y = conv_norm(net, y, filters, epsilon=1e-3)
    return x + y if stride == 1 and channels == filters else y


def mobilenet_v2(net, x):
    x = net.relu6(conv_norm(net, x, 32, 3, 2, epsilon=1e-3))
    for expansion, filters, repeats, stride in [
            (1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2),
            (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)]:
        for block in range(repeats):
            x = inverted_residual(net, x, expansion, filters,
                                  stride if block == 0 else 1)
    x = net.relu6(conv_norm(net, x, 1280, epsilon=1e-3))
    return net.dense(net.dropout(net.mean(x), 0.2), 1000)


NETWORKS = {network.__name__: network for network in [
    resnet50, resnet20, vgg16, mnist_deep, googlenet, inception3, mobilenet_v2]}


def network(name):
    """The function that builds a network."""
    if name not in NETWORKS:
        raise ValueError(f"{name} is built in PyTorch alone")
    return NETWORKS[name]
