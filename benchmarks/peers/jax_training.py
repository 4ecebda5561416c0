"""Training steps of the networks in JAX: one jitted function with donated
parameters. JAX uses as many threads as the process has cores."""

import jax
from jax import lax, numpy as jnp

import networks
from network_facts import NETWORKS, check_parameters
from step_program import LEARNING_RATE

VERSION = jax.__version__


def over_windows(function, x, start, size, stride, padding):
    return lax.reduce_window(x, start, function, (1, size, size, 1),
                             (1, stride, stride, 1), padding)


class Layers(networks.Layers):
    """key: the random key of dropout."""

    relu = staticmethod(jax.nn.relu)
    relu6 = staticmethod(jax.nn.relu6)

    def __init__(self, parameter, key):
        super().__init__(parameter)
        self.key = key

    def conv(self, x, filters, kernel, stride=1, padding="SAME", bias=True,
             groups=1):
        high, wide = networks.high_and_wide(kernel)
        weights = self.weights(high, wide, x.shape[-1] // groups, filters)
        y = lax.conv_general_dilated(
            x, weights.astype(x.dtype), (stride, stride), padding,
            dimension_numbers=("NHWC", "HWIO", "NHWC"),
            feature_group_count=groups)
        return y + self.biases(filters).astype(x.dtype) if bias else y

    def depthwise(self, x, kernel, stride):
        channels = x.shape[-1]
        return self.conv(x, channels, kernel, stride, bias=False, groups=channels)

    def dense(self, x, units):
        weights = self.weights(x.shape[-1], units).astype(x.dtype)
        return x @ weights + self.biases(units).astype(x.dtype)

    def norm(self, x, epsilon, scale=True):
        channels = x.shape[-1]
        y = x.astype(jnp.float32)
        mean, variance = y.mean((0, 1, 2)), y.var((0, 1, 2))
        self.statistics.append((mean, variance))
        factor = lax.rsqrt(variance + epsilon)
        if scale:
            factor *= self.scales(channels)
        return ((y - mean) * factor + self.biases(channels)).astype(x.dtype)

    def max_pool(self, x, size, stride, padding="VALID"):
        return over_windows(lax.max, x, -jnp.inf, size, stride, padding)

    def avg_pool(self, x, size, stride, padding):
        total = over_windows(lax.add, x, 0., size, stride, padding)
        ones = jnp.ones((1, *x.shape[1:3], 1), x.dtype)
        return total / over_windows(lax.add, ones, 0., size, stride, padding)

    def dropout(self, x, rate):
        self.key, key = jax.random.split(self.key)
        kept = jax.random.bernoulli(key, 1 - rate, x.shape)
        return jnp.where(kept, x / (1 - rate), 0).astype(x.dtype)

    def pad_channels(self, x, channels):
        more = channels - x.shape[-1]
        return jnp.pad(x, ((0, 0),) * 3 + ((more // 2, more - more // 2),))

    def mean(self, x):
        return x.mean((1, 2))

    def flatten(self, x):
        return x.reshape(x.shape[0], -1)

    def concat(self, xs):
        return jnp.concatenate(xs, -1)


class Training:
    """One network, its parameters and one batch."""

    def __init__(self, options):
        facts = NETWORKS[options.model]
        self.network = networks.network(options.model)
        self.dtype = jnp.bfloat16 if options.precision == "bf16" else jnp.float32
        key = jax.random.key(1)
        shape = (options.batch_size, facts.side, facts.side, facts.channels)
        images = jax.random.normal(key, shape)
        labels = jax.random.randint(key, shape[:1], 0, facts.classes - 1)
        self.batch = images, labels
        parameters, moving = self.start(images, key)
        check_parameters(options.model, sum(p.size for p in parameters))
        self.state = parameters, moving, key
        self.compiled = jax.jit(self.train, donate_argnums=0)
        self.last_loss = None

    def start(self, images, key):
        """Parameters in the order in which the network requests them, and zeros
        as the initial moving averages."""
        parameters = []

        def create(shape, start):
            parameters.append(networks.start_value(shape, start))
            return parameters[-1]

        def found_statistics(images, key):
            net = Layers(create, key)
            self.network(net, images)
            return net.statistics
        shapes = jax.eval_shape(found_statistics, images, key)
        return ([jnp.asarray(values) for values in parameters],
                jax.tree.map(lambda each: jnp.zeros(each.shape), shapes))

    def loss_of(self, parameters, images, labels, key):
        given = iter(parameters)
        net = Layers(lambda *_: next(given), key)
        logits = self.network(net, images.astype(self.dtype))
        logs = jax.nn.log_softmax(logits.astype(jnp.float32))
        loss = -jnp.take_along_axis(logs, labels[:, None], 1).mean()
        return loss, net.statistics

    def train(self, state, images, labels):
        parameters, moving, key = state
        key, now = jax.random.split(key)
        (loss, found), gradients = jax.value_and_grad(
            self.loss_of, has_aux=True)(parameters, images, labels, now)
        parameters = [parameter - LEARNING_RATE * gradient
                      for parameter, gradient in zip(parameters, gradients)]
        moving = jax.tree.map(
            lambda old, new: old + networks.STATISTICS_RATE * (new - old),
            moving, found)
        return (parameters, moving, key), loss

    def step(self):
        self.state, self.last_loss = self.compiled(self.state, *self.batch)

    def wait(self):
        jax.block_until_ready(self.last_loss)

    def loss(self):
        return float(self.last_loss)
