# Own hot loops are compiled once for each instruction set and chosen at run time (src/kernel/simd).
file(GLOB PLIM_SIMD_SOURCES CONFIGURE_DEPENDS src/kernel/simd/*.c)
set(PLIM_SIMD_OBJECTS)
if(PLIM_SIMD_SOURCES)
  if(PLIM_FUZZ) # clang takes minutes for these loops with coverage and sanitizers; no reader of files is among them
    set_source_files_properties(${PLIM_SIMD_SOURCES} PROPERTIES COMPILE_OPTIONS "-O1;-fno-sanitize=all")
  endif()
  set(isa_baseline "")
  set(isa_avx2 -mavx2 -mfma)
  set(isa_avx512 -mavx512f -mavx512dq -mavx512bw -mavx512vl -mfma -mprefer-vector-width=512)
  set(PLIM_ISAS baseline)
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64|amd64")
    list(APPEND PLIM_ISAS avx2 avx512)
  endif()
  foreach(isa ${PLIM_ISAS})
    add_library(plim_simd_${isa} OBJECT ${PLIM_SIMD_SOURCES})
    # Without trapping math a compare-and-choose becomes a blend; vectors pass between static functions only, whatever
    # the ABI; clang need not tell which loops call libm.
    target_compile_options(plim_simd_${isa} PRIVATE -O3 -fvisibility=hidden -fno-trapping-math -Wno-psabi ${isa_${isa}}
      $<$<C_COMPILER_ID:Clang>:-Wno-pass-failed>)
    target_compile_definitions(plim_simd_${isa} PRIVATE PLIM_ISA=${isa})
    target_include_directories(plim_simd_${isa} PRIVATE include src)
    target_link_libraries(plim_simd_${isa} PRIVATE plim_flags plim_dependencies)
    list(APPEND PLIM_SIMD_OBJECTS $<TARGET_OBJECTS:plim_simd_${isa}>)
  endforeach()
endif()
