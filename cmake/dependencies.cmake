# Debian's packages; docs/dependencies.md says why each.
find_package(PkgConfig)
find_package(OpenMP COMPONENTS C)
find_package(Threads REQUIRED)
# Debian's dnnl-config.cmake asks for OpenCL, which the CPU engine does not need.
find_path(DNNL_INCLUDE_DIR oneapi/dnnl/dnnl.h)
find_library(DNNL_LIBRARY dnnl)
if(PkgConfig_FOUND)
  pkg_check_modules(PROTOBUF_C IMPORTED_TARGET libprotobuf-c)
  pkg_check_modules(JANSSON IMPORTED_TARGET jansson)
  pkg_check_modules(ZLIB IMPORTED_TARGET zlib)
  pkg_check_modules(JPEG IMPORTED_TARGET libjpeg)
  pkg_check_modules(PNG IMPORTED_TARGET libpng)
  pkg_check_modules(WEBP IMPORTED_TARGET libwebp)
  pkg_check_modules(PCRE2 IMPORTED_TARGET libpcre2-8)
endif()
find_library(UTF8PROC_LIBRARY utf8proc) # its pkg-config flags are those of its own build
find_program(PROTOC_C protoc-c)
find_file(ONNX_PROTO onnx/onnx.proto PATHS /usr/include /usr/local/include)

# Everything that is missing, in one message with the names that Debian has for it.
set(missing "")
foreach(need PkgConfig_FOUND=pkg-config OpenMP_C_FOUND=build-essential DNNL_INCLUDE_DIR=libdnnl-dev DNNL_LIBRARY=libdnnl-dev
             PROTOBUF_C_FOUND=libprotobuf-c-dev JANSSON_FOUND=libjansson-dev ZLIB_FOUND=zlib1g-dev JPEG_FOUND=libjpeg-dev
             PNG_FOUND=libpng-dev WEBP_FOUND=libwebp-dev PCRE2_FOUND=libpcre2-dev UTF8PROC_LIBRARY=libutf8proc-dev
             PROTOC_C=protobuf-c-compiler ONNX_PROTO=libonnx-dev)
  string(REPLACE "=" ";" need ${need})
  list(GET need 0 variable)
  list(GET need 1 package)
  if(NOT ${variable})
    list(APPEND missing ${package})
  endif()
endforeach()
if(missing)
  list(REMOVE_DUPLICATES missing)
  list(JOIN missing " " missing)
  message(FATAL_ERROR "Libraries are missing. On Debian:\n  apt-get install -y ${missing}\n"
    "scripts/setup.sh installs everything that the build needs.")
endif()

add_library(plim_dependencies INTERFACE)
target_link_libraries(plim_dependencies INTERFACE ${DNNL_LIBRARY} OpenMP::OpenMP_C Threads::Threads
  PkgConfig::PROTOBUF_C PkgConfig::JANSSON PkgConfig::ZLIB PkgConfig::JPEG PkgConfig::PNG
  PkgConfig::WEBP PkgConfig::PCRE2 ${UTF8PROC_LIBRARY} m dl)
target_include_directories(plim_dependencies INTERFACE ${DNNL_INCLUDE_DIR})
