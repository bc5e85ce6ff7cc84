# Language level, warnings, sanitizers, compiler cache and linker.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(THREADS_PREFER_PTHREAD_FLAG ON)

# Paths below the source folder are made relative before they count, so that all build folders, and other clones,
# share what one of them compiled.
find_program(CCACHE ccache)
if(CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER
    ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=1 ${CCACHE})
endif()

if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  # Collects its garbage later: a tenth of the time that large tests take to compile, for 250 MB more.
  add_compile_options("SHELL:--param ggc-min-expand=100" "SHELL:--param ggc-min-heapsize=524288")
endif()

find_program(MOLD mold)
if(MOLD)
  add_link_options(-fuse-ld=mold)
endif()

add_library(frazil_warnings INTERFACE)
target_compile_options(frazil_warnings INTERFACE -Wall -Wextra -Wshadow -Wno-missing-field-initializers
  $<$<BOOL:${FRAZIL_WARNINGS_AS_ERRORS}>:-Werror>)
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_BUILD_TYPE STREQUAL Release)
  # Once everything is inlined GCC 12 sees overflows in the growth of std::vector and std::string that are not there.
  target_compile_options(frazil_warnings INTERFACE
    -Wno-stringop-overflow -Wno-stringop-overread -Wno-array-bounds -Wno-restrict -Wno-maybe-uninitialized)
endif()

if(FRAZIL_SANITIZE)
  set(_sanitize -fsanitize=${FRAZIL_SANITIZE} -fno-sanitize-recover=all)
  if(FRAZIL_SANITIZE_EXCEPT)
    # The preset dev leaves out the checks at every pointer use: they are a third of the time to compile, the address
    # sanitizer sees most of what they see, and the fuzz targets keep all of them.
    list(APPEND _sanitize -fno-sanitize=${FRAZIL_SANITIZE_EXCEPT})
  endif()
  if(FRAZIL_FUZZ)
    add_compile_options(-fsanitize=fuzzer-no-link)
  endif()
  add_compile_options(${_sanitize})
  add_link_options(${_sanitize})
endif()
