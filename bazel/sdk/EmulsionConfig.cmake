# Emulsion's kernels in a build by CMake:
#
#   find_package(Emulsion REQUIRED)
#   emulsion_kernel(scores SOURCE scores.cc TARGETS x86-64-v3 x86-64-linux DATA weights/bias.npy)
#   target_link_libraries(app scores)          # app includes "scores_kernel.h"
#
# TARGETS: the best first. DATA: files that the source reads, by their path from here.
# OPTIONS: more options of the generator, such as --no-fuse.

get_filename_component(_emulsion_root "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
find_package(Threads REQUIRED)

if(NOT TARGET Emulsion::runtime)
  add_library(Emulsion::runtime STATIC IMPORTED)
  set_target_properties(Emulsion::runtime PROPERTIES
    IMPORTED_LOCATION "${_emulsion_root}/lib/libemulsion_runtime.a"
    INTERFACE_INCLUDE_DIRECTORIES "${_emulsion_root}/include"
    INTERFACE_LINK_LIBRARIES "gomp;stdc++;m;${CMAKE_DL_LIBS};Threads::Threads")

  add_library(Emulsion::halide SHARED IMPORTED)
  set_target_properties(Emulsion::halide PROPERTIES
    IMPORTED_LOCATION "${_emulsion_root}/lib/libHalide.so")
  add_library(Emulsion::fmt SHARED IMPORTED)
  set_target_properties(Emulsion::fmt PROPERTIES
    IMPORTED_LOCATION "${_emulsion_root}/lib/libfmt.so.9")

  add_library(Emulsion::generator STATIC IMPORTED)
  set_target_properties(Emulsion::generator PROPERTIES
    IMPORTED_LOCATION "${_emulsion_root}/lib/libemulsion_generator.a"
    INTERFACE_COMPILE_FEATURES cxx_std_17
    INTERFACE_INCLUDE_DIRECTORIES "${_emulsion_root}/include"
    INTERFACE_LINK_LIBRARIES "Emulsion::halide;Emulsion::fmt;stdc++;m;${CMAKE_DL_LIBS};Threads::Threads")
endif()

function(emulsion_kernel name)
  cmake_parse_arguments(KERNEL "" "SOURCE;SCHEDULE" "TARGETS;DATA;OPTIONS" ${ARGN})
  if(NOT KERNEL_SOURCE OR NOT KERNEL_TARGETS)
    message(FATAL_ERROR "emulsion_kernel(${name}): expected a SOURCE and TARGETS")
  endif()
  set(out "${CMAKE_CURRENT_BINARY_DIR}/${name}_files")
  set(arguments "--name=${name}" "--out=${out}" ${KERNEL_OPTIONS})
  set(inputs)
  foreach(target IN LISTS KERNEL_TARGETS)
    list(APPEND arguments "--target=${target}")
  endforeach()
  foreach(file IN LISTS KERNEL_DATA)
    list(APPEND arguments "--data=${file}=${CMAKE_CURRENT_SOURCE_DIR}/${file}")
    list(APPEND inputs "${CMAKE_CURRENT_SOURCE_DIR}/${file}")
  endforeach()
  if(KERNEL_SCHEDULE)
    list(APPEND arguments "--schedule=${CMAKE_CURRENT_SOURCE_DIR}/${KERNEL_SCHEDULE}")
    list(APPEND inputs "${CMAKE_CURRENT_SOURCE_DIR}/${KERNEL_SCHEDULE}")
  endif()

  add_executable(${name}_generator ${KERNEL_SOURCE})
  target_link_libraries(${name}_generator PRIVATE Emulsion::generator)
  add_custom_command(
    OUTPUT "${out}/${name}.a" "${out}/${name}.h" "${out}/${name}_kernel.h"
    COMMAND ${name}_generator ${arguments}
    DEPENDS ${name}_generator ${inputs}
    COMMENT "Compiling kernel ${name}"
    VERBATIM)
  add_custom_target(${name}_files DEPENDS "${out}/${name}.a")
  add_library(${name} INTERFACE)
  add_dependencies(${name} ${name}_files)
  target_compile_features(${name} INTERFACE cxx_std_17)
  target_include_directories(${name} INTERFACE "${out}")
  target_link_libraries(${name} INTERFACE "${out}/${name}.a" Emulsion::runtime)
endfunction()
