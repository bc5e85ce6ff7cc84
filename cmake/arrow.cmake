# Targets arrow, arrow_compute and parquet, from the pinned wheel.

include(fetch)
frazil_fetch(FRAZIL_ARROW_DIR arrow)

foreach(_name arrow arrow_compute parquet)
  file(REAL_PATH ${FRAZIL_ARROW_DIR}/lib/lib${_name}.so _library)
  add_library(${_name} SHARED IMPORTED GLOBAL)
  set_target_properties(${_name} PROPERTIES IMPORTED_LOCATION ${_library}
    INTERFACE_INCLUDE_DIRECTORIES ${FRAZIL_ARROW_DIR}/include)
  list(APPEND FRAZIL_BUNDLED_LIBRARIES ${_library})
endforeach()
target_link_libraries(arrow_compute INTERFACE arrow)
target_link_libraries(parquet INTERFACE arrow)
