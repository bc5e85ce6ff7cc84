# Target rdkafka, built once from the pinned source.

include(fetch)
frazil_fetch(_kafka_dir librdkafka)

add_library(rdkafka SHARED IMPORTED GLOBAL)
set_target_properties(rdkafka PROPERTIES IMPORTED_LOCATION ${_kafka_dir}/lib/librdkafka.so.1
  INTERFACE_INCLUDE_DIRECTORIES ${_kafka_dir}/include)
list(APPEND FRAZIL_BUNDLED_LIBRARIES ${_kafka_dir}/lib/librdkafka.so.1)
