# ONNX models: the protobuf types of Debian's libonnx-dev. Sets
# SPILLWAY_WITH_ONNX, and SPILLWAY_ONNX_FOUND for the summary. SPILLWAY_ONNX is
# AUTO (if it is found), ON (must be found) or OFF.
set(SPILLWAY_WITH_ONNX OFF)
set(SPILLWAY_ONNX_FOUND "none (libonnx-dev and libprotobuf-dev have what it needs)")
if(NOT SPILLWAY_ONNX MATCHES "^(AUTO|ON|OFF)$")
  message(FATAL_ERROR "SPILLWAY_ONNX is '${SPILLWAY_ONNX}', not AUTO, ON or OFF")
endif()
if(SPILLWAY_ONNX STREQUAL "OFF")
  set(SPILLWAY_ONNX_FOUND "off")
else()
  find_package(Protobuf QUIET)
  find_package(ONNX QUIET CONFIG)
  if(TARGET protobuf::libprotobuf AND TARGET onnx_proto)
    set(SPILLWAY_WITH_ONNX ON)
    set(SPILLWAY_ONNX_FOUND "${ONNX_VERSION}, protobuf ${Protobuf_VERSION}")
  elseif(SPILLWAY_ONNX STREQUAL "ON")
    message(FATAL_ERROR "SPILLWAY_ONNX is ON, but ONNX was not found: "
            "install libonnx-dev and libprotobuf-dev")
  endif()
endif()
