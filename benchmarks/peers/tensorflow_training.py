"""Training steps of the networks in TensorFlow: one tf.function, NHWC."""

import tensorflow as tf

import networks
from network_facts import NETWORKS, check_parameters
from step_program import LEARNING_RATE

VERSION = tf.__version__


class Layers(networks.Layers):
    relu = staticmethod(tf.nn.relu)
    relu6 = staticmethod(tf.nn.relu6)

    def conv(self, x, filters, kernel, stride=1, padding="SAME", bias=True):
        high, wide = networks.high_and_wide(kernel)
        weights = self.weights(high, wide, x.shape[-1], filters)
        y = tf.nn.conv2d(x, tf.cast(weights, x.dtype), stride, padding)
        return self.add_biases(y) if bias else y

    def add_biases(self, y):
        return tf.nn.bias_add(y, tf.cast(self.biases(y.shape[-1]), y.dtype))

    def depthwise(self, x, kernel, stride):
        weights = self.weights(kernel, kernel, x.shape[-1], 1)
        return tf.nn.depthwise_conv2d(x, tf.cast(weights, x.dtype),
                                      (1, stride, stride, 1), "SAME")

    def dense(self, x, units):
        weights = self.weights(x.shape[-1], units)
        return self.add_biases(x @ tf.cast(weights, x.dtype))

    def norm(self, x, epsilon, scale=True):
        channels = x.shape[-1]
        factor = self.scales(channels) if scale else tf.ones(channels)
        y, mean, variance = tf.compat.v1.nn.fused_batch_norm(
            x, factor, self.biases(channels), epsilon=epsilon)
        self.statistics.append((mean, variance))
        return y

    def max_pool(self, x, size, stride, padding="VALID"):
        return tf.nn.max_pool2d(x, size, stride, padding)

    def avg_pool(self, x, size, stride, padding):
        return tf.nn.avg_pool2d(x, size, stride, padding)

    def dropout(self, x, rate):
        return tf.nn.dropout(x, rate)

    def pad_channels(self, x, channels):
        more = channels - x.shape[-1]
        return tf.pad(x, ((0, 0),) * 3 + ((more // 2, more - more // 2),))

    def mean(self, x):
        return tf.reduce_mean(x, (1, 2))

    def flatten(self, x):
        return tf.reshape(x, (x.shape[0], -1))

    def concat(self, xs):
        return tf.concat(xs, -1)


class Training:
    """One network, its variables and one batch."""

    def __init__(self, options):
        tf.config.threading.set_intra_op_parallelism_threads(options.threads)
        tf.random.set_seed(1)
        facts = NETWORKS[options.model]
        self.network = networks.network(options.model)
        self.dtype = tf.bfloat16 if options.precision == "bf16" else tf.float32
        shape = (options.batch_size, facts.side, facts.side, facts.channels)
        self.images = tf.random.normal(shape)
        self.labels = tf.random.uniform(shape[:1], 0, facts.classes - 1, tf.int32)
        self.parameters, self.moving = self.start()
        check_parameters(options.model,
                         sum(p.shape.num_elements() for p in self.parameters))
        self.compiled = tf.function(self.train)
        self.last_loss = None

    def start(self):
        """Variables in the order in which the network requests them, and zeros
        as the initial moving averages."""
        parameters = []

        def create(shape, start):
            parameters.append(tf.Variable(networks.start_value(shape, start)))
            return parameters[-1]
        net = Layers(create)
        self.network(net, self.images[:1])
        return parameters, [tf.Variable(tf.zeros_like(each))
                            for pair in net.statistics for each in pair]

    def train(self, images, labels):
        given = iter(self.parameters)
        net = Layers(lambda *_: next(given))
        with tf.GradientTape() as tape:
            logits = self.network(net, tf.cast(images, self.dtype))
            loss = tf.reduce_mean(
                tf.nn.sparse_softmax_cross_entropy_with_logits(
                    labels, tf.cast(logits, tf.float32)))
        gradients = tape.gradient(loss, self.parameters)
        for variable, gradient in zip(self.parameters, gradients):
            variable.assign_sub(LEARNING_RATE * gradient)
        found = [each for pair in net.statistics for each in pair]
        for old, new in zip(self.moving, found):
            old.assign_add(networks.STATISTICS_RATE * (new - old))
        return loss

    def step(self):
        self.last_loss = self.compiled(self.images, self.labels)

    def wait(self):
        self.loss()

    def loss(self):
        return float(self.last_loss)
