// The classes GraphBuilder and Tensor of Python.
#ifndef SPILLWAY_PYTHON_MODULE_GRAPH_GRAPH_BUILDER_H_
#define SPILLWAY_PYTHON_MODULE_GRAPH_GRAPH_BUILDER_H_

#include <memory>
#include <string>
#include <vector>

#include "graph/builder/builder.h"
#include "pybind11/pybind11.h"
#include "python/module/graph/numpy_op.h"
#include "python/module/status.h"

namespace spillway::python {

class Builder;

// A tensor keeps its builder alive.
struct Value {
  std::shared_ptr<Builder> builder = {};
  Tensor tensor = {};
};

class Builder : public std::enable_shared_from_this<Builder> {
 public:
  explicit Builder(const std::string& name) : g_(Ops(), name) {}

  GraphBuilder& graph() { return g_; }

  void Enter(const std::string& name) { scopes_.push_back(name); }
  void Leave() { scopes_.pop_back(); }

  NameScope Scope(const std::string& name) {
    NameScope scope(g_);
    for (const std::string& outer : scopes_) scope = scope.Scope(outer);
    return name.empty() ? scope : scope.Scope(name);
  }

  // Throws the first error; a result that is valid belongs to this builder.
  Value Checked(Tensor tensor) {
    ThrowIfError(g_.status());
    return {.builder = shared_from_this(), .tensor = tensor};
  }

  std::vector<Value> CheckedAll(const std::vector<Tensor>& tensors) {
    std::vector<Value> values;
    for (const Tensor tensor : tensors) values.push_back(Checked(tensor));
    ThrowIfError(g_.status());  // also if there are none
    return values;
  }

 private:
  GraphBuilder g_;
  std::vector<std::string> scopes_;
};

std::vector<Tensor> TensorsOf(const std::vector<Value>& values);

using BuilderClass = pybind11::class_<Builder, std::shared_ptr<Builder>>;

void BindGraphBuilder(pybind11::module_& module);
// The layers, as methods: the first argument is the name of a scope.
void BindLayers(BuilderClass& type);

}  // namespace spillway::python

#endif  // SPILLWAY_PYTHON_MODULE_GRAPH_GRAPH_BUILDER_H_
