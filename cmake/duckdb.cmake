# Target duckdb: library and C++ headers (internals included) of exactly the pinned version.

include(fetch)
frazil_fetch(_library_dir duckdb-lib)
frazil_fetch(_headers_dir duckdb-headers)

add_library(duckdb SHARED IMPORTED GLOBAL)
set_target_properties(duckdb PROPERTIES IMPORTED_LOCATION ${_library_dir}/lib/libduckdb.so
  INTERFACE_INCLUDE_DIRECTORIES ${_headers_dir}/include)
list(APPEND FRAZIL_BUNDLED_LIBRARIES ${_library_dir}/lib/libduckdb.so)
