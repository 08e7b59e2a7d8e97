# Debian's packages; docs/dependencies.md says why each.
find_package(PkgConfig REQUIRED)
find_package(OpenMP REQUIRED COMPONENTS C)
find_package(Threads REQUIRED)
# Debian's dnnl-config.cmake asks for OpenCL, which the CPU engine does not need.
find_path(DNNL_INCLUDE_DIR oneapi/dnnl/dnnl.h REQUIRED)
find_library(DNNL_LIBRARY dnnl REQUIRED)
pkg_check_modules(PROTOBUF_C REQUIRED IMPORTED_TARGET libprotobuf-c)
pkg_check_modules(JANSSON REQUIRED IMPORTED_TARGET jansson)
pkg_check_modules(ZLIB REQUIRED IMPORTED_TARGET zlib)
pkg_check_modules(JPEG REQUIRED IMPORTED_TARGET libjpeg)
pkg_check_modules(PNG REQUIRED IMPORTED_TARGET libpng)

add_library(plim_dependencies INTERFACE)
target_link_libraries(plim_dependencies INTERFACE ${DNNL_LIBRARY} OpenMP::OpenMP_C Threads::Threads
  PkgConfig::PROTOBUF_C PkgConfig::JANSSON PkgConfig::ZLIB PkgConfig::JPEG PkgConfig::PNG m dl)
target_include_directories(plim_dependencies INTERFACE ${DNNL_INCLUDE_DIR})
