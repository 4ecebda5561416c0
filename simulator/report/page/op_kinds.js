// The kind of work that an op does. A kind has the same colour in every report.
// An op that is not listed is of the last kind.

const opKinds = [
  {name: 'convolution', color: 'op-convolution', ops: [
    'Conv2D', 'Conv2DBackpropFilter', 'Conv2DBackpropInput', 'Conv2DTranspose', 'Conv3D',
    'Conv3DBackpropFilter', 'Conv3DBackpropInput', 'Conv3DTranspose']},
  {name: 'matrix product', color: 'op-matrix', ops: ['BatchMatMul', 'MatMul']},
  {name: 'normalisation', color: 'op-normalisation', ops: [
    'BatchNormApply', 'FusedBatchNorm', 'FusedBatchNormGrad', 'GroupNorm', 'GroupNormGrad',
    'LRN', 'LRNGrad', 'LayerNorm', 'LayerNormGrad']},
  {name: 'pooling', color: 'op-pooling', ops: [
    'AvgPool', 'AvgPool3D', 'AvgPool3DGrad', 'AvgPoolGrad', 'MaxPool', 'MaxPool3D',
    'MaxPool3DGrad', 'MaxPoolGrad']},
  {name: 'activation', color: 'op-activation', ops: [
    'Celu', 'CeluGrad', 'Clip', 'ClipGrad', 'Dropout', 'DropoutGrad', 'Elu', 'EluGrad',
    'Gelu', 'GeluGrad', 'HardSigmoid', 'HardSigmoidGrad', 'HardSwish', 'HardSwishGrad',
    'LeakyRelu', 'LeakyReluGrad', 'Mish', 'MishGrad', 'Relu', 'Relu6', 'Relu6Grad',
    'ReluGrad', 'Selu', 'SeluGrad', 'Shrink', 'ShrinkGrad', 'Sigmoid', 'SigmoidGrad', 'Silu',
    'SiluGrad', 'Softplus', 'SoftplusGrad', 'Softsign', 'SoftsignGrad', 'Tanh', 'TanhGrad',
    'ThresholdedRelu', 'ThresholdedReluGrad']},
  {name: 'sum or element by element', color: 'op-element', ops: [
    'Abs', 'AbsGrad', 'Add', 'AddN', 'BiasAdd', 'BiasAddGrad', 'Ceil', 'Cos', 'CosGrad',
    'Equal', 'Erf', 'ErfGrad', 'Exp', 'ExpGrad', 'Floor', 'GreaterShare', 'Less', 'LessEqual',
    'Log', 'LogGrad', 'LogicalAnd', 'LogicalOr', 'LogicalXor', 'Max', 'Maximum', 'Mean',
    'MeanGrad', 'Min', 'Minimum', 'Mul', 'Pow', 'Power', 'PowerGrad', 'Prod', 'RealDiv',
    'Reciprocal', 'ReciprocalGrad', 'Round', 'ScaleRows', 'Select', 'Sign', 'Sin', 'SinGrad',
    'Sqrt', 'SqrtGrad', 'Sub', 'Sum', 'SumGrad', 'TruncateDiv']},
  {name: 'loss or accuracy', color: 'op-loss', ops: [
    'ArgMax', 'InTopK', 'Softmax', 'SoftmaxGrad', 'SparseSoftmaxCrossEntropyWithLogits']},
  {name: 'update of variables', color: 'op-update', ops: [
    'AccumulateGradient', 'ApplyAdagrad', 'ApplyAdam', 'ApplyGradientDescent', 'ApplyLars',
    'ApplyMomentum', 'ApplyRMSProp', 'ApplyVelocity', 'AssignAdd', 'ClipByValue', 'NormFactor',
    'SquareSum']},
  {name: 'sum over ranks', color: 'op-ranks', ops: [
    'AllReduce', 'AllReduceInTurn', 'ErrorFeedbackAllReduce', 'SparseAllReduce']},
  {name: 'layout or type', color: 'op-layout', ops: [
    'BroadcastTo', 'Cast', 'Concat', 'ConcatInto', 'Gather', 'GatherGrad', 'Pad', 'Slice', 'Transpose']},
  {name: 'other', color: 'op-other', ops: []},
];
const otherKind = opKinds[opKinds.length - 1];
const kindOfOp = new Map(opKinds.flatMap((kind) => kind.ops.map((op) => [op, kind])));

const opKind = (op) => kindOfOp.get(op) || otherKind;

// [[kind, ns of the compute lane]], in the order of opKinds; kinds that take no
// time are left out.
function timesByKind(from) {
  const times = new Map(opKinds.map((kind) => [kind, 0]));
  for (const [op, ns] of timesByOp(from)) times.set(opKind(op), times.get(opKind(op)) + ns);
  return [...times].filter(([, ns]) => ns > 0);
}
