#pragma once

#include <string>

#include "frazil/format/avro_decoder.h"
#include "frazil/format/avro_schema.h"

namespace frazil::cli {

/// A value of any Avro schema as JSON for people: records as objects, unions by their value, bytes and fixed in
/// hexadecimal. Logical types are shown as the numbers they are. The decoder says whether the bytes were such a value.
std::string AvroText(const format::AvroNode& node, format::AvroDecoder& decoder);

}  // namespace frazil::cli
