# The official onnx.proto of libonnx-dev, compiled for C at build time.
set(PLIM_PROTO_DIR ${CMAKE_CURRENT_BINARY_DIR}/proto)
set(PLIM_PROTO_SOURCES ${PLIM_PROTO_DIR}/onnx/onnx.pb-c.c)
get_filename_component(ONNX_PROTO_ROOT ${ONNX_PROTO} DIRECTORY)
get_filename_component(ONNX_PROTO_ROOT ${ONNX_PROTO_ROOT} DIRECTORY)
file(MAKE_DIRECTORY ${PLIM_PROTO_DIR})
add_custom_command(
  OUTPUT ${PLIM_PROTO_DIR}/onnx/onnx.pb-c.c ${PLIM_PROTO_DIR}/onnx/onnx.pb-c.h
  COMMAND ${PROTOC_C} --c_out=${PLIM_PROTO_DIR} -I ${ONNX_PROTO_ROOT} ${ONNX_PROTO}
  DEPENDS ${ONNX_PROTO} VERBATIM)
set_source_files_properties(${PLIM_PROTO_SOURCES} PROPERTIES COMPILE_OPTIONS "-w")
